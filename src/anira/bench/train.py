"""A training step of both policies beside one of an 8-layer stock Llama, and what compiling gains.

Also how much of the machine's speed a step of the paper's MANO model reaches, counting tokens that are not padding.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from anira.bench.subjects import MAX_DEPTH, anira_model, mano_model, random_ids, stock_model
from anira.inference import forward_cost
from anira.inference.timing import interleaved_medians
from anira.models import AniraForCausalLM, uniform_noise
from anira.tasks import Rows, make_task

ROWS, TIME = 8, 128
BAR = 1.10
MANO_ROWS, MANO_PARTS, GEMM = 64, 4, 1024
SPEED_BAR = 0.5
POLICIES = ("anira-e", "anira-o")


def bench_train(*, repeats: int, compiled: bool, report: Callable[[str], None]) -> list[dict[str, Any]]:
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
    rows = [_row(policy, model, medians, compiled) for policy, model in models.items()]
    report(f"training steps of the paper's MANO model, {MANO_ROWS} rows, beside a matrix product")
    return rows + _mano_rows(repeats)


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


def _mano_rows(repeats: int) -> list[dict[str, Any]]:
    """Measure steps at the paper's MANO shape in turns with a plain float32 matrix product."""
    task = make_task("mano")
    rows = task.rows(seed=0, stream="train", start=0, count=MANO_ROWS)
    order = np.argsort(rows.lengths, kind="stable").reshape(MANO_PARTS, -1)  # as a run with accumulation does
    parts = [rows.take(index) for index in order]
    models = {policy: mano_model(policy, len(task.vocab)).train() for policy in POLICIES}
    square = torch.randn(GEMM, GEMM, generator=torch.Generator().manual_seed(0))
    work: dict[str, Callable[[], Any]] = {"gemm": lambda: square @ square}
    work |= {policy: _mano_step(model, parts) for policy, model in models.items()}
    medians = interleaved_medians(work, repeats=repeats)
    gemm = 2 * GEMM**3 / medians["gemm"] / 1e9
    return [_mano_row(policy, model, parts, medians[policy], gemm) for policy, model in models.items()]


def _mano_step(model: AniraForCausalLM, parts: list[Rows]) -> Callable[[], None]:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    batches = [(_long(part.input_ids), _long(part.labels), _valid(part)) for part in parts]

    def step() -> None:
        for ids, labels, valid in batches:
            model(ids, labels=labels, valid_mask=valid, noise=_noise(model, ids)).loss.backward()
        _descend(model, optimizer)

    return step


def _long(ids: Any) -> Tensor:
    return torch.as_tensor(ids, dtype=torch.long)


def _valid(rows: Rows) -> Tensor:
    return torch.arange(rows.input_ids.shape[1]) < torch.as_tensor(rows.lengths)[:, None]


def _mano_row(policy: str, model: AniraForCausalLM, parts: list[Rows], seconds: float, gemm: float) -> dict[str, Any]:
    """A step is three forward passes: the backward pass is two, with respect to inputs and to weights."""
    flops = 0
    for part in parts:
        executed = torch.full(part.input_ids.shape, model.config.max_depth)
        flops += 3 * forward_cost(model.config, model.policy, executed, valid=_valid(part)).flops
    achieved = flops / seconds / 1e9
    return {
        "what": f"training step {policy}, MANO of the paper, batch {MANO_ROWS} in {MANO_PARTS} parts by length",
        "seconds": seconds,
        "share_of_padding": 1 - sum(int(part.lengths.sum()) for part in parts) / sum(p.input_ids.size for p in parts),
        "gflops_without_padding": achieved,
        "gemm_gflops": gemm,
        "ratio": achieved / gemm,
        "bar": SPEED_BAR,
        "met": achieved >= SPEED_BAR * gemm,
    }
