"""The quantities of the tidy table: each has one name, one unit and one sentence for people, and stands here only."""

from dataclasses import dataclass
from typing import Final

from anira.config import UserError, nearest


@dataclass(frozen=True)
class Quantity:
    """What a row of the tidy table is an estimate of."""

    name: str
    unit: str
    sentence: str
    digits: int = 2
    """Decimals that a page shows."""
    percent: bool = False
    """Whether a page shows the value times 100."""


_SHARE = "share of instances"
POINTS: Final = "difference of shares"
"""Unit of what pages show in percentage points."""
_DEPTH = "iterations"
_ALL: Final = (
    Quantity("max_depth", _DEPTH, "Iterations on offer.", digits=0),
    Quantity("accuracy", _SHARE, "Share of instances answered right.", digits=1, percent=True),
    Quantity(
        "accuracy_hardest", _SHARE, "Share answered right at the hardest knob of training.", digits=1, percent=True
    ),
    Quantity("depth", _DEPTH, "Mean exit depth per token; the subset says of which tokens."),
    Quantity(
        "modal_share", "share of tokens", "Share of tokens that have the most common depth.", digits=1, percent=True
    ),
    Quantity("iterations", "iterations per token", "Executed iterations of the core per token, prompt included."),
    Quantity(
        "flops", "FLOPs per token", "FLOPs of the whole model per token: execution, decisions and all else.", digits=0
    ),
    Quantity("kv_slots", "slots per token", "Key-value slots that the core keeps per token."),
    Quantity("decisions", "decisions per token", "How often the policy decided per token."),
    Quantity("slope", "iterations per unit of the knob", "Slope of answer depth over the knob, by least squares."),
    Quantity("spearman_knob", "rank correlation", "Spearman correlation of answer depth with the knob."),
    Quantity(
        "forced_accuracy",
        _SHARE,
        "Share answered right with every token forced to the depth that the subset names.",
        digits=1,
        percent=True,
    ),
    Quantity(
        "need",
        POINTS,
        "Accuracy at the policy's own or full depth less accuracy with every token forced to depth 1, hardest knob.",
        digits=1,
        percent=True,
    ),
    Quantity(
        "oracle_depth",
        _DEPTH,
        "Smallest forced depth from which the answer stays right, mean over instances that have one.",
    ),
    Quantity("spearman_oracle", "rank correlation", "Spearman correlation of answer depth with oracle depth."),
    Quantity(
        "regret",
        "nats",
        "Cross-entropy plus price times depth at the chosen depth, less the least over depths; mean per answer token.",
        digits=3,
    ),
    Quantity(
        "settled",
        "share of tokens",
        "Share of tokens whose state the last of all iterations changes by less than 3% of its norm.",
        digits=1,
        percent=True,
    ),
    Quantity(
        "virtual_accuracy",
        _SHARE,
        "Share answered right with virtual exits: all iterations run, and the state at the exit is picked.",
        digits=1,
        percent=True,
    ),
    Quantity(
        "real_less_virtual",
        POINTS,
        "Accuracy with real exits less accuracy with virtual ones, on the same instances.",
        digits=1,
        percent=True,
    ),
    Quantity(
        "spread", _SHARE, "Standard deviation of accuracy over data sets of one question per template.", percent=True
    ),
    Quantity("lowest", _SHARE, "Accuracy on the data set with the fewest right answers.", digits=1, percent=True),
    Quantity("highest", _SHARE, "Accuracy on the data set with the most right answers.", digits=1, percent=True),
    Quantity(
        "above_curve",
        POINTS,
        "Accuracy less that of fixed depths of the same model at the same mean answer depth, on the same questions.",
        digits=1,
        percent=True,
    ),
    Quantity(
        "above_fixed",
        POINTS,
        "Accuracy less that of trained fixed depths at equal compute; the subset names the compute.",
        digits=1,
        percent=True,
    ),
)
QUANTITIES: Final = {one.name: one for one in _ALL}
"""By name."""


def quantity(name: str) -> Quantity:
    """Return a quantity by its name; an unknown one is refused.

    >>> quantity("regret").unit
    'nats'
    """
    if name not in QUANTITIES:
        raise UserError(f"unknown quantity {name!r}: {nearest(name, QUANTITIES)}")
    return QUANTITIES[name]
