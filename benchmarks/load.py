"""Requests of mixed lengths, and the ways to answer them: the engine, and `generate` on padded batches."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from anira.inference import Engine, Generated, forward_cost
from anira.inference.engine import Handle
from anira.models import AniraForCausalLM
from benchmarks.subjects import VOCAB


@dataclass(frozen=True)
class Request:
    """A prompt, and how many tokens are to follow."""

    prompt: tuple[int, ...]
    new_tokens: int


@dataclass(frozen=True)
class Load:
    """So many requests, with lengths drawn evenly between bounds."""

    name: str
    count: int
    prompt: tuple[int, int]
    new_tokens: tuple[int, int]

    def requests(self) -> list[Request]:
        """Return the same requests at every call."""
        rng = np.random.default_rng(0)
        lengths = rng.integers(self.prompt[0], self.prompt[1] + 1, self.count)
        outputs = rng.integers(self.new_tokens[0], self.new_tokens[1] + 1, self.count)
        return [
            Request(tuple(rng.integers(VOCAB, size=length).tolist()), int(new))
            for length, new in zip(lengths, outputs, strict=True)
        ]


def serve(
    model: AniraForCausalLM, requests: Sequence[Request], *, rows: int, kv: Any = "exact", temperature: float = 1.0
) -> tuple[list[Generated], int]:
    """Answer requests that are all there; return the answers and the largest number of slots in use."""
    engine, most = Engine(model, max_rows=rows, max_slots=1 << 24, kv=kv), 0
    handles = [_submit(engine, number, one, temperature) for number, one in enumerate(requests)]
    while not engine.idle:
        engine.tick()
        most = max(most, engine.stats["slots"])
    return [handle.result() for handle in handles], most


def _submit(engine: Engine, number: int, request: Request, temperature: float) -> Handle:
    return engine.submit(
        request.prompt, max_new_tokens=request.new_tokens, temperature=temperature, seed=number, stop=()
    )


def serve_stream(model: AniraForCausalLM, requests: Sequence[Request], *, rows: int, rate: float) -> dict[str, float]:
    """Answer requests that come at random, `rate` per second on average; 0 is all at once. Return latencies.

    The time to the first token and to the last, from arrival: percentiles over requests.
    """
    gaps = np.random.default_rng(1).exponential(1 / rate, len(requests)) if rate else np.zeros(len(requests))
    arrivals, start = np.cumsum(gaps), time.perf_counter()
    engine = Engine(model, max_rows=rows, max_slots=1 << 24)
    handles: list[Handle] = []
    first, last = np.zeros(len(requests)), np.zeros(len(requests))
    while len(handles) < len(requests) or not engine.idle:
        now = time.perf_counter() - start
        while len(handles) < len(requests) and arrivals[len(handles)] <= now:
            handles.append(_submit(engine, len(handles), requests[len(handles)], 1.0))
        if engine.idle:
            time.sleep(max(0.0, arrivals[len(handles)] - now))
            continue
        engine.tick()
        now = time.perf_counter() - start
        for number, handle in enumerate(handles):
            if handle.tokens and not first[number]:
                first[number] = now
            if handle.done and not last[number]:
                last[number] = now
    found = {"first_token": first - arrivals, "last_token": last - arrivals}
    return {f"p{p}_{name}_s": float(np.percentile(x, p)) for name, x in found.items() for p in (50, 90, 99)}


@torch.no_grad()
def generate_padded(model: Any, requests: Sequence[Request], *, rows: int) -> None:
    """Answer requests by `generate`, so many at once: prompts padded on the left, until the longest is done."""
    for ids, mask, new in padded_batches(requests, rows):
        model.generate(ids, attention_mask=mask, max_new_tokens=new, do_sample=True, eos_token_id=None, pad_token_id=0)


def padded_batches(requests: Sequence[Request], rows: int) -> Iterator[tuple[Tensor, Tensor, int]]:
    """Yield ids, mask and new tokens of batches, in the order of arrival."""
    for start in range(0, len(requests), rows):
        part = requests[start : start + rows]
        longest = max(len(one.prompt) for one in part)
        ids, mask = (torch.zeros((len(part), longest), dtype=torch.long) for _ in range(2))
        for i, one in enumerate(part):
            ids[i, longest - len(one.prompt) :] = torch.tensor(one.prompt)
            mask[i, longest - len(one.prompt) :] = 1
        yield ids, mask, max(one.new_tokens for one in part)


def flops_of(model: AniraForCausalLM, answers: Sequence[Generated]) -> tuple[int, float]:
    """Return the FLOPs of answers, and the mean depth of their tokens."""
    costs = []
    for one in answers:
        executed = torch.tensor([[*one.prompt_depth, *one.exit_depth[1:]]])
        costs.append(forward_cost(model.config, model.policy, executed))
    total = sum(costs[1:], costs[0])
    return total.flops, total.mean_depth


def padded_flops(model: AniraForCausalLM, requests: Sequence[Request], rows: int) -> int:
    """Return the FLOPs of a stock model with as many layers as ours at full depth, padding included."""
    total = 0
    for ids, _, new in padded_batches(requests, rows):
        executed = torch.full((len(ids), ids.shape[1] + new - 1), model.config.max_depth)
        cost = forward_cost(model.config, model.policy, executed)
        total += cost.flops - cost.decision_flops
    return total
