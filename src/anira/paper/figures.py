"""One module for each figure or table of the paper: from runs over records to files that show it.

    outcome = load_experiment("lano")(Setting(scale="smoke", out=out, runs=out / "runs", train=train))

An experiment finds or trains its runs, evaluates them where that was not done, and reads everything that it shows from
records. This module lists the experiments without loading them.
"""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from anira.config import UserError, nearest

if TYPE_CHECKING:
    from anira.paper.setting import Outcome, Setting

SCALES: Final = ("smoke", "cpu", "paper")


class Listed(NamedTuple):
    """An experiment in the list."""

    module: str
    """With a function `reproduce(setting)`."""
    summary: str
    place: str = ""
    """Where the paper has it."""
    runs: tuple[str, ...] = ()
    """The presets that it trains, without their scale."""
    plan: str = ""
    """Module with a function `missing(setting)`, where presets with seed 0 are not enough; `all` leaves it out."""


_PAIR = ("anira-e", "anira-o")
_MANO, _BREVO, _DEPO, _CLRS, _LANO = (
    tuple(f"{task}-{variant}" for variant in _PAIR) for task in ("mano", "brevo", "depo", "clrs", "lano")
)

EXPERIMENTS: Final = {
    "allocation": Listed(
        "anira.paper.allocation.make",
        "accuracy and depth against the knob on MANO, BREVO and DEPO",
        "Figure 2",
        (*_MANO, *_BREVO, *_DEPO),
    ),
    "clrs": Listed(
        "anira.paper.clrs.make",
        "accuracy and depth against input size, for every subtask of CLRS-Text",
        "Figure 3",
        _CLRS,
    ),
    "lano": Listed(
        "anira.paper.lano.make",
        "rank correlation of expected depth with the parser's work, on LANO",
        "Table 1",
        _LANO,
    ),
    "dynamics": Listed(
        "anira.paper.dynamics.make",
        "accuracy and depth over training, the order in which sizes are learned, the two phases",
        "Figures 4 and 5",
        (*_MANO, *_BREVO),
    ),
    "brevo-regression": Listed(
        "anira.paper.brevo_regression.make",
        "which features of graph and search explain the depth of BREVO's answer tokens",
        "Table 2",
        _BREVO,
    ),
    "mano-parse-state": Listed(
        "anira.paper.mano_parse_state.make",
        "depth of MANO's question tokens by the state of the parse, and the piecewise model",
        "Figure 6",
        _MANO,
    ),
    "extrapolation": Listed(
        "anira.paper.extrapolation.make",
        "MANO beyond the trained sizes, adaptive, fixed and unshared",
        "Figure 9",
        (*_MANO, "mano-fixed", "mano-unshared"),
    ),
    "pareto": Listed(
        "anira.paper.pareto.make",
        "accuracy against depth for other rules and thresholds of selection",
        "Figure 10",
        (*_BREVO, *_MANO, "mano-fixed"),
    ),
    "cost": Listed(
        "anira.paper.cost.make",
        "measured time and cache bytes of decoding against depth",
        "Section 3.2.5",
        (*_MANO, *_BREVO),
    ),
    "policies": Listed(
        "anira.paper.policies.make",
        "every policy on words and its abelian twin, judged alike at equal compute (anira compare)",
        plan="anira.paper.policies.make",
    ),
    "gsm-symbolic": Listed(
        "anira.paper.gsm_symbolic.make",
        "accuracy and depth on GSM-Symbolic, with the fixed-depth curve (anira gsm-symbolic)",
        "Table 3",
        plan="anira.paper.gsm_symbolic.make",
    ),
    "wordmath": Listed(
        "anira.paper.wordmath.make",
        "accuracy and depth on word problems by their number of clauses, in the form of GSM-Symbolic's table",
        plan="anira.paper.wordmath.make",
    ),
    "claims": Listed(
        "anira.paper.claims.make",
        "each claim of the paper with the verdict of the pages above",
    ),
}
"""By name; `all` goes through them in this order, and the claims come last because they read the others' files."""


def load_experiment(name: str) -> "Callable[[Setting], Outcome]":
    """Return what makes an experiment, by its name."""
    if name not in EXPERIMENTS:
        raise UserError(f"unknown experiment {name!r}: {nearest(name, EXPERIMENTS)}")
    return cast("Callable[[Setting], Outcome]", import_module(EXPERIMENTS[name].module).reproduce)
