"""What a forward pass costs: executed iterations, decisions, FLOPs and key-value slots, against running at full depth.

Everything is counted from which iterations were executed (paper, section 4), execution and decision apart. A
multiply-add is 2 FLOPs; norms, rotary embedding and softmax are left out, as is usual.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from anira.models.configuration import AniraConfig
from anira.models.policies import ComputePolicy


@dataclass(frozen=True)
class Cost:
    """Sums over tokens; `core_flops` is execution, `decision_flops` deciding, `other_flops` prelude, coda and head."""

    tokens: int
    iterations: int
    decisions: int
    core_flops: int
    decision_flops: int
    other_flops: int
    kv_slots: int

    @property
    def flops(self) -> int:
        """All FLOPs together."""
        return self.core_flops + self.decision_flops + self.other_flops

    @property
    def mean_depth(self) -> float:
        """Executed iterations per token."""
        return self.iterations / max(self.tokens, 1)

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(*(getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__))


def layer_flops(config: AniraConfig) -> int:
    """Return the FLOPs of the linear maps of one layer for one token."""
    assert config.head_dim is not None and config.num_key_value_heads is not None
    queries = config.num_attention_heads * config.head_dim
    keys = config.num_key_value_heads * config.head_dim
    attention = config.hidden_size * (2 * queries + 2 * keys)
    return 2 * (attention + 3 * config.hidden_size * config.intermediate_size)


def attention_flops(config: AniraConfig, num_keys: int) -> int:
    """Return the FLOPs of one token's attention over `num_keys` keys, in one layer."""
    assert config.head_dim is not None
    return 4 * num_keys * config.num_attention_heads * config.head_dim


def forward_cost(
    config: AniraConfig,
    policy: ComputePolicy,
    executed: Int[Tensor, "batch time"],
    *,
    valid: Bool[Tensor, "batch time"] | None = None,
    max_depth: int | None = None,
    ran: Bool[Tensor, "batch time depth"] | None = None,
    hides: bool | None = False,
) -> Cost:
    """Return the cost of rows in which each token executed so many iterations, attention over earlier tokens included.

    `ran` and `hides` are those of the model's output: who executed which iteration, where a policy skips some, and
    whether those who did not run were invisible. A token that halts, or skips, under freeze = "state" pays one more
    projection to keys and values of its state, and keeps one more slot, if others may see it. Layers that are not
    shared want a projection and a slot each.
    """
    rows = row_costs(config, policy, executed, valid=valid, max_depth=max_depth, ran=ran, hides=hides)
    return Cost(**{name: int(values.sum()) for name, values in rows.items()})


def row_costs(
    config: AniraConfig,
    policy: ComputePolicy,
    executed: Int[Tensor, "batch time"],
    *,
    valid: Bool[Tensor, "batch time"] | None = None,
    max_depth: int | None = None,
    ran: Bool[Tensor, "batch time depth"] | None = None,
    hides: bool | None = False,
) -> dict[str, Int[Tensor, " batch"]]:
    """Return the fields of `Cost` for each row by itself."""
    depth = config.max_depth if max_depth is None else max_depth
    valid = torch.ones_like(executed, dtype=torch.bool) if valid is None else valid
    if ran is None:
        ran = torch.arange(depth, device=executed.device) < executed.unsqueeze(-1)
    ran = ran & valid.unsqueeze(-1)
    tokens, keys = valid.sum(1), valid.long().cumsum(1)
    layer, per_key = layer_flops(config), attention_flops(config, 1)
    inject = 4 * config.hidden_size**2 if config.injection == "concat-linear" else 0
    runs = ran.sum((1, 2))
    left = _left_behind(config, ran, valid, decides=policy.timing != "none", hides=bool(hides))
    core = runs * (config.num_core_layers * layer + inject) + left * (inject + key_value_flops(config))
    outer = config.num_prelude_layers + config.num_coda_layers
    counted = executed.long() * valid
    return {
        "tokens": tokens,
        "iterations": runs,
        "decisions": (policy.num_decisions(counted, depth) * valid).sum(1),
        "core_flops": core + config.num_core_layers * per_key * _seen_keys(config, ran, valid, hides=bool(hides)),
        "decision_flops": (policy.decision_cost(counted, depth) * valid).sum(1),
        "other_flops": outer * ((layer + per_key * keys) * valid).sum(1)
        + 2 * tokens * config.hidden_size * config.vocab_size,
        "kv_slots": ran[..., 0].sum(1) if config.freeze == "first" else runs + left,
    }


def _left_behind(
    config: AniraConfig, ran: Bool[Tensor, "batch time depth"], valid: Tensor, *, decides: bool, hides: bool
) -> Int[Tensor, " batch"]:
    """Return how many keys and values of states are kept for others to see, beside those of executed iterations."""
    if config.freeze != "state" or hides:
        return torch.zeros(len(ran), dtype=torch.long, device=ran.device)
    rests = ~ran & valid.unsqueeze(-1)
    if not config.shared_core:
        return rests.sum((1, 2)) if decides else torch.zeros_like(rests.sum((1, 2)))
    # One for every rest, however long: the state stays the same.
    before = torch.cat([torch.zeros_like(rests[..., :1]), rests[..., :-1]], dim=-1)
    return (rests & ~before).sum((1, 2))


def _seen_keys(
    config: AniraConfig, ran: Bool[Tensor, "batch time depth"], valid: Tensor, *, hides: bool
) -> Int[Tensor, " batch"]:
    """Return over how many keys each row's executed iterations attend: a token sees itself and what is earlier."""
    if hides:
        visible = ran
    elif config.freeze == "kv":
        visible = ran.long().cumsum(-1) > 0
    else:
        visible = valid.unsqueeze(-1).expand_as(ran)
    return (visible.long().cumsum(1) * ran).sum((1, 2))


def key_value_flops(config: AniraConfig) -> int:
    """Return the FLOPs of one token's keys and values in one layer."""
    assert config.head_dim is not None and config.num_key_value_heads is not None
    return 4 * config.hidden_size * config.num_key_value_heads * config.head_dim
