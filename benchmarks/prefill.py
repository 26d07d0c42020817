"""Reading a prompt of 8 x 256 tokens: time against depth, beside stock Llama against layers; and mixed depths."""

from collections.abc import Callable
from typing import Any

import torch
from transformers import DynamicCache

from anira.inference import forward_cost, layer_flops
from anira.inference.timing import Line, interleaved_medians
from anira.models import AniraForCausalLM
from benchmarks.decode import INTERCEPT_BAR, SLOPE_BAR
from benchmarks.models import measured
from benchmarks.subjects import (
    DEPTHS,
    MAX_DEPTH,
    STOCK_LAYERS,
    anira_model,
    force_depth,
    force_mixture,
    random_ids,
    stock_model,
)

ROWS, TIME = 8, 256
MIXED_BAR = 1.25


def bench(*, repeats: int, report: Callable[[str], None]) -> dict[str, Any]:
    """Measure stock Llama and both policies in turns."""
    return measured(lambda: _measure(repeats, report), repeats)


@torch.no_grad()
def _measure(repeats: int, report: Callable[[str], None]) -> list[dict[str, Any]]:
    ids = random_ids(ROWS, TIME)
    work: dict[str, Callable[[], Any]] = {}
    for layers in STOCK_LAYERS:
        work[f"stock {layers}"] = _stock(layers, ids)
    mixtures = {}
    for policy in ("anira-e", "anira-o"):
        for depth in (*DEPTHS, MAX_DEPTH):
            model = anira_model(policy)
            force_depth(model, depth)
            work[f"{policy} {depth}"] = _prefill(model, ids)
        model = anira_model(policy)
        force_mixture(model, ids, mean=2.0, last=TIME)
        work[f"{policy} mixed"] = _prefill(model, ids)
        mixtures[policy] = model
    report(f"prefill, {ROWS} x {TIME}: {len(work)} models in turns")
    medians = interleaved_medians(work, repeats=repeats)
    stock = Line.fit(STOCK_LAYERS, [medians[f"stock {layers}"] for layers in STOCK_LAYERS])
    return [row for policy, model in mixtures.items() for row in _rows(policy, model, ids, medians, stock)]


def _stock(layers: int, ids: torch.Tensor) -> Callable[[], Any]:
    model = stock_model(layers)
    return lambda: model(ids, past_key_values=DynamicCache(config=model.config), use_cache=True)


def _prefill(model: AniraForCausalLM, ids: torch.Tensor) -> Callable[[], Any]:
    return lambda: model(ids, use_cache=True)


def _rows(
    policy: str, model: AniraForCausalLM, ids: torch.Tensor, medians: dict[str, float], stock: Line
) -> list[dict[str, Any]]:
    line = Line.fit(DEPTHS, [medians[f"{policy} {depth}"] for depth in DEPTHS])
    share = model.policy.decision_flops() / layer_flops(model.config)
    online, early = (share, 0.0) if policy == "anira-o" else (0.0, share)
    executed = model(ids).executed
    mixed = forward_cost(model.config, model.policy, executed)
    full = forward_cost(model.config, model.policy, torch.full_like(executed, model.config.max_depth))
    time_ratio = medians[f"{policy} mixed"] / medians[f"{policy} {model.config.max_depth}"]
    flop_ratio = mixed.flops / full.flops
    return [
        {
            "what": f"prefill {policy}, {ROWS} x {TIME}",
            "slope_ratio": line.slope / stock.slope,
            "slope_bar": SLOPE_BAR * (1 + online),
            "slope_met": line.slope <= SLOPE_BAR * (1 + online) * stock.slope,
            "intercept_ratio": line.intercept / stock.at(2),
            "intercept_bar": INTERCEPT_BAR * stock.at(2 + early) / stock.at(2),
            "intercept_met": line.intercept <= INTERCEPT_BAR * stock.at(2 + early),
        },
        {
            "what": f"prefill {policy}, mixed depths",
            "mean_depth": mixed.mean_depth,
            "time_ratio_to_full_depth": time_ratio,
            "flop_ratio_to_full_depth": flop_ratio,
            "ratio": time_ratio / flop_ratio,
            "bar": MIXED_BAR,
            "met": bool(time_ratio <= MIXED_BAR * flop_ratio),
        },
    ]
