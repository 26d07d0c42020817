"""Decoding one token a row: time against depth, beside stock Llama against layers; and rows of mixed depths."""

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from transformers import DynamicCache

from anira.bench.subjects import (
    DEPTHS,
    STOCK_LAYERS,
    anira_model,
    force_depth,
    force_mixture,
    random_ids,
    stock_model,
)
from anira.bench.timing import Line, interleaved_medians
from anira.inference import layer_flops
from anira.models import AniraForCausalLM, DepthCache

CONTEXT = 256
SLOPE_BAR, INTERCEPT_BAR, MIXED_BAR = 1.10, 1.25, 1.15


@torch.no_grad()
def bench_decode(*, repeats: int, report: Callable[[str], None]) -> list[dict[str, Any]]:
    """Measure both policies at batch 1 and 8, then rows of mixed depths at batch 8."""
    results = []
    for batch in (1, 8):
        report(f"decode, batch {batch}: stock Llama")
        stock = _stock_line(batch, repeats)
        for policy in ("anira-e", "anira-o"):
            report(f"decode, batch {batch}: {policy}")
            results.append(_compare(policy, batch, stock, repeats))
    for policy in ("anira-e", "anira-o"):
        report(f"decode, mixed depths: {policy}")
        results.append(_mixed(policy, repeats))
    return results


def _stock_line(batch: int, repeats: int) -> Line:
    work = {}
    for layers in STOCK_LAYERS:
        model = stock_model(layers)
        cache = DynamicCache(config=model.config)
        model(random_ids(batch, CONTEXT), past_key_values=cache, use_cache=True)
        work[str(layers)] = _step(model, cache, batch)
    medians = interleaved_medians(work, repeats=repeats)
    return Line.fit(STOCK_LAYERS, list(medians.values()))


def _step(model: Any, cache: Any, batch: int) -> Callable[[], None]:
    """Return one decoding step that leaves the cache as it was."""
    token = random_ids(batch, 1)

    def step() -> None:
        model(token, past_key_values=cache, use_cache=True)
        cache.crop(-1)

    return step


def depth_line(policy: str, batch: int, repeats: int) -> Line:
    """Return the time of a step against the depth of all its tokens."""
    work = {}
    for depth in DEPTHS:
        model = anira_model(policy)
        force_depth(model, depth)
        cache = DepthCache(model.config)
        output = model(random_ids(batch, CONTEXT), past_key_values=cache)
        assert bool((output.exit_depth == depth).all())
        work[str(depth)] = _step(model, cache, batch)
    return Line.fit(DEPTHS, list(interleaved_medians(work, repeats=repeats).values()))


def _compare(policy: str, batch: int, stock: Line, repeats: int) -> dict[str, Any]:
    line = depth_line(policy, batch, repeats)
    model = anira_model(policy)
    share = model.policy.decision_flops() / layer_flops(model.config)
    online, early = (share, 0.0) if policy == "anira-o" else (0.0, share)
    slope_bar = SLOPE_BAR * stock.slope * (1 + online)
    intercept_bar = INTERCEPT_BAR * (stock.intercept + (2 + early) * stock.slope)
    return {
        "what": f"decode {policy}, batch {batch}, context {CONTEXT}",
        "ms_per_iteration": 1e3 * line.slope,
        "ms_per_stock_layer": 1e3 * stock.slope,
        "slope_ratio": line.slope / stock.slope,
        "slope_bar": slope_bar / stock.slope,
        "slope_met": line.slope <= slope_bar,
        "ms_at_depth_0": 1e3 * line.intercept,
        "ms_of_stock_with_2_layers": 1e3 * stock.at(2),
        "intercept_ratio": line.intercept / stock.at(2),
        "intercept_bar": intercept_bar / stock.at(2),
        "intercept_met": line.intercept <= intercept_bar,
    }


def _mixed(policy: str, repeats: int) -> dict[str, Any]:
    """Rows of different depths, against what the lines for 1, 2, 4 and 8 rows say of the rows active at each depth."""
    sizes = (1, 2, 4, 8)
    lines = {size: depth_line(policy, size, max(10, repeats // 2)) for size in sizes}
    model = anira_model(policy)
    ids = random_ids(8, CONTEXT + repeats)
    force_mixture(model, ids, mean=2.0)
    cache = DepthCache(model.config)
    model(ids[:, :CONTEXT], past_key_values=cache)
    ratios, depths = [], []
    for column in range(CONTEXT, CONTEXT + repeats):
        start = time.perf_counter()
        output = model(ids[:, column : column + 1], past_key_values=cache)
        seconds = time.perf_counter() - start
        executed = output.executed.flatten()
        active = [int((executed >= depth).sum()) for depth in range(1, int(executed.max()) + 1)]
        slopes = np.interp(active, sizes, [lines[size].slope for size in sizes])
        ratios.append(seconds / (lines[8].intercept + slopes.sum()))
        depths.append(executed.float().mean().item())
    ratio = statistics.median(ratios)
    return {
        "what": f"decode {policy}, batch 8, mixed depths",
        "mean_depth": statistics.mean(depths),
        "ratio_to_fit": float(ratio),
        "bar": MIXED_BAR,
        "met": bool(ratio <= MIXED_BAR),
    }


def is_exact(model: AniraForCausalLM) -> bool:
    """Say whether parallel and cached logits agree; a benchmark of a wrong answer would mean nothing."""
    ids = random_ids(2, 16)
    cached = model(ids, use_cache=True).logits
    return bool(torch.allclose(model(ids).logits, cached, atol=1e-3))
