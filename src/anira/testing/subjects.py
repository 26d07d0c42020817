"""Small float64 models with the policy to be checked, and the ways to call them that must agree."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import torch
from torch import Tensor

from anira.models import AniraConfig, AniraForCausalLM, AniraOutput, DepthCache, uniform_noise
from anira.models.noise import step_noise

VOCAB: Final = 20
MAX_DEPTH: Final = 4
BATCH, TIME = 3, 9
TOLERANCE: Final = 1e-9
BACKBONES: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"num_coda_layers": 0, "injection": "add"},
    {"num_core_layers": 2},
    {"shared_core": False},
)
"""A core of one layer with a coda and without, one of two layers (freeze = "kv"), and layers that are not shared."""

SHORTEST: Final[dict[str, Any]] = {"num_coda_layers": 0, "max_depth": 3}
"""For graphs that are compiled, which takes seconds per layer."""


def make_model(options: Mapping[str, Any], backbone: Mapping[str, Any], seed: int) -> AniraForCausalLM:
    """Return a model in eval mode whose weights are large enough for tokens to differ in depth."""
    sizes = {"vocab_size": VOCAB, "hidden_size": 16, "intermediate_size": 24, "num_attention_heads": 2}
    config = AniraConfig(**{**sizes, "max_depth": MAX_DEPTH, "policy": dict(options), **backbone})
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model: AniraForCausalLM = AniraForCausalLM(config).double().eval()
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.dim() > 1:
                    parameter.normal_(0, 1.5 / parameter.shape[1] ** 0.5)
    return model


def make_ids(seed: int, batch: int = BATCH, time: int = TIME) -> Tensor:
    """Return rows of tokens."""
    return torch.randint(1, VOCAB, (batch, time), generator=torch.Generator().manual_seed(seed))


def left_padding() -> Tensor:
    """Return an attention mask in which every row has another number of padding columns."""
    return (torch.arange(TIME) >= 2 * torch.arange(BATCH)[:, None]).long()


def make_noise(model: AniraForCausalLM, ids: Tensor) -> dict[str, Any]:
    """Return what a training step gives the policy: numbers per token and per step, and the depth drawn by them."""
    policy, (rows, positions) = model.policy, (torch.arange(size) for size in ids.shape)
    given: dict[str, Any] = {}
    if policy.noise_width:
        given["noise"] = uniform_noise(seed=1, step=2, rows=rows, positions=positions, width=policy.noise_width)
    if policy.step_noise_width:
        given["step_noise"] = step_noise(seed=1, step=2, width=policy.step_noise_width)
        given["max_depth"] = policy.depth_for_step(given["step_noise"], progress=0.0)
    return given


@dataclass(frozen=True)
class Seen:
    """What the calls of one way to run a model gave, for all tokens."""

    logits: Tensor
    exit_depth: Tensor
    executed: Tensor
    ran: Tensor | None
    hides: bool
    num_slots: int | None
    """Key-value slots that the cache holds, if there is one."""

    def take(self, row: int, valid: Tensor) -> "Seen":
        """Return some tokens of one row."""
        logits, exit_depth, executed = (
            value[row : row + 1, valid] for value in (self.logits, self.exit_depth, self.executed)
        )
        return replace(self, logits=logits, exit_depth=exit_depth, executed=executed)


def _seen(outputs: Sequence[AniraOutput]) -> Seen:
    """Join the outputs of consecutive calls."""

    def join(name: str) -> Any:
        return torch.cat([output[name] for output in outputs], dim=1) if name in outputs[0] else None

    cache = outputs[-1].past_key_values
    hides = any(output.hides for output in outputs)
    parts = {name: join(name) for name in ("logits", "exit_depth", "executed", "ran")}
    return Seen(**parts, hides=hides, num_slots=cache.num_slots if isinstance(cache, DepthCache) else None)


@dataclass(frozen=True)
class Call:
    """Tokens with the arguments of a call."""

    model: AniraForCausalLM
    ids: Tensor
    mask: Tensor | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    forced: Tensor | None = None

    @property
    def valid(self) -> Tensor:
        """Tokens that are not padding."""
        return torch.ones_like(self.ids, dtype=torch.bool) if self.mask is None else self.mask.bool()

    @torch.no_grad()
    def parallel(self, **extra: Any) -> Seen:
        """Run all iterations on whole rows."""
        return _seen([self.model(self.ids, self.mask, exit_depth=self.forced, **self.settings, **extra)])

    def ways(self) -> Iterator[tuple[str, Seen]]:
        """Yield the other ways to run the same call: they must give the same."""
        time = self.ids.shape[1]
        yield "token by token", self._cached([1] * time)
        yield "in chunks", self._cached([4, 1, time - 5])
        yield "in one prefill", self._cached([time])
        yield "only active tokens", self.parallel(active=True)

    @torch.no_grad()
    def _cached(self, sizes: Sequence[int]) -> Seen:
        cache, outputs, start = None, [], 0
        for size in sizes:
            stop = start + size
            mask = None if self.mask is None else self.mask[:, :stop]
            forced = None if self.forced is None else self.forced[:, start:stop]
            call = {"past_key_values": cache, "use_cache": True, "exit_depth": forced, **self.settings}
            outputs.append(self.model(self.ids[:, start:stop], mask, **call))
            cache, start = outputs[-1].past_key_values, stop
        return _seen(outputs)


def difference(one: Seen, other: Seen, valid: Tensor) -> str:
    """Say in which way two results differ at the valid tokens, or nothing."""
    pairs = {"executed": (one.executed, other.executed), "exit_depth": (one.exit_depth, other.exit_depth)}
    for name, (ours, theirs) in pairs.items():
        odd = ((ours != theirs) & valid).nonzero()
        if len(odd):
            place = tuple(odd[0].tolist())
            return f"{name} of {len(odd)} tokens differs, first at {place}: {ours[place]} against {theirs[place]}"
    gap = float((one.logits - other.logits).abs()[valid].max()) if bool(valid.any()) else 0.0
    return "" if gap <= TOLERANCE else f"logits differ by {gap:.2g}"
