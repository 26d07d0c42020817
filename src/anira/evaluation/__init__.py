"""A checkpoint over a knob grid: forward passes or free decoding, and the records they leave."""

from anira.evaluation.evaluate import (
    EvaluationConfig,
    Subject,
    choose_knobs,
    evaluate,
    evaluated_cells,
    parse_knobs,
    parse_subtasks,
)
from anira.evaluation.overlap import Overlap
from anira.evaluation.port import DepthModel
from anira.evaluation.records import RecordFolder
from anira.evaluation.sentences import SentencesConfig, evaluate_sentences

__all__ = [
    "DepthModel",
    "EvaluationConfig",
    "Overlap",
    "RecordFolder",
    "SentencesConfig",
    "Subject",
    "choose_knobs",
    "evaluate",
    "evaluate_sentences",
    "evaluated_cells",
    "parse_knobs",
    "parse_subtasks",
]
