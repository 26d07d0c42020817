"""Run folders of made-up trainings: when each size is learned, and how depth goes, is planted."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from tests.sealing_support import seal_run
from tests.unit.measure.records_support import Plan, write_evaluation, write_run

from anira.measure.tidy import Labels

LABELS = Labels(
    run_id="mano-anira-o-cpu/1-s0",
    task="mano",
    subtask="",
    variant="anira-o",
    policy="anira-o",
    seed=0,
    step=1200,
    select="median",
    threshold=None,
    decode="parallel",
)
STEPS = tuple(range(100, 1300, 100))


@dataclass(frozen=True, kw_only=True)
class Training:
    """What to plant. Majority is about 0.25, so that a size is learned at an accuracy of about 0.63."""

    learned: dict[int, float] = field(default_factory=lambda: {1: 150.0, 2: 450.0, 3: 850.0})
    """Knob -> step at which its accuracy is half way up from 0.25 to 1."""
    depth: tuple[tuple[float, float], ...] = ((0, 2.0), (0.2, 3.5), (0.4, 3.5), (1, 2.5))
    """Corners of the line that depth follows: share of the training, depth."""
    noise: float = 0.05
    """Standard deviation of the depth of one batch."""
    accuracy: float = 0.9
    """That of the last records."""
    warm_up: int = 0
    seed: int = 0
    variant: str = "anira-o"
    steps: tuple[int, ...] = STEPS
    instances: int = 200
    kept: tuple[int, ...] = ()
    """Steps of which there are records."""


def accuracies(training: Training, rng: np.random.Generator) -> dict[int, np.ndarray]:
    """Return accuracy by knob and step: instance i is right where its own threshold is below the curve."""
    found = {}
    for knob, middle in training.learned.items():
        curve = 0.25 + 0.75 / (1 + np.exp(-(np.array(training.steps) - middle) / 60))
        luck = rng.random(training.instances)
        found[knob] = (luck[:, None] < curve).mean(0)
    return found


def batch_depths(training: Training, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return the depth of `count` logged batches."""
    shares, depths = zip(*training.depth, strict=True)
    return np.interp(np.arange(count) / (count - 1), shares, depths) + training.noise * rng.normal(size=count)


def metric_lines(training: Training) -> list[dict]:
    """Return what metrics.jsonl would hold: ten batches for each evaluation."""
    rng = np.random.default_rng(training.seed)
    every = max(1, training.steps[0] // 10)
    logged = range(every, training.steps[-1] + 1, every)
    lines = [
        {"kind": "train", "step": step, "depth_answer": float(depth), "gamma": 0.01}
        for step, depth in zip(logged, batch_depths(training, len(logged), rng), strict=True)
    ]
    for knob, curve in accuracies(training, rng).items():
        for step, accuracy in zip(training.steps, curve, strict=True):
            depths = {"depth_answer": 2.0 + step / 1000, "expected_depth_answer": 2.25}
            counted = {"n": training.instances, "accuracy": float(accuracy)}
            lines.append({"kind": "eval", "step": step, "knob": knob, **counted, **depths})
    return lines


def write_training(folder: Path, training: Training) -> Path:
    """Write a run folder and return it."""
    same = {"knobs": tuple(training.learned), "variant": training.variant, "seed": training.seed}
    plan = Plan(n=60, accuracy=training.accuracy, step=training.steps[-1], **same)
    write_run(folder, plan)
    for step in training.kept:
        write_evaluation(folder / "records" / f"step-{step:06d}", Plan(n=training.instances, step=step, **same))
    config = json.loads((folder / "config.json").read_text())
    config["config"]["gamma_warmup_steps"] = training.warm_up
    (folder / "config.json").write_text(json.dumps(config))
    write_metrics(folder, metric_lines(training))
    return seal_run(folder)


def write_metrics(folder: Path, lines: Sequence[dict]) -> None:
    """Write metrics.jsonl."""
    (folder / "metrics.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
