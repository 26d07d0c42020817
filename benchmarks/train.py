"""A training step of both policies beside one of an 8-layer stock Llama, and what compiling gains."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from anira.inference import forward_cost
from anira.inference.timing import interleaved_medians
from anira.models import AniraForCausalLM, uniform_noise
from benchmarks.models import measured
from benchmarks.subjects import MAX_DEPTH, anira_model, random_ids, stock_model
from benchmarks.throughput import bench_throughput, source_folder

ROWS, TIME = 8, 128
BAR = 1.10
POLICIES = ("anira-e", "anira-o")


def bench(
    *,
    repeats: int,
    compile: bool,  # noqa: A002 (as the option)
    against: Path | None,
    report: Callable[[str], None],
) -> dict[str, Any]:
    """Measure single steps, then whole runs; `against` is a checkout of older code."""
    if against is not None:
        source_folder(against)  # refused before minutes of measuring
    return measured(
        lambda: [
            *_steps(repeats, compile, report),
            *bench_throughput(repeats=repeats, compiled=compile, against=against, report=report),
        ],
        repeats,
    )


def _steps(repeats: int, compiled: bool, report: Callable[[str], None]) -> list[dict[str, Any]]:
    """Measure whole steps (forward, backward, clipping, AdamW) in turns."""
    ids = random_ids(ROWS, TIME)
    models = {policy: anira_model(policy).train() for policy in POLICIES}
    work: dict[str, Callable[[], Any]] = {"stock": _stock_step(ids)}
    for policy, model in models.items():
        work[policy] = _step(model, model, ids)
        if compiled:
            report(f"compiling a step of {policy}")
            work[f"{policy} compiled"] = _step(model, torch.compile(model, fullgraph=True), ids)
    report(f"training steps, {ROWS} x {TIME}: {len(work)} models in turns")
    medians = interleaved_medians(work, repeats=repeats)
    return [_row(policy, model, medians, compiled) for policy, model in models.items()]


def _row(policy: str, model: AniraForCausalLM, medians: dict[str, float], compiled: bool) -> dict[str, Any]:
    executed = torch.full((ROWS, TIME), MAX_DEPTH)
    cost = forward_cost(model.config, model.policy, executed)
    # The stock model has 8 layers and no decider; otherwise the two compute the same.
    flop_ratio = cost.flops / (cost.flops - cost.decision_flops)
    time_ratio = medians[policy] / medians["stock"]
    row = {
        "what": f"training step {policy}, {ROWS} x {TIME}",
        "seconds": medians[policy],
        "time_ratio_to_stock": time_ratio,
        "flop_ratio_to_stock": flop_ratio,
        "ratio": time_ratio / flop_ratio,
        "bar": BAR,
        "met": time_ratio <= BAR * flop_ratio,
    }
    if compiled:
        row["compiled_speedup"] = medians[policy] / medians[f"{policy} compiled"]
    return row


def _step(model: AniraForCausalLM, call: Any, ids: Tensor) -> Callable[[], None]:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    valid = torch.ones_like(ids, dtype=torch.bool)

    def step() -> None:
        call(ids, labels=ids, valid_mask=valid, noise=_noise(model, ids)).loss.backward()
        _descend(model, optimizer)

    return step


def _noise(model: AniraForCausalLM, ids: Tensor) -> Tensor:
    rows, positions = (torch.arange(size) for size in ids.shape)
    return uniform_noise(seed=0, step=0, rows=rows, positions=positions, width=model.policy.noise_width)


def _stock_step(ids: Tensor) -> Callable[[], None]:
    model = stock_model(MAX_DEPTH + 2).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def step() -> None:
        model(ids, labels=ids, use_cache=False).loss.backward()
        _descend(model, optimizer)

    return step


def _descend(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
