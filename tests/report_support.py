"""Run folders with records of a made-up model: real instances of a task, planted depths and mistakes.

The planted effect is `slope` iterations of answer depth per unit of the knob, so that a test knows what a report of the
run must say.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from tests.sealing_support import seal_run

from anira.tasks import Rows, Task, task_class

_GOLDEN = (5**0.5 - 1) / 2
SMALL_TASKS: dict[str, dict[str, Any]] = {
    "mano": {"modulus": 5, "min_size": 1, "max_size": 4},
    "brevo": {"min_nodes": 3, "max_nodes": 6},
    "words": {},
    "depo": {"min_nodes": 4, "max_nodes": 6, "max_hops": 3, "eval_sizes": (5, 6), "eval_queries": 2},
    "lano": {"start_symbol": 16, "packed_length": 96},
    "clrs": {"tasks": ("minimum",), "sizes": (4, 5, 7)},
}


@dataclass(frozen=True, kw_only=True)
class FakeRun:
    """What the made-up model is, and what is planted in it."""

    variant: str = "anira-o"
    task: str = "mano"
    seed: int = 0
    knobs: tuple[int, ...] = (1, 2, 3, 4)
    count: int = 60
    max_depth: int = 4
    slope: float = 0.5
    accuracy: float = 0.95
    """At the smallest knob; it falls by a tenth with each unit of the knob."""
    steps: int = 4000
    changes: dict[str, Any] = field(default_factory=dict)
    """Keys of the config that differ from what this module writes."""

    @property
    def subtask(self) -> str:
        return "minimum" if self.task == "clrs" else ""

    @property
    def policy(self) -> dict[str, Any]:
        adaptive = self.variant.startswith("anira")
        return {"name": self.variant, "gamma": 0.01, "base": 1.5} if adaptive else {"name": "fixed"}


def write_run(root: Path, run: FakeRun, *, evaluation: str = "final", complete: bool = True) -> Path:
    """Write a run folder and return its path; the same arguments write the same bytes."""
    config = SMALL_TASKS[run.task]
    folder = root / f"{run.task}-{run.variant}-cpu" / f"0123abcd-s{run.seed}"
    (folder / "records" / evaluation).mkdir(parents=True)
    _write_json(folder / "config.json", _config(run, config))
    lines = [json.dumps(line) for line in _metrics(run)]
    (folder / "metrics.jsonl").write_text("\n".join(lines) + "\n")
    _write_records(folder / "records" / evaluation, run, _task(run.task, config), complete=complete)
    return seal_run(folder)


def _write_json(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=2) + "\n")


def _task(name: str, config: dict[str, Any]) -> Task:
    cls = task_class(name)
    return cls(cls.Config(**config))


def _config(run: FakeRun, task_config: dict[str, Any]) -> dict[str, Any]:
    config = {
        "preset": f"{run.task}-{run.variant}-cpu",
        "variant": run.variant,
        "task": run.task,
        "task_config": task_config,
        "model": {"hidden_size": 64, "max_depth": run.max_depth, "policy": run.policy},
        "seed": run.seed,
        "steps": run.steps,
        "batch_size": 128,
        "learning_rate": 0.002,
        "warmup_steps": 100,
        "gamma_warmup_steps": run.steps // 2,
    }
    versions = {"anira": "0.1.0", "python": "3.11.2", "torch": "2.13.0"}
    return {"config": {**config, **run.changes}, "versions": versions, "git": "e23a470", "platform": "Linux x86_64"}


def _metrics(run: FakeRun) -> list[dict[str, Any]]:
    """Training lines every twentieth of the run and evaluations every tenth, hard knobs learned later."""
    lines: list[dict[str, Any]] = []
    adaptive = run.policy["name"] != "fixed"
    for i in range(1, 21):
        step = run.steps * i // 20
        gamma = {"gamma": 0.01 * min(1.0, step / (run.steps / 2)), "compute": 0.3} if adaptive else {}
        lines.append({"kind": "train", "step": step, "loss": 2.0 / i, "ce": 1.8 / i, "accuracy": 1 - 1 / i, **gamma})
        if i % 2 == 0:
            lines += [_eval_line(run, step, i, knob, adaptive=adaptive) for knob in run.knobs]
    return lines


def _eval_line(run: FakeRun, step: int, i: int, knob: int, *, adaptive: bool) -> dict[str, Any]:
    easy = knob - run.knobs[0]
    final = _mean_depth(run, knob) if adaptive else float(run.max_depth)
    depth = final + (run.max_depth - final) * np.exp(-i / 5)
    expected = {"expected_depth_answer": depth} if adaptive else {}
    accuracy = (run.accuracy - 0.1 * easy) / (1 + np.exp(3 * easy - i))
    return {
        "kind": "eval",
        "step": step,
        "knob": knob,
        "n": 200,
        "accuracy": float(np.clip(accuracy, 0, 1)),
        "depth_answer": depth,
        "depth_prompt": 1.5,
        **expected,
    }


def _mean_depth(run: FakeRun, knob: int) -> float:
    return float(np.clip(1.5 + run.slope * (knob - run.knobs[0]), 1, run.max_depth))


def _write_records(folder: Path, run: FakeRun, task: Task, *, complete: bool) -> None:
    knobs = {run.subtask: list(run.knobs)} if run.subtask else list(run.knobs)
    facts = {"step": run.steps, "knobs": knobs, "n": run.count, "select": "median", "threshold": None}
    more = {"decode": "parallel", "override": "", "records_version": 1, "complete": complete}
    _write_json(folder / "evaluation.json", {**facts, **more})
    for number, knob in enumerate(run.knobs):
        rng = np.random.default_rng([run.seed, knob, *run.variant.encode()])
        rows = task.rows(seed=0, stream="eval", start=0, count=run.count, knob=knob)
        tables = [_instance(run, task, rows, i, number, rng) for i in range(run.count)]
        instances = pl.DataFrame([row for row, _ in tables], schema_overrides=_INSTANCE_TYPES)
        tokens = pl.DataFrame([row for _, rows in tables for row in rows], schema_overrides=_TOKEN_TYPES)
        place = f"{run.subtask}-k{knob:03d}" if run.subtask else f"k{knob:03d}"
        instances.write_parquet(folder / f"instances-{place}.parquet")
        tokens.write_parquet(folder / f"tokens-{place}.parquet")


_INSTANCE_TYPES = {
    "threshold": pl.Float64,
    "seen_in_training": pl.Boolean,
    "num_tokens": pl.Int32,
}
_TOKEN_TYPES = {
    "position": pl.Int32,
    "input_id": pl.Int32,
    "target_id": pl.Int32,
    "predicted_id": pl.Int32,
    "correct": pl.Boolean,
    "exit_depth": pl.Int16,
    "executed": pl.Int16,
    "expected_depth": pl.Float32,
    "exit_probs": pl.List(pl.Float32),
    "margin": pl.Float32,
}


def _instance(
    run: FakeRun, task: Task, rows: Rows, i: int, number: int, rng: np.random.Generator
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the instance record and the token records of row i, the number-th knob's."""
    knob, shown = int(rows.knob[i]), task.instance(rows, i)
    keys = {"run_id": f"0123abcd-s{run.seed}", "step": run.steps, "instance_id": number * run.count + i}
    right = bool(rng.random() < run.accuracy - 0.1 * (knob - run.knobs[0]))
    tokens = _tokens(run, task, rows, i, rng, right=right)
    answer = [token for token in tokens if token["target_kind"] == "answer"]
    executed, most = sum(token["executed"] for token in tokens), len(tokens) * run.max_depth
    record = {
        **keys,
        "task": run.task,
        "subtask": run.subtask,
        "knob": knob,
        "split": task.knob.split(knob),
        "variant": run.variant,
        "seed": run.seed,
        "select": "median",
        "threshold": None,
        "decode": "parallel",
        "override": "",
        "correct": right,
        "lenient_correct": right,
        "question": shown.question,
        "answer": shown.answer,
        "predicted": task.vocab.decode([token["predicted_id"] for token in answer]),
        "seen_in_training": None,
        "num_tokens": len(tokens),
        "iterations": executed,
        "full_iterations": most,
        "decisions": executed if run.variant == "anira-o" else len(tokens),
        "flops": 1000 * executed,
        "full_flops": 1000 * most,
        "kv_slots": executed,
        "full_kv_slots": most,
        **{f"meta_{name}": value for name, value in shown.meta.items()},
    }
    return record, [{**keys, "knob": knob, **token} for token in tokens]


def _tokens(
    run: FakeRun, task: Task, rows: Rows, i: int, rng: np.random.Generator, *, right: bool
) -> list[dict[str, Any]]:
    ids, answer = rows.ids(i), set(rows.answer_positions(i))
    wrong_at = None if right else max(answer)
    probes = _aligned_probes(task, rows, i)
    out = []
    for position, token in enumerate(ids):
        target = ids[position + 1] if position + 1 < len(ids) else None
        kind = "none" if target is None else "answer" if position + 1 in answer else "prompt"
        predicted = target if kind == "answer" and position + 1 != wrong_at else int(rng.choice(ids[1:]))
        if position + 1 == wrong_at and predicted == target:
            predicted = ids[0]
        mean = _mean_depth(run, int(rows.knob[i])) if kind == "answer" else 1.5
        # Spread evenly over answers, so that their mean depth is the planted one almost exactly.
        level = (_GOLDEN * (i + position)) % 1 if kind == "answer" else rng.random()
        record = {
            "position": position,
            "input_id": token,
            "input_text": task.vocab.tokens[token],
            "target_id": target,
            "target_kind": kind,
            "predicted_id": predicted,
            "correct": predicted == target if kind == "answer" else None,
            **_depths(run, mean, level, rng),
            **{name: values[position] for name, values in probes.items()},
        }
        out.append(record)
    return out


def _aligned_probes(task: Task, rows: Rows, i: int) -> dict[str, list[float | None]]:
    """Return the scalar probes, each at the position whose depth it is compared with."""
    anchors = {probe.name: probe.anchor for probe in task.probe_specs}
    out = {}
    for name, values in task.probes(rows, i).items():
        if values.ndim == 1:
            moved = values if anchors[name] == "input" else np.append(values[1:], np.nan)
            out[f"probe_{name}"] = [None if np.isnan(value) else float(value) for value in moved]
    return out


def _depths(run: FakeRun, mean: float, level: float, rng: np.random.Generator) -> dict[str, Any]:
    if run.policy["name"] == "fixed":
        nothing = {"expected_depth": None, "exit_probs": None, "margin": None}
        return {"exit_depth": run.max_depth, "executed": run.max_depth, **nothing}
    depth = int(np.clip(int(mean) + (level < mean - int(mean)), 1, run.max_depth))
    scores = -np.abs(np.arange(1, run.max_depth + 1) - depth) + 0.3 * rng.random(run.max_depth)
    probs = np.exp(2 * scores) / np.exp(2 * scores).sum()
    expected = float(probs @ np.arange(1, run.max_depth + 1))
    return {
        "exit_depth": depth,
        "executed": depth,
        "expected_depth": expected,
        "exit_probs": probs.tolist(),
        "margin": float(rng.random()),
    }
