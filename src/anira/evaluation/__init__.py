"""A checkpoint over a knob grid: forward passes or free decoding, and the records they leave."""

from anira.evaluation.evaluate import EvaluationConfig, Subject, evaluate, parse_knobs
from anira.evaluation.overlap import Overlap
from anira.evaluation.records import RECORDS_VERSION, RecordFolder

__all__ = ["RECORDS_VERSION", "EvaluationConfig", "Overlap", "RecordFolder", "Subject", "evaluate", "parse_knobs"]
