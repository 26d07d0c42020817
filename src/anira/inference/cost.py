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
        """Executed iterations a token."""
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
) -> Cost:
    """Return the cost of rows in which each token executed so many iterations, attention over earlier tokens included.

    A token that exits early under freeze = "state" pays one more projection to keys and values (of the state as an
    iteration would read it), and keeps one more slot.
    """
    rows = row_costs(config, policy, executed, valid=valid, max_depth=max_depth)
    return Cost(**{name: int(values.sum()) for name, values in rows.items()})


def row_costs(
    config: AniraConfig,
    policy: ComputePolicy,
    executed: Int[Tensor, "batch time"],
    *,
    valid: Bool[Tensor, "batch time"] | None = None,
    max_depth: int | None = None,
) -> dict[str, Int[Tensor, " batch"]]:
    """Return the fields of `Cost` for each row by itself."""
    depth = config.max_depth if max_depth is None else max_depth
    valid = torch.ones_like(executed, dtype=torch.bool) if valid is None else valid
    tokens, keys = valid.sum(1), valid.long().cumsum(1)
    layer, per_key = layer_flops(config), attention_flops(config, 1)
    inject = 4 * config.hidden_size**2 if config.injection == "concat-linear" else 0
    early = ((executed < depth) & valid).sum(1) if config.freeze == "state" else torch.zeros_like(tokens)
    decisions = (policy.num_decisions(executed.long(), depth) * valid).sum(1)
    runs, pass_flops = executed.long() * valid, layer + per_key * keys
    outer = config.num_prelude_layers + config.num_coda_layers
    return {
        "tokens": tokens,
        "iterations": runs.sum(1),
        "decisions": decisions,
        "core_flops": (runs * (config.num_core_layers * pass_flops + inject)).sum(1)
        + early * (inject + key_value_flops(config)),
        "decision_flops": decisions * policy.decision_flops(),
        "other_flops": outer * (pass_flops * valid).sum(1) + 2 * tokens * config.hidden_size * config.vocab_size,
        "kv_slots": runs.sum(1) + early,
    }


def key_value_flops(config: AniraConfig) -> int:
    """Return the FLOPs of one token's keys and values in one layer."""
    assert config.head_dim is not None and config.num_key_value_heads is not None
    return 4 * config.hidden_size * config.num_key_value_heads * config.head_dim
