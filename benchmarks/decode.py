"""Decoding one token a row: time against depth, beside stock Llama against layers; and rows of mixed depths."""

import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import DynamicCache

from anira.inference import layer_flops
from anira.inference.timing import Line, interleaved, interleaved_medians
from anira.models import DepthCache
from benchmarks.models import measured
from benchmarks.subjects import (
    DEPTHS,
    STOCK_LAYERS,
    anira_model,
    force_depth,
    force_mixture,
    random_ids,
    stock_model,
)

CONTEXT = 256
POLICIES = ("anira-e", "anira-o")
SLOPE_BAR, INTERCEPT_BAR, MIXED_BAR = 1.10, 1.25, 1.15


Work = dict[str, Callable[[], Any]]


def bench(*, repeats: int, report: Callable[[str], None]) -> dict[str, Any]:
    """Measure stock Llama and both policies in turns at batch 1 and 8, then rows of mixed depths at batch 8."""
    return measured(lambda: _rows(repeats, report), repeats)


@torch.no_grad()
def _rows(repeats: int, report: Callable[[str], None]) -> list[dict[str, Any]]:
    results = []
    for batch in (1, 8):
        report(f"decode, batch {batch}: {len(STOCK_LAYERS) + 2 * len(DEPTHS)} models in turns")
        work = _stock_steps(batch)
        for policy in POLICIES:
            work |= _depth_steps(policy, batch)
        medians = interleaved_medians(work, repeats=repeats)
        stock = Line.fit(STOCK_LAYERS, [medians[f"stock {layers}"] for layers in STOCK_LAYERS])
        results += [_compare(policy, batch, stock, _line(policy, medians)) for policy in POLICIES]
    for policy in POLICIES:
        report(f"decode, mixed depths: {policy}")
        results.append(_mixed(policy, repeats))
    return results


def _stock_steps(batch: int) -> Work:
    work: Work = {}
    for layers in STOCK_LAYERS:
        model = stock_model(layers)
        cache = DynamicCache(config=model.config)
        model(random_ids(batch, CONTEXT), past_key_values=cache, use_cache=True)
        work[f"stock {layers}"] = _step(model, cache, batch)
    return work


def _depth_steps(policy: str, batch: int) -> Work:
    work: Work = {}
    for depth in DEPTHS:
        model = anira_model(policy)
        force_depth(model, depth)
        cache = DepthCache(model.config)
        output = model(random_ids(batch, CONTEXT), past_key_values=cache)
        assert bool((output.exit_depth == depth).all())
        work[f"{policy} {depth}"] = _step(model, cache, batch)
    return work


def _step(model: Any, cache: Any, batch: int) -> Callable[[], Any]:
    """Return one decoding step; the context grows by a token each time, for all models alike."""
    token = random_ids(batch, 1)
    return lambda: model(token, past_key_values=cache, use_cache=True)


def _line(policy: str, medians: dict[str, float]) -> Line:
    return Line.fit(DEPTHS, [medians[f"{policy} {depth}"] for depth in DEPTHS])


def _compare(policy: str, batch: int, stock: Line, line: Line) -> dict[str, Any]:
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
    work: Work = {}
    for size in sizes:
        work |= {f"{size} {name}": step for name, step in _depth_steps(policy, size).items()}
    work["mixed"], executed = _mixed_steps(policy, repeats)
    seconds = interleaved(work, repeats=repeats)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    lines = {size: Line.fit(DEPTHS, [medians[f"{size} {policy} {depth}"] for depth in DEPTHS]) for size in sizes}
    depths = executed[1:]  # the first step was to warm up
    ratio = statistics.median(
        measured / _predicted(depth, lines) for measured, depth in zip(seconds["mixed"], depths, strict=True)
    )
    return {
        "what": f"decode {policy}, batch 8, mixed depths",
        "mean_depth": float(torch.stack(depths).float().mean()),
        "ratio_to_fit": ratio,
        "bar": MIXED_BAR,
        "met": ratio <= MIXED_BAR,
    }


def _mixed_steps(policy: str, repeats: int) -> tuple[Callable[[], Any], list[Tensor]]:
    """Return a step that decodes the next token of 8 rows, and the list that it writes their depths to."""
    model = anira_model(policy)
    ids = random_ids(8, CONTEXT + 1 + repeats)
    force_mixture(model, ids, mean=2.0, last=repeats)
    cache = DepthCache(model.config)
    model(ids[:, :CONTEXT], past_key_values=cache)
    executed: list[Tensor] = []

    def step() -> None:
        column = CONTEXT + len(executed)
        executed.append(model(ids[:, column : column + 1], past_key_values=cache).executed.flatten())

    return step, executed


def _predicted(executed: Tensor, lines: dict[int, Line]) -> float:
    """Return the seconds that the lines give a step whose rows execute these depths."""
    active = [int((executed >= depth).sum()) for depth in range(1, int(executed.max()) + 1)]
    slopes = np.interp(active, list(lines), [line.slope for line in lines.values()])
    return float(lines[len(executed)].intercept + slopes.sum())
