"""What a mechanism cannot show by construction, so that nobody takes it for a finding."""

from typing import Final

from anira.measure.tidy import Row, joined

_CONSTANT = "depth is constant by construction: a correlation is undefined, not 0"
_BUDGET = "training fixes the budget of each sequence, so that depth cannot follow the difficulty of an instance"
_OWN_LOSS = (
    "depth is trained on each token's own loss, and prompt tokens have none: "
    "useful work on the prompt cannot be learned"
)
_ALIGNMENT: Final = ("slope", "spearman_knob", "spearman_oracle")
_FOLLOWS_NOTHING: Final = {
    "fixed": _CONSTANT,
    "mixture-of-depths": _BUDGET,
    "mor-expert": _BUDGET,
}
"""Policy -> why its depth cannot align with anything over instances."""
_BLIND_TO_PROMPTS: Final = frozenset({"calm", "confidence", "depth-adaptive", "ouro", "oracle-head", "think-at-hard"})


def cannot_show(policy: str, quantity: str, subset: str = "all") -> str:
    """Return why a policy cannot show an effect, or an empty text.

    >>> cannot_show("fixed", "slope")
    'depth is constant by construction: a correlation is undefined, not 0'
    >>> cannot_show("fixed", "accuracy")
    ''
    """
    if quantity in _ALIGNMENT:
        return _FOLLOWS_NOTHING.get(policy, "")
    if quantity in ("virtual_accuracy", "real_less_virtual") and policy == "fixed":
        return "fixed depth has no exits"
    if quantity == "depth" and subset == "prompt" and policy in _BLIND_TO_PROMPTS:
        return _OWN_LOSS
    return ""


def explained(row: Row) -> Row:
    """Return a row whose reason also says what its policy cannot show."""
    return {**row, "reason": joined(cannot_show(row["policy"], row["quantity"], row["subset"]), row["reason"])}
