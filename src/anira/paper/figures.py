"""One folder for each figure or table of the paper: from runs over records to files that show it.

    outcome = load_figure("lano")(Setting(scale="smoke", out=out, runs=out / "runs", train=train))

A figure finds or trains its runs, evaluates them where that was not done, and reads everything that it shows from
records. This module lists the figures without loading them.
"""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from anira.config import UserError, nearest

if TYPE_CHECKING:
    from anira.paper.setting import Outcome, Setting

SCALES: Final = ("smoke", "cpu", "paper")


class Figure(NamedTuple):
    """A figure in the list."""

    module: str
    """With a function `reproduce(setting)`."""
    summary: str
    place: str = ""
    """Where the paper has it."""
    runs: tuple[str, ...] = ()
    """The presets that it trains, without their scale."""
    plan: str = ""
    """Module with a function `missing(setting)`, where presets with seed 0 are not enough; `all` leaves it out."""


def _figure(folder: str, summary: str, place: str = "", *runs: str, planned: bool = False) -> Figure:
    module = f"anira.paper.{folder}.make"
    return Figure(module, summary, place, runs, module if planned else "")


_MANO, _BREVO, _DEPO, _CLRS, _LANO = (
    tuple(f"{task}-{variant}" for variant in ("anira-e", "anira-o"))
    for task in ("mano", "brevo", "depo", "clrs", "lano")
)
_POLICIES = "every policy on words and its abelian twin, judged alike at equal compute (anira compare)"
_GSM = "accuracy and depth on GSM-Symbolic, with the fixed-depth curve (anira gsm-symbolic)"
_WORDMATH = "accuracy and depth on word problems by their number of clauses, in the form of GSM-Symbolic's table"
_RATIONAL = "is another iteration worth its price? regret by policy, a study of our own (docs/studies.md)"
_CREDIT = "lookahead or exact expectation at the same price and prior, a study of our own (docs/studies.md)"
_WITHOUT = "how often does depth rise where depth 1 would do? a study of our own (docs/studies.md)"
_TWINS = "does depth follow need or size? words over S3 and over Z6, a study of our own (docs/studies.md)"

FIGURES: Final = {
    "allocation": _figure(
        "allocation", "accuracy and depth against the knob on MANO, BREVO and DEPO", "Figure 2", *_MANO, *_BREVO, *_DEPO
    ),
    "clrs": _figure(
        "clrs", "accuracy and depth against input size, for every subtask of CLRS-Text", "Figure 3", *_CLRS
    ),
    "lano": _figure("lano", "rank correlation of expected depth with the parser's work, on LANO", "Table 1", *_LANO),
    "dynamics": _figure(
        "dynamics",
        "accuracy and depth over training, the order in which sizes are learned, the two phases",
        "Figures 4 and 5",
        *_MANO,
        *_BREVO,
    ),
    "brevo-regression": _figure(
        "brevo_regression",
        "which features of graph and search explain the depth of BREVO's answer tokens",
        "Table 2",
        *_BREVO,
    ),
    "mano-parse-state": _figure(
        "mano_parse_state",
        "depth of MANO's question tokens by the state of the parse, and the piecewise model",
        "Figure 6",
        *_MANO,
    ),
    "extrapolation": _figure(
        "extrapolation",
        "MANO beyond the trained sizes, adaptive, fixed and unshared",
        "Figure 9",
        *_MANO,
        "mano-fixed",
        "mano-unshared",
    ),
    "pareto": _figure(
        "pareto",
        "accuracy against depth for other rules and thresholds of selection",
        "Figure 10",
        *_BREVO,
        *_MANO,
        "mano-fixed",
    ),
    "cost": _figure(
        "cost", "measured time and cache bytes of decoding against depth", "Section 3.2.5", *_MANO, *_BREVO
    ),
    "policies": _figure("policies", _POLICIES, planned=True),
    "gsm-symbolic": _figure("gsm_symbolic", _GSM, "Table 3", planned=True),
    "wordmath": _figure("wordmath", _WORDMATH, planned=True),
    "same-size": _figure("same_size", _TWINS, planned=True),
    "rational": _figure("rational", _RATIONAL, planned=True),
    "credit": _figure("credit", _CREDIT, planned=True),
    "without-need": _figure("without_need", _WITHOUT, planned=True),
    "claims": _figure("claims", "each claim of the paper with the verdict of the pages above"),
}
"""By name; `all` goes through them in this order, and the claims come last because they read the others' files."""


def load_figure(name: str) -> "Callable[[Setting], Outcome]":
    """Return what makes a figure, by its name."""
    if name not in FIGURES:
        raise UserError(f"unknown figure {name!r}: {nearest(name, FIGURES)}")
    return cast("Callable[[Setting], Outcome]", import_module(FIGURES[name].module).reproduce)
