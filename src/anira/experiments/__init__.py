"""One module for each figure or table of the paper: from runs over records to files that show it.

    outcome = load_experiment("lano")(Setting(scale="smoke", out=out, runs=out / "runs", train=train))

An experiment finds or trains its runs, evaluates them where that was not done, and reads everything that it shows from
records. This module lists the experiments without loading them.
"""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Final, cast

from anira.config import UserError, nearest

if TYPE_CHECKING:
    from anira.experiments.setting import Outcome, Setting

SCALES: Final = ("smoke", "cpu", "paper")
EXPERIMENTS: Final = {
    "clrs": ("anira.experiments.clrs", "figure: accuracy and depth against input size, for every subtask of CLRS-Text"),
    "lano": ("anira.experiments.lano", "table: rank correlation of expected depth with the parser's work, on LANO"),
}
"""Name -> (module with a function `reproduce(setting)`, summary)."""


def load_experiment(name: str) -> "Callable[[Setting], Outcome]":
    """Return what makes an experiment, by its name."""
    if name not in EXPERIMENTS:
        raise UserError(f"unknown experiment {name!r}: {nearest(name, EXPERIMENTS)}")
    return cast("Callable[[Setting], Outcome]", import_module(EXPERIMENTS[name][0]).reproduce)
