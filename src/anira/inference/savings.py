"""What depth saves in decoding, measured: the same rows at a model's own depths and at one depth for every token.

The comparison is with a model that has the same weights and no decider, at depth 1, 2, ... D. All take turns, so that a
busy moment of the machine slows all alike, and only ratios of one measurement are compared. Times are CPU time of one
thread: what else runs on the machine disturbs it least.
"""

import copy
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Int
from torch import Tensor

from anira.config import UserError
from anira.inference.cost import Cost
from anira.inference.stepwise import Stepwise
from anira.inference.timing import interleaved
from anira.models import AniraForCausalLM, DepthCache
from anira.models.policies import Fixed

OWN = 0
"""Stands for the depths that the model chooses itself."""


@dataclass(frozen=True, kw_only=True)
class Decoded:
    """Rows decoded in one way."""

    depth_shares: tuple[float, ...]
    """Share of the tokens that executed 1, 2, ... D iterations."""
    cost: Cost
    """Counted, not measured."""
    core_bytes: int
    """Keys and values of the core."""
    cache_bytes: int
    """Every tensor of the cache, prelude, coda, table and spare room included."""
    seconds: tuple[float, ...]
    """CPU time, one a repeat; the repeats with one number belong together."""


@torch.no_grad()
def measure_decoding(
    model: AniraForCausalLM, ids: Int[Tensor, "rows time"], *, batch: int, depths: Sequence[int], repeats: int
) -> dict[int, Decoded]:
    """Decode rows token by token, `batch` at once, at the model's own depths (key 0) and at each of `depths`."""
    if not model.config.shared_core or model.policy.timing == "none":
        raise UserError(f"policy {model.policy.name!r} has one depth for all tokens: there is nothing to compare")
    plain = without_decider(model)
    ways = {OWN: model, **dict.fromkeys(depths, plain)}
    parts = ids.split(batch)

    def decode(depth: int) -> None:
        for part in parts:
            decode_rows(ways[depth], part, depth or None)

    work = {str(depth): partial(decode, depth) for depth in ways}
    with _one_thread():
        seconds = interleaved(work, repeats=repeats, clock=time.process_time)
    return {depth: _decoded(ways[depth], parts, depth or None, seconds[str(depth)]) for depth in ways}


def without_decider(model: AniraForCausalLM) -> AniraForCausalLM:
    """Return a copy that gives every token as many iterations as a call offers."""
    plain = copy.deepcopy(model)
    plain.config.policy = {"name": Fixed.name}
    plain.policy = Fixed(plain.config)
    return plain


def decode_rows(model: AniraForCausalLM, ids: Int[Tensor, "rows time"], max_depth: int | None) -> None:
    """Feed rows one token per call."""
    cache = DepthCache(model.config)
    for column in ids.T:
        model(column[:, None], past_key_values=cache, max_depth=max_depth, logits_to_keep=1)


def _decoded(
    model: AniraForCausalLM, parts: Sequence[Tensor], max_depth: int | None, seconds: Sequence[float]
) -> Decoded:
    """Decode once more and look at what is there afterwards."""
    sessions = [Stepwise(model, max_depth=max_depth) for _ in parts]
    for session, ids in zip(sessions, parts, strict=True):
        for column in ids.T:
            session.feed(column[:, None])
    executed = torch.cat([session.executed.flatten() for session in sessions])
    counts = torch.bincount(executed, minlength=model.config.max_depth + 1)[1:]
    return Decoded(
        depth_shares=tuple((counts / counts.sum()).tolist()),
        cost=sum((session.cost() for session in sessions[1:]), sessions[0].cost()),
        core_bytes=sum(session.cache.core_nbytes for session in sessions),
        cache_bytes=sum(session.cache.nbytes for session in sessions),
        seconds=tuple(seconds),
    )


@contextmanager
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
