"""Stepwise decoding, many requests at once, and what it costs."""

from anira.inference.cost import Cost, attention_flops, forward_cost, layer_flops, row_costs
from anira.inference.engine import Engine, Generated
from anira.inference.stepwise import Step, Stepwise

__all__ = [
    "Cost",
    "Engine",
    "Generated",
    "Step",
    "Stepwise",
    "attention_flops",
    "forward_cost",
    "layer_flops",
    "row_costs",
]
