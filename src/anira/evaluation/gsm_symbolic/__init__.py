"""GSM-Symbolic: a model with a tokenizer answers the published questions; accuracy and depth go into records."""

from anira.evaluation.gsm_symbolic.evaluate import MOST, GsmConfig, at_depth, evaluate_gsm_symbolic
from anira.evaluation.gsm_symbolic.loading import Loaded, load_model
from anira.evaluation.gsm_symbolic.sources import harness_shots, read_problems, read_shots

__all__ = [
    "MOST",
    "GsmConfig",
    "Loaded",
    "at_depth",
    "evaluate_gsm_symbolic",
    "harness_shots",
    "load_model",
    "read_problems",
    "read_shots",
]
