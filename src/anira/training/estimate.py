"""What a run will cost, before it is started: parameters, FLOPs, memory and hours, from the cost model alone.

    print("\\n".join(estimate_lines([preset("mano-anira-e-paper")])))

Nothing is allocated: the model is built without storage, and the task is asked for one step's rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from anira.inference import Cost, forward_cost
from anira.models import AniraConfig, AniraForCausalLM
from anira.models.policies import policy_class
from anira.training.config import TrainConfig

SUSTAINED: Final[Mapping[str, float]] = {"two CPU cores": 9e10, "an A100": 0.3 * 312e12}
"""FLOP/s that a training step is taken to sustain: measured at the paper's MANO shape in float32 (docs/results.md), and
30 % of what the maker states for bfloat16, an assumption."""
FLOAT32: Final[Mapping[str, float]] = {"two CPU cores": 9e10, "an A100": 0.3 * 19.5e12}
"""The same for what stays in float32 under bfloat16, part of each decision: on an A100 without TF32, which is torch's
default (docs/method.md, "Numerics")."""
BACKWARD: Final = 2
"""FLOPs of a backward pass, in forward passes: a linear map is multiplied once for its input, once for its weights."""
COUNTED: Final = (
    "counted: forward and backward passes of training at full depth; not counted: evaluations, making rows, and in "
    "memory temporary buffers, the allocator's reserve and what the device itself needs"
)
_FLOAT = 4  # bytes; weights, gradients and both moments of AdamW stay in float32 whatever the precision


@dataclass(frozen=True, kw_only=True)
class RunEstimate:
    """What one training run takes."""

    preset: str
    parameters: int
    decider_parameters: int
    tokens: int
    """Of all steps; there is no padding."""
    flops: float
    """Of all steps, forward and backward. The training graph runs every token to the largest depth."""
    float32_flops: float
    """Those among them that stay in float32 under bfloat16."""
    state_bytes: int
    """Weights, gradients and the two moments of AdamW."""
    activation_bytes: int
    """What one part of a step keeps for its backward pass, roughly and in float32."""

    def hours(self, flops_per_second: float, float32_per_second: float | None = None) -> float:
        """Return the hours of training at a sustained speed, which may be another one for what stays in float32."""
        rest = self.float32_flops / (float32_per_second or flops_per_second)
        return ((self.flops - self.float32_flops) / flops_per_second + rest) / 3600


def estimate(config: TrainConfig) -> RunEstimate:
    """Return what a run takes; rows are as long as those of its first step."""
    shape = config.model_config()
    parts = [full_cost(shape, part) for part in np.split(np.sort(_lengths(config)), config.accumulation)]
    total, decider = count_parameters(shape)
    passes = config.steps * (1 + BACKWARD)
    decisions = sum(part.decisions for part in parts)
    return RunEstimate(
        preset=config.preset,
        parameters=total,
        decider_parameters=decider,
        tokens=config.steps * sum(part.tokens for part in parts),
        flops=float(passes * sum(part.flops for part in parts)),
        float32_flops=float(passes * decisions * _without_storage(shape).policy.float32_flops()),
        state_bytes=4 * _FLOAT * total,
        activation_bytes=max(activation_bytes(shape, part) for part in parts),
    )


def _lengths(config: TrainConfig) -> NDArray[Any]:
    """Return the lengths of a step's rows; those of text are all filled."""
    if config.text is not None:
        return np.full(config.batch_size, config.max_length)
    return config.make_task().rows(seed=config.seed, stream="train", start=0, count=config.batch_size).lengths


def estimate_lines(configs: Sequence[TrainConfig]) -> list[str]:
    """Return a line for each run, one for all of them, and what the figures leave out."""
    found = [estimate(config) for config in configs]
    lines = [_line(one) for one in found]
    if len(found) > 1:
        flops = sum(one.flops for one in found)
        lines.append(f"together: {flops:.1e} FLOPs; {_hours(found)}")
    return [
        *lines,
        COUNTED,
        f"hours: at an assumed {', '.join(f'{speed:.1e} FLOP/s on {name}' for name, speed in SUSTAINED.items())}; "
        f"on an A100 {FLOAT32['an A100']:.1e} for what deciders keep in float32 (TF32 is off)",
    ]


def count_parameters(config: AniraConfig) -> tuple[int, int]:
    """Return the number of a model's parameters, and of those with which its policy decides.

    >>> count_parameters(AniraConfig(vocab_size=64, hidden_size=512, intermediate_size=2048, max_depth=6))
    (13713926, 1061894)
    """
    model = _without_storage(config)
    total, decider = (sum(p.numel() for p in part.parameters()) for part in (model, model.policy))
    return total, decider


def full_cost(config: AniraConfig, lengths: NDArray[Any]) -> Cost:
    """Return the cost of one forward pass of the training graph over rows of these lengths: all at full depth."""
    executed = torch.full((len(lengths), int(lengths.max())), config.max_depth)
    valid = torch.arange(executed.shape[1]) < torch.from_numpy(lengths.astype(np.int64))[:, None]
    return forward_cost(config, _without_storage(config).policy, executed, valid=valid)


def activation_bytes(config: AniraConfig, cost: Cost) -> int:
    """Return roughly what a forward pass keeps for the backward pass, in float32.

    For each token and layer: about nine vectors of hidden_size (residuals, norms, queries, keys, values, attention)
    and four of intermediate_size (gate, its activation, up, their product); for each decision two and two; and the
    logits twice. Tests hold it against what the graph really keeps.
    """
    layers = config.num_prelude_layers + config.num_coda_layers + config.num_core_layers * config.max_depth
    layer = 9 * config.hidden_size + 4 * config.intermediate_size
    decision = 2 * config.hidden_size + 2 * config.intermediate_size
    return _FLOAT * (cost.tokens * (layers * layer + 2 * config.vocab_size) + cost.decisions * decision)


def _without_storage(config: AniraConfig) -> AniraForCausalLM:
    """Return a model of this shape. It is made once: a plan has many runs of the same shape, with other seeds."""
    shape = (policy_class(config.policy["name"]), config.to_json_string(use_diff=False))
    if shape not in _made:
        with torch.device("meta"):
            _made[shape] = AniraForCausalLM(config)
    return _made[shape]


_made: dict[tuple[type, str], AniraForCausalLM] = {}


def _line(one: RunEstimate) -> str:
    decider = f" ({one.decider_parameters / 1e6:.2f}M of them decide)" if one.decider_parameters else ""
    return (
        f"{one.preset}: {one.parameters / 1e6:.1f}M parameters{decider}, {one.tokens / 1e9:.2g}G tokens, "
        f"{one.flops:.1e} FLOPs, {(one.state_bytes + one.activation_bytes) / 1e9:.1f} GB of memory; {_hours([one])}"
    )


def _hours(runs: Sequence[RunEstimate]) -> str:
    hours = {name: sum(one.hours(speed, FLOAT32[name]) for one in runs) for name, speed in SUSTAINED.items()}
    return ", ".join(f"{value:,.{0 if value >= 100 else 1}f} h on {name}" for name, value in hours.items())
