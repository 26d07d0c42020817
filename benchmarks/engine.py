"""Many requests at once: the engine beside padded `generate`, stock Llama and overwritten slots; long contexts."""

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from transformers import DynamicCache

from anira.inference import Generated, attention_flops, layer_flops
from anira.inference.timing import Line, interleaved_medians
from anira.models import AniraForCausalLM, DepthCache
from benchmarks.load import Load, Request, flops_of, generate_padded, padded_flops, serve, serve_stream
from benchmarks.models import measured
from benchmarks.subjects import (
    HIDDEN,
    MAX_DEPTH,
    STOCK_LAYERS,
    anira_model,
    force_depth,
    force_mixture,
    random_ids,
    stock_model,
)

POLICIES = ("anira-e", "anira-o")
BOUND_BAR, PADDED_BAR, STOCK_BAR, MIXED_BAR, STEP_BAR = 0.9, 1.0, 1.10, 1.5, 1.15
BUSY = 0.7
"""Share of its throughput that a stream of requests asks of the engine."""


@dataclass(frozen=True)
class Sizes:
    """How large everything is."""

    hidden: int
    loads: Mapping[str, Load]
    """By the part of the benchmark."""
    rows: int
    """Requests in flight."""
    batch: int
    """Rows of a padded batch, where it is not as many."""
    context: int
    """Of the decoding step that is measured by itself."""
    batches: tuple[int, ...]


SIZES = Sizes(
    HIDDEN,
    {
        "short": Load("context 256", 64, (16, 240), (16, 256)),
        "long": Load("context 4,096", 16, (3072, 4064), (16, 64)),
    },
    rows=64,
    batch=8,
    context=4096,
    batches=(1, 8),
)
QUICK = Sizes(32, {"short": Load("context 16", 4, (2, 12), (2, 6))}, rows=4, batch=2, context=150, batches=(1,))


def bench(*, part: str, repeats: int, quick: bool, report: Callable[[str], None]) -> dict[str, Any]:
    """Measure everything in turns, or one part."""
    sizes, repeats = (QUICK, 1) if quick else (SIZES, repeats)
    return measured(lambda: list(_rows(sizes, part, repeats, report)), repeats)


def _rows(sizes: Sizes, part: str, repeats: int, report: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    """Yield all comparisons; each is told as soon as it is there."""
    for row in _measured_rows(sizes, part, repeats, report):
        if "ratio" in row:
            report(f"{row['what']}: {row['ratio']:.2f} (bar {row['bar']:g})")
        yield row


@torch.no_grad()
def _measured_rows(sizes: Sizes, part: str, repeats: int, report: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    for load in (load for name, load in sizes.loads.items() if part in ("all", name)):
        for policy in POLICIES:
            report(f"engine, {load.name}, {load.count} requests: {policy}")
            yield from _Served(sizes, load, policy).rows(repeats)
    for batch in sizes.batches if part in ("all", "step") else ():
        report(f"a decoding step at {sizes.context} tokens of context, batch {batch}")
        yield from _long_steps(sizes, batch, repeats)


class _Served:
    """One load, answered by one policy at full depth and at mean depth 2, and by others."""

    def __init__(self, sizes: Sizes, load: Load, policy: str) -> None:
        self.sizes, self.name, self.requests = sizes, f"{load.name}, {policy}", load.requests()
        self.full, self.mixed = anira_model(policy, sizes.hidden), anira_model(policy, sizes.hidden)
        self.stock = stock_model(MAX_DEPTH + 2, sizes.hidden)
        self.answers: dict[str, list[Generated]] = {}
        force_depth(self.full, MAX_DEPTH)
        sample = random_ids(4, min(256, load.prompt[1]))
        force_mixture(self.mixed, sample, mean=2.0, last=sample.shape[1])

    def rows(self, repeats: int) -> Iterator[dict[str, Any]]:
        """Measure, and yield all comparisons, each as soon as it is there."""
        few = [replace(one, new_tokens=2) for one in self.requests[: self.sizes.batch]]
        warm_up = self._work(few)
        seconds = interleaved_medians(self._work(self.requests), repeats=repeats, warm_up=warm_up)
        yield from self._throughput(seconds)
        for rate in (0.0, BUSY * len(self.requests) / seconds["engine mixed"]):
            yield self._latency(rate)
        yield self._overwritten(seconds)

    def _work(self, requests: Sequence[Request]) -> dict[str, Callable[[], None]]:
        """Return the ways to answer requests."""
        rows, batch = self.sizes.rows, self.sizes.batch
        return {
            "engine full": partial(self._serve, "full", self.full, requests),
            "engine mixed": partial(self._serve, "mixed", self.mixed, requests),
            "engine overwrite": partial(self._serve, "overwrite", self.mixed, requests, kv="overwrite"),
            "padded full": partial(generate_padded, self.full, requests, rows=batch),
            "padded mixed": partial(generate_padded, self.mixed, requests, rows=rows),
            "stock": partial(generate_padded, self.stock, requests, rows=batch),
        }

    def _serve(self, name: str, model: AniraForCausalLM, requests: Sequence[Request], **options: Any) -> None:
        self.answers[name], _ = serve(model, requests, rows=self.sizes.rows, **options)

    def _throughput(self, seconds: dict[str, float]) -> list[dict[str, Any]]:
        full, _ = flops_of(self.full, self.answers["full"])
        mixed, depth = flops_of(self.mixed, self.answers["mixed"])
        stock = padded_flops(self.full, self.requests, self.sizes.batch)
        gain, bound = seconds["engine full"] / seconds["engine mixed"], full / mixed
        per_flop = (seconds["engine full"] / full) / (seconds["stock"] / stock)
        tokens = sum(one.new_tokens for one in self.requests)
        return [
            self._row(
                "mean depth 2 over full depth", gain / bound, BOUND_BAR, mean_depth=depth, gain=gain, bound=bound
            ),
            self._row(
                f"full depth over padded generate, {self.sizes.batch} rows",
                seconds["padded full"] / seconds["engine full"],
                PADDED_BAR,
            ),
            self._row("full depth, time per FLOP over stock Llama's", per_flop, STOCK_BAR, least=False),
            self._row(
                f"mean depth 2 over padded generate, {min(self.sizes.rows, len(self.requests))} rows",
                seconds["padded mixed"] / seconds["engine mixed"],
                MIXED_BAR,
                tokens_per_second=tokens / seconds["engine mixed"],
            ),
        ]

    def _row(self, what: str, ratio: float, bar: float, *, least: bool = True, **more: float) -> dict[str, Any]:
        met = ratio >= bar if least else ratio <= bar
        return {"what": f"engine, {self.name}: {what}", **more, "ratio": ratio, "bar": bar, "met": met}

    def _latency(self, rate: float) -> dict[str, Any]:
        found = serve_stream(self.mixed, self.requests, rows=self.sizes.rows, rate=rate)
        arriving = f"a Poisson stream of {rate:.3g} per second" if rate else "all at once"
        return {"what": f"engine, {self.name}: latency, {arriving}", **found}

    def _overwritten(self, seconds: dict[str, float]) -> dict[str, Any]:
        """Compare greedy answers of the exact cache with those of one slot per token."""
        (exact, slots), (other, fewer) = (
            serve(self.mixed, self.requests, rows=self.sizes.rows, kv=kv, temperature=0.0)
            for kv in ("exact", "overwrite")
        )
        pairs = [pair for a, b in zip(exact, other, strict=True) for pair in zip(a.tokens, b.tokens, strict=True)]
        return {
            "what": f"engine, {self.name}: overwritten slots beside exact ones",
            "tokens_that_differ": statistics.fmean(a != b for a, b in pairs),
            "requests_that_differ": statistics.fmean(a.tokens != b.tokens for a, b in zip(exact, other, strict=True)),
            "slots_ratio": fewer / slots,
            "time_ratio": seconds["engine overwrite"] / seconds["engine mixed"],
        }


def _long_steps(sizes: Sizes, batch: int, repeats: int) -> list[dict[str, Any]]:
    """One decoding step after a long context, against what the line of stock Llama's layers gives its FLOPs."""
    work: dict[str, Callable[[], Any]] = {}
    for layers in STOCK_LAYERS:
        stock = stock_model(layers, sizes.hidden)
        work[f"stock {layers}"] = _step(stock, DynamicCache(config=stock.config), sizes.context, batch)
    models: dict[str, AniraForCausalLM] = {}
    for policy in POLICIES:
        for depth in (2, MAX_DEPTH):
            models[f"{policy} {depth}"] = model = anira_model(policy, sizes.hidden)
            force_depth(model, depth)
            work[f"{policy} {depth}"] = _step(model, DepthCache(model.config), sizes.context, batch)
    medians = interleaved_medians(work, repeats=10 * repeats)
    line = Line.fit(STOCK_LAYERS, [medians[f"stock {layers}"] for layers in STOCK_LAYERS])
    return [_compared(name, model, line, medians[name], sizes.context, batch) for name, model in models.items()]


def _step(model: Any, cache: Any, context: int, batch: int) -> Callable[[], Any]:
    for part in random_ids(batch, context).split(512, dim=1):
        model(part, past_key_values=cache, use_cache=True, logits_to_keep=1)
    token = random_ids(batch, 1)
    return lambda: model(token, past_key_values=cache, use_cache=True)


def _compared(
    name: str, model: AniraForCausalLM, line: Line, seconds: float, context: int, batch: int
) -> dict[str, Any]:
    policy, depth = name.split()
    layer = layer_flops(model.config) + attention_flops(model.config, context)
    decisions = model.policy.decision_cost(torch.tensor(int(depth)), MAX_DEPTH).item() / layer
    ratio = seconds / line.at(2 + int(depth) + decisions)
    return {
        "what": f"decoding step, {policy} at depth {depth}, batch {batch}, context {context}",
        "milliseconds": 1e3 * seconds,
        "ratio": ratio,
        "bar": STEP_BAR,
        "met": ratio <= STEP_BAR,
    }
