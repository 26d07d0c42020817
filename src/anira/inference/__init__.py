"""Stepwise decoding, many requests at once, the logit lens, and what it costs."""

from anira.inference.cost import Cost, attention_flops, forward_cost, layer_flops, row_costs
from anira.inference.engine import Engine, Generated
from anira.inference.lens import Lens, logit_lens
from anira.inference.stepwise import Step, Stepwise

__all__ = [
    "Cost",
    "Engine",
    "Generated",
    "Lens",
    "Step",
    "Stepwise",
    "attention_flops",
    "forward_cost",
    "layer_flops",
    "logit_lens",
    "row_costs",
]
