"""How models are measured: with two threads, and with the facts that their times depend on."""

from collections.abc import Callable
from typing import Any

import torch

from anira.config.machine import machine


def measured(measure: Callable[[], list[dict[str, Any]]], repeats: int) -> dict[str, Any]:
    """Return the rows that a benchmark of models makes, beside the machine's facts."""
    torch.set_num_threads(2)
    rows = measure()
    facts = {**machine(), "torch": torch.__version__, "threads": torch.get_num_threads(), "dtype": "float32"}
    return {"machine": facts, "repeats": repeats, "results": rows}
