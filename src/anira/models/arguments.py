"""The arguments of a forward call: what can be asked for, and what is refused by name before anything is computed."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from transformers import Cache, DynamicCache

from anira.config import UserError
from anira.models.attention import Plan
from anira.models.cache import DepthCache
from anira.models.configuration import AniraConfig
from anira.models.flat import FlatList
from anira.models.host import looking_is_free
from anira.models.noise import drawn_noise
from anira.models.packing import PackedAttention, Packing
from anira.models.policies import ComputePolicy, Context
from anira.models.present import PresentStore
from anira.models.slots import SlotStore
from anira.models.static import StaticCall, StaticDepthCache


@dataclass(frozen=True)
class Masks:
    """What the caller says about padding and positions."""

    attention_mask: Tensor | None
    valid_mask: Tensor | None
    position_ids: Int[Tensor, "rows time"] | None
    lengths: Int[Tensor, " instances"] | None = None
    max_length: int | None = None

    def counted(self, valid: Bool[Tensor, "batch time"], *, active: bool) -> Bool[Tensor, "batch time"]:
        """Return whose compute counts, of the tokens that are not padding."""
        assert self.valid_mask is not None
        if active:
            raise UserError("active goes with attention_mask or lengths, not with valid_mask")
        return valid & self.valid_mask.bool()

    def packing(self, x: Float[Tensor, "batch time dim"], *, cached: bool) -> Packing | None:
        """Return where the tokens of a packed row stand, if it is one."""
        if self.lengths is None:
            return None
        batch, time = x.shape[:2]
        if cached or self.attention_mask is not None or batch != 1:
            raise UserError("lengths go with one row of tokens, without a cache and without attention_mask")
        if not torch.compiler.is_compiling() and (int(self.lengths.sum()) != time or int(self.lengths.min()) < 1):
            raise UserError(f"lengths must be at least 1 and sum to the {time} tokens of the row")
        return Packing.of(self.lengths, time, self.max_length)

    def attended(
        self, batch: int, past: int, time: int, device: torch.device
    ) -> tuple[Bool[Tensor, "batch time"], FlatList, bool]:
        """Return which tokens of this call are not padding, these as the host knows them, and whether some may be."""
        mask, every = self.attention_mask, FlatList((batch, time), None, device)
        if mask is None:
            return torch.ones(batch, time, dtype=torch.bool, device=device), every, False
        if mask.dim() != 2:
            raise UserError(
                f"attention_mask must be (batch, columns) of 0 and 1; one of {mask.dim()} axes is not supported"
            )
        if mask.shape[0] != batch or mask.shape[1] != past + time:
            raise UserError(
                f"attention_mask must have {batch} rows and cover all {past + time} columns, not {tuple(mask.shape)}"
            )
        valid = mask[:, past:].bool()
        if torch.compiler.is_compiling():  # a graph cannot look at values: any token may be padding
            return valid, every, True
        known = np.asarray(valid.cpu().numpy())
        return valid, FlatList((batch, time), known, device), not known.all()


@dataclass(frozen=True)
class Depths:
    """What the caller says about depth; None is the model's own choice."""

    noise: Float[Tensor, "batch time channels"] | None
    select: str | None
    threshold: float | None
    max_depth: int | None
    exit_depth: Int[Tensor, "batch time"] | int | None
    exits: str | None = None
    step_noise: Float[Tensor, " channels"] | None = None
    progress: Tensor | float = 1.0

    def of_step(self, policy: ComputePolicy, device: torch.device) -> "Depths":
        """Return the same for a training step: with the iterations that the policy offers in it."""
        if self.max_depth is not None:
            return self
        noise, width = self.step_noise, policy.step_noise_width
        if noise is None and width:
            noise = drawn_noise(1, 1, width, device)[0, 0]
        return replace(self, step_noise=noise, max_depth=policy.depth_for_step(noise, self.progress))


@dataclass(frozen=True)
class Wanted:
    """What the caller wants to see beside logits and depths."""

    probs: bool
    hidden_states: bool
    iteration_states: bool
    logits_to_keep: int | Int[Tensor, " kept"]
    active: bool
    """Only the tokens that still run are computed, though nothing is kept."""

    @property
    def states(self) -> bool:
        """Whether the states after each iteration must be kept."""
        return self.hidden_states or self.iteration_states


@dataclass(frozen=True)
class Call:
    """One forward call, with every default filled in."""

    x: Float[Tensor, "batch time dim"]
    policy: ComputePolicy
    context: Context
    padded: bool
    """Whether some token may be padding."""
    mask: Bool[Tensor, "batch 1 time keys"] | None
    packing: Packing | None
    cache: DepthCache | None
    flat: FlatList | None
    """The tokens that are not padding, as the host knows them, if only those that still run are computed."""
    store: SlotStore | PresentStore | None
    """Keys and values of the core in that case."""
    static: StaticCall | None
    """Where the tokens stand in a cache of fixed size."""
    keep_states: bool

    @property
    def plan(self) -> Plan | None:
        """How layers outside the core attend, if not plainly."""
        return self.static.layers() if self.static is not None else self.core_plan

    @property
    def core_plan(self) -> PackedAttention | None:
        """The same for packed rows."""
        return None if self.packing is None else PackedAttention(self.packing)


def make_context(  # noqa: PLR0913 (one place where all of it meets)
    policy: ComputePolicy,
    asked: Depths,
    *,
    valid: Bool[Tensor, "batch time"],
    positions: Int[Tensor, "rows time"],
    ids: Int[Tensor, "batch time"] | None,
    packing: Packing | None,
    max_depth: int,
    training: bool,
    probs: bool,
    head: Callable[[Tensor], Tensor],
    whole_head: bool,
) -> Context:
    """Return what the policy may know about a call; in training it gets noise if the caller brings none."""
    batch, time = valid.shape
    forced, noise = asked.exit_depth, asked.noise
    if forced is not None:
        noise, forced = None, torch.as_tensor(forced, device=valid.device).expand(batch, time)
    elif noise is None and training and policy.noise_width:
        noise = drawn_noise(batch, time, policy.noise_width, valid.device)
    rows = packing.rows[None] if packing is not None else torch.arange(batch, device=valid.device)[:, None]
    rule = policy.rule(asked.select, asked.threshold)
    return Context(
        valid=valid,
        positions=positions.expand(batch, time),
        rows=rows.expand(batch, time),
        ids=ids,
        max_depth=max_depth,
        training=training,
        noise=noise,
        step_noise=asked.step_noise,
        progress=asked.progress,
        select=rule.select,
        threshold=rule.threshold,
        forced_depth=forced,
        exits="virtual" if asked.exits == "virtual" else "real",
        probs=probs,
        head=head,
        coda=head if whole_head else None,
    )


def static_call(  # noqa: PLR0913 (one place where all of it meets)
    x: Float[Tensor, "batch time dim"],
    ids: Int[Tensor, "batch time"] | None,
    policy: ComputePolicy,
    masks: Masks,
    depths: Depths,
    cache: StaticDepthCache,
    wanted: Wanted,
    *,
    head: Callable[[Tensor], Tensor],
    whole_head: bool,
) -> Call:
    """Return a call with a cache of fixed size: its tokens run in the parallel graph, and any may be padding."""
    if depths.max_depth not in (None, cache.max_depth):
        raise UserError(f"a static cache has keys of all {cache.max_depth} iterations: leave out max_depth")
    batch, time = x.shape[:2]
    static = StaticCall.begin(cache, masks.attention_mask, batch, time, x.device)
    context = make_context(
        policy,
        depths,
        valid=static.valid,
        positions=static.positions() if masks.position_ids is None else masks.position_ids,
        ids=ids,
        packing=None,
        max_depth=cache.max_depth,
        training=False,
        probs=wanted.probs,
        head=head,
        whole_head=whole_head,
    )
    return Call(x, policy, context, True, static.mask, None, None, None, None, static, wanted.states)


def check_attention(implementation: str | dict[str, str] | None) -> None:
    """Refuse every implementation of attention but SDPA."""
    for name in implementation.values() if isinstance(implementation, dict) else [implementation]:
        if name != "sdpa":
            raise UserError(
                f"anira runs on attn_implementation='sdpa' only, not {name!r} (SDPA uses a flash kernel where it can)"
            )


def check_call(
    policy: ComputePolicy, labels: Tensor | None, active: bool, keep: int | Tensor, attentions: bool | None
) -> None:
    """Refuse what does not go together; `active`: only the tokens that still run are computed, as with a cache."""
    if attentions:
        raise UserError("output_attentions is not supported: SDPA computes no attention weights")
    if active and labels is not None:
        raise UserError("labels need the parallel graph: leave out the cache, or active")
    if labels is not None and not isinstance(keep, Tensor) and keep:
        raise UserError("labels need all logits that predict one: leave out logits_to_keep, or give their positions")


def check_ids(input_ids: Int[Tensor, "batch time"], vocab_size: int) -> None:
    """Refuse tokens that the embedding does not have, where that can be seen without waiting for a device."""
    if not looking_is_free(input_ids):
        return
    low, high = (int(bound) for bound in torch.aminmax(input_ids))
    if low < 0 or high >= vocab_size:
        raise UserError(f"input_ids must lie between 0 and {vocab_size - 1}, not between {low} and {high}")


def check_depth(config: AniraConfig, policy: ComputePolicy, asked: Depths, *, active: bool) -> None:
    """Refuse rules, depths and noise that mean nothing to this model.

    Depth 0, the initial state read out, is for models without a choice, and leaves nothing that a cache could keep.
    """
    trained, noise, max_depth = config.max_depth, asked.noise, asked.max_depth
    if asked.select is not None or asked.threshold is not None:
        if asked.exit_depth is not None:
            raise UserError("select and threshold mean nothing to forced depths")
        policy.rule(asked.select, asked.threshold)
    if noise is not None and noise.shape[-1] != policy.noise_width:
        raise UserError(f"noise must have {policy.noise_width} channels for {policy.name!r}, not {noise.shape[-1]}")
    least = 1 if active or policy.timing != "none" else 0
    if max_depth is not None and max_depth < least:
        raise UserError(f"max_depth must be at least {least}, not {max_depth}")
    if max_depth is not None and max_depth > trained and not (config.shared_core and policy.beyond_max_depth):
        why = f"policy {policy.name!r}" if config.shared_core else "an unshared core"
        raise UserError(f"max_depth {max_depth} is beyond the model's {trained}, which {why} cannot do")
    if asked.exits not in (None, "real", "virtual"):
        raise UserError(f"exits are real or virtual, not {asked.exits!r}")
    if asked.exits == "virtual" and policy.timing == "route":
        raise UserError(f"policy {policy.name!r} skips single iterations: it has no exits that could be virtual")
    if asked.exit_depth is not None:
        _check_forced(config, policy, torch.as_tensor(asked.exit_depth), trained if max_depth is None else max_depth)


def _check_forced(config: AniraConfig, policy: ComputePolicy, exit_depth: Tensor, max_depth: int) -> None:
    if not config.shared_core and config.freeze == "kv":
        raise UserError("exit_depth with freeze='kv' needs a shared core: other layers have no keys of a frozen token")
    least = 0 if policy.timing == "route" else 1
    if int(exit_depth.min()) < least or int(exit_depth.max()) > max_depth:
        raise UserError(f"exit_depth must lie between {least} and max_depth {max_depth}")


def check_deeper(depth: int, past: int, cache: DepthCache, config: AniraConfig) -> None:
    """Refuse to go deeper than earlier calls could, where their tokens left nothing to read there."""
    if past and depth > cache.core.max_depth and config.freeze == "state":
        raise UserError(
            f"max_depth {depth} is beyond the {cache.core.max_depth} of earlier calls, whose tokens left no state to "
            "read there: start a new cache"
        )


def own_cache(cache: Cache | None, config: AniraConfig, signature: dict[str, Any]) -> DepthCache | StaticDepthCache:
    """Return the caller's cache, or a new one in place of none or of an empty stock cache."""
    if isinstance(cache, DepthCache | StaticDepthCache):
        if cache.signature != signature:
            raise UserError(f"the cache belongs to another model: it has {cache.signature}")
        return cache
    if cache is not None and (not isinstance(cache, DynamicCache) or cache.get_seq_length() > 0):
        raise UserError(f"past_key_values must be a DepthCache of this model, not {type(cache).__name__}")
    return DepthCache(config)
