"""How a policy decides without sampling: rules by name, some with a threshold, each policy with its own."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from anira.config import UserError, nearest


@dataclass(frozen=True, kw_only=True)
class ThresholdRange:
    """The thresholds that a rule takes, and the one it has if none is given.

    >>> ThresholdRange(low=0.0, high=1.0, open_low=True).holds(0.0)
    False
    """

    low: float
    high: float
    open_low: bool = False
    """Whether `low` itself is excluded."""
    default: float | None = None
    """None: the caller must give one."""
    deeper: Literal["high", "low"] = "high"
    """Which thresholds let tokens run longer."""

    def holds(self, threshold: float) -> bool:
        """Say whether a threshold makes sense."""
        return (self.low < threshold if self.open_low else self.low <= threshold) and threshold <= self.high

    def __str__(self) -> str:
        return f"{'(' if self.open_low else '['}{self.low:g}, {self.high:g}]"


Rules = Mapping[str, ThresholdRange | None]
"""Rule -> the thresholds that it takes, None for a rule without one."""


NO_RULES: Rules = {}
"""Of a policy that has no choice."""

DISTRIBUTION_RULES: Rules = {
    "mode": None,
    "median": None,
    "mean": None,
    "quantile": ThresholdRange(low=0.0, high=1.0, open_low=True),
}
"""The rules of a policy with a distribution over exit depths (`exits.select_depth`)."""


def threshold_rule(rules: Rules, default: str) -> str:
    """Return the rule whose threshold can be varied: the default one, or else the first; empty if none takes one.

    >>> threshold_rule(DISTRIBUTION_RULES, "median")
    'quantile'
    """
    takers = [name for name, bounds in rules.items() if bounds is not None]
    return default if default in takers else next(iter(takers), "")


class ChosenRule(NamedTuple):
    """A rule and its threshold, as used and as recorded; an empty rule is that of a policy without any."""

    select: str
    threshold: float | None


def choose_rule(
    policy: str, rules: Rules, default: str, select: str | None = None, threshold: float | None = None
) -> ChosenRule:
    """Return the rule to use, or raise a UserError for one that means nothing to a policy.

    A threshold without a rule chooses the rule that takes one, if the policy has only one such rule.

    >>> choose_rule("calm", {"margin": ThresholdRange(low=0.0, high=1.0, default=0.9)}, "margin")
    ChosenRule(select='margin', threshold=0.9)
    """
    if not rules:
        if select is not None or threshold is not None:
            raise UserError(f"policy {policy!r} has no rule to choose depth by: leave out select and threshold")
        return ChosenRule("", None)
    if select is None:
        takers = [name for name, bounds in rules.items() if bounds is not None]
        select = takers[0] if threshold is not None and rules[default] is None and len(takers) == 1 else default
    if select not in rules:
        raise UserError(f"policy {policy!r} has no rule {select!r}: {nearest(select, rules)}")
    bounds = rules[select]
    if bounds is None:
        if threshold is not None:
            raise UserError(f"rule {select!r} of policy {policy!r} takes no threshold: leave it out")
        return ChosenRule(select, None)
    threshold = bounds.default if threshold is None else float(threshold)
    if threshold is None:
        raise UserError(f"rule {select!r} of policy {policy!r} needs a threshold in {bounds}")
    if not bounds.holds(threshold):
        raise UserError(f"the threshold of rule {select!r} must lie in {bounds}, not {threshold:g}")
    return ChosenRule(select, threshold)
