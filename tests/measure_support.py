"""Run folders with planted records: how deep each token goes, how deep it would have to go, and nothing else.

Each instance has three tokens: one of the prompt, one that predicts the answer, and the last. An answer is right
exactly when its depth is at least the required one; its cross-entropy is then 0.05 nats, and else 2.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from anira.evaluation.records import INSTANCE_SCHEMA, TOKEN_SCHEMA, RecordFolder
from anira.records.overrides import forced_depth

Depth = Callable[[int, int], int]
"""Knob and number of an instance -> depth."""


@dataclass(frozen=True, kw_only=True)
class Planted:
    """A made-up run."""

    own: Depth
    """What the policy chooses for the answer token; prompt tokens get depth 1."""
    required: Depth
    variant: str = "planted"
    seed: int = 0
    max_depth: int = 4
    knobs: tuple[int, ...] = (1, 2, 3, 4)
    trained: int = 100
    """The largest knob of training."""
    count: int = 40
    prompt: int = 1
    flops: int = 100
    """Per iteration."""
    virtual: Depth | None = None
    """What it takes to be right with virtual exits, where that is another thing."""
    expects: bool = False
    """Whether it has a distribution over depths: all of it at the depth that is chosen."""

    @property
    def run_id(self) -> str:
        return f"toy-{self.variant}-cpu/{self.max_depth}-s{self.seed}"


def write_run(
    root: Path, run: Planted, overrides: tuple[str, ...] = ("", "depth-1", "depth-2", "depth-3", "depth-4")
) -> Path:
    """Write a run folder with an evaluation for each override; the run's own is called final."""
    folder = root / run.run_id
    for override in overrides:
        write_evaluation(folder / "records" / (override or "final"), run, override)
    return folder


def write_evaluation(
    folder: Path, run: Planted, override: str = "", *, count: int = 0, threshold: float | None = None
) -> Path:
    """Write one evaluation through the package's own writer."""
    count = count or run.count
    labels = {"run_id": run.run_id, "step": 10, "variant": run.variant, "seed": run.seed}
    rule = {"select": "" if threshold is None else "cut", "threshold": threshold, "decode": "parallel"}
    records = RecordFolder(folder)
    records.open({**labels, **rule, "override": override, "knobs": list(run.knobs), "n": count, "batch_size": 8})
    for place, knob in enumerate(run.knobs):
        rows = [_instance(run, knob, i, place * count + i, override) for i in range(count)]
        instances = [{**labels, **rule, "override": override, **row} for row, _ in rows]
        tokens = [{**labels, **token} for _, some in rows for token in some]
        records.write(
            knob,
            pl.DataFrame(instances, schema_overrides=INSTANCE_SCHEMA).select(*INSTANCE_SCHEMA),
            pl.DataFrame(tokens, schema=TOKEN_SCHEMA),
        )
    records.close()
    return folder


def _instance(run: Planted, knob: int, number: int, instance_id: int, override: str) -> tuple[dict, list[dict]]:
    forced = forced_depth(override)
    depths = [run.prompt, run.own(knob, number), run.prompt] if forced is None else [forced] * 3
    required = run.virtual if override == "virtual" and run.virtual is not None else run.required
    right = depths[1] >= required(knob, number)
    executed = [run.max_depth] * 3 if override == "virtual" else depths
    most = 3 * run.max_depth
    instance = {
        "instance_id": instance_id,
        "task": "toy",
        "subtask": "",
        "knob": knob,
        "split": "seen" if knob <= run.trained else "extrapolation",
        "correct": right,
        "lenient_correct": right,
        "question": f"{knob}/{number}",
        "answer": "abcd"[number % 4],
        "predicted": "a" if right else "b",
        "seen_in_training": None,
        "num_tokens": 3,
        "iterations": sum(executed),
        "full_iterations": most,
        "decisions": 3,
        "flops": run.flops * sum(executed),
        "full_flops": run.flops * most,
        "kv_slots": sum(executed),
        "full_kv_slots": most,
    }
    return instance, [_token(run, knob, instance_id, i, depths[i], executed[i], right) for i in range(3)]


def _token(run: Planted, knob: int, instance_id: int, position: int, depth: int, executed: int, right: bool) -> dict:
    answer = position == 1
    probs = [float(one == depth) for one in range(1, run.max_depth + 1)] if run.expects else None
    return {
        "instance_id": instance_id,
        "knob": knob,
        "position": position,
        "input_id": 0,
        "input_text": "x",
        "target_id": None if position == 2 else 1,
        "target_kind": ("prompt", "answer", "none")[position],
        "predicted_id": 1 if right else 0,
        "correct": right if answer else None,
        "exit_depth": depth,
        "executed": executed,
        "expected_depth": float(depth) if run.expects else None,
        "exit_probs": probs,
        "margin": None,
        "ce": 0.05 if right else 2.0,
        "change": 0.01 if right else 0.5,
    }
