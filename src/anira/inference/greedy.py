"""Greedy decoding of one prompt that keeps the depth of every token."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from anira.inference.stepwise import Stepwise
from anira.models import AniraForCausalLM


@dataclass(frozen=True, kw_only=True)
class Written:
    """What a model wrote after a prompt, and what it spent."""

    ids: tuple[int, ...]
    """The tokens that were read: the prompt, and all that was written but the last token."""
    written: tuple[int, ...]
    exit_depth: tuple[int, ...]
    """Of every token that was read; the depth of a written token is that of the one before it, which predicts it."""
    exit_probs: tuple[tuple[float, ...], ...] | None
    """q(1), q(2), ... of the same tokens, where the policy has them."""
    mean_depth: float


def write_greedily(
    model: AniraForCausalLM,
    prompt: Sequence[int],
    count: int,
    *,
    select: str | None = None,
    threshold: float | None = None,
    exit_depth: int | None = None,
    stop: int | None = None,
) -> Written:
    """Write up to `count` tokens, the likeliest one each time; `stop` is the token after which nothing is written."""
    session = Stepwise(model, select=select, threshold=threshold, exit_depth=exit_depth)
    ids, written, depths, probs = list(prompt), [], [], []
    token = torch.tensor([ids], device=model.device)
    for _ in range(count):
        fed = session.feed(token)
        depths += fed.exit_depth[0].tolist()
        if fed.exit_log_probs is not None:
            probs += fed.exit_log_probs[0].exp().tolist()
        token = fed.logits.argmax(-1, keepdim=True)
        written.append(int(token))
        if written[-1] == stop:
            break
    return Written(
        ids=(*ids, *written[:-1]),
        written=tuple(written),
        exit_depth=tuple(depths),
        exit_probs=tuple(map(tuple, probs)) or None,
        mean_depth=session.cost().mean_depth,
    )
