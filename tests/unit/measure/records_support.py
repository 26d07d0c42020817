"""Synthetic records with effects planted in them: what an evaluation would have written, without a model."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from tests.sealing_support import seal_evaluation, seal_run


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What to plant. Rows are laid out like MANO's: the answer is predicted at position 2 * knob + 2."""

    knobs: tuple[int, ...] = (1, 2, 3, 4)
    n: int = 100
    max_depth: int = 6
    slope: float = 0.0
    """Iterations of answer depth for one more of the knob."""
    probe_effect: float = 0.0
    """Iterations of question depth for one more of the probe `stack_depth`."""
    noise: float = 1.0
    accuracy: float = 0.9
    num_values: int = 5
    answers: int = 1
    """Most answer tokens; where above 1, instances have a random number of them."""
    expected: bool = True
    virtual: int = 0
    """Iterations executed beyond the one read out."""
    variant: str = "anira-o"
    seed: int = 0
    step: int = 4000
    override: str = ""
    seen: tuple[int, ...] = (1, 2, 3, 4)
    draw: int = 0
    """Seed of everything random here."""


def write_run(folder: Path, plan: Plan, name: str = "final", **asked) -> Path:
    """Write a run with one evaluation, and return the run's folder."""
    folder.mkdir(parents=True, exist_ok=True)
    config = {"preset": "mano-test", "variant": plan.variant, "seed": plan.seed, "model": {"max_depth": plan.max_depth}}
    (folder / "config.json").write_text(json.dumps({"config": config}))
    write_evaluation(folder / "records" / name, plan, **asked)
    return seal_run(folder)


def write_evaluation(folder: Path, plan: Plan, **asked) -> Path:
    """Write an evaluation folder; `asked` replaces what its evaluation.json says."""
    folder.mkdir(parents=True)
    facts = {"step": plan.step, "knobs": list(plan.knobs), "n": plan.n, "override": plan.override, "records_version": 1}
    rng = np.random.default_rng(plan.draw)
    for i, knob in enumerate(plan.knobs):
        instances, tokens = make_tables(plan, knob, i * plan.n, rng)
        instances.write_parquet(folder / f"instances-k{knob:03d}.parquet")
        tokens.write_parquet(folder / f"tokens-k{knob:03d}.parquet")
    return seal_evaluation(folder, {**facts, "complete": True, **asked})


def write_subtasks(folder: Path, plans: dict[str, Plan], **asked) -> Path:
    """Write an evaluation folder with several subtasks; they share everything but what is planted."""
    folder.mkdir(parents=True)
    plan = next(iter(plans.values()))
    knobs = {name: list(plan.knobs) for name, plan in plans.items()}
    facts = {"step": plan.step, "knobs": knobs, "n": plan.n, "override": plan.override, "records_version": 2}
    first = 0
    for name, plan in plans.items():
        rng = np.random.default_rng(plan.draw)
        for knob in plan.knobs:
            instances, tokens = make_tables(plan, knob, first, rng)
            named = instances.with_columns(subtask=pl.lit(name), task=pl.lit("clrs"))
            named.write_parquet(folder / f"instances-{name}-k{knob:03d}.parquet")
            tokens.write_parquet(folder / f"tokens-{name}-k{knob:03d}.parquet")
            first += plan.n
    return seal_evaluation(folder, {**facts, "complete": True, **asked})


def make_tables(plan: Plan, knob: int, first: int, rng: np.random.Generator) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the instance and token tables of one knob."""
    answers = rng.integers(1, plan.answers + 1, size=plan.n)
    lengths = 2 * knob + 4 + answers  # <bos>, 2 * knob + 1 question tokens, <ans>, the answer, <eos>
    tokens = _tokens(plan, knob, first, answers, lengths, rng)
    return _instances(plan, knob, first, lengths, tokens, rng), tokens


def _tokens(plan, knob, first, answers, lengths, rng):
    instance = np.repeat(np.arange(plan.n), lengths)
    position = np.concatenate([np.arange(length) for length in lengths])
    is_answer = (position >= 2 * knob + 2) & (position < 2 * knob + 2 + answers[instance])
    is_question = (position >= 1) & (position < 2 * knob + 2)
    probe = np.where(is_question, rng.integers(0, 4, size=len(position)), np.nan)
    level = np.where(is_answer, 2 + plan.slope * knob, 2 + plan.probe_effect * np.nan_to_num(probe))
    own = rng.normal(scale=plan.noise / 2, size=plan.n)[instance]  # tokens of an instance share something
    expected = np.clip(level + own + rng.normal(scale=plan.noise, size=len(position)), 1, plan.max_depth)
    exit_depth = np.round(expected).astype(np.int16)
    kind = np.where(position == lengths[instance] - 1, "none", np.where(is_answer, "answer", "prompt"))
    return pl.DataFrame(
        {
            "instance_id": first + instance.astype(np.int64),
            "knob": np.full(len(position), knob),
            "position": position.astype(np.int32),
            "target_kind": kind,
            "exit_depth": exit_depth,
            "executed": np.minimum(exit_depth + plan.virtual, plan.max_depth).astype(np.int16),
            "expected_depth": pl.Series(expected if plan.expected else [None] * len(position), dtype=pl.Float32),
            "probe_stack_depth": pl.Series(probe).fill_nan(None).cast(pl.Float32),
        }
    )


def _instances(plan, knob, first, lengths, tokens, rng):
    iterations = tokens.group_by("instance_id", maintain_order=True).agg(pl.col("executed").cast(pl.Int64).sum())
    executed, full = iterations["executed"].to_numpy(), lengths.astype(np.int64) * plan.max_depth
    correct = rng.random(plan.n) < plan.accuracy
    same = {
        "run_id": f"run-s{plan.seed}",
        "task": "mano",
        "subtask": "",
        "split": "seen" if knob in plan.seen else "extrapolation",
        "variant": plan.variant,
        "select": "median",
        "decode": "parallel",
        "override": plan.override,
    }
    return pl.DataFrame(
        {
            "instance_id": first + np.arange(plan.n),
            "answer": [str(value) for value in rng.integers(0, plan.num_values, size=plan.n)],
            "correct": correct,
            "lenient_correct": correct | (rng.random(plan.n) < 0.1),
            "num_tokens": lengths.astype(np.int32),
            "iterations": executed,
            "full_iterations": full,
            "decisions": executed,
            "flops": 1000 * lengths + 100 * executed,
            "full_flops": 1000 * lengths + 100 * full,
            "kv_slots": executed + lengths,
            "full_kv_slots": full + lengths,
        }
    ).with_columns(
        *(pl.lit(value).alias(name) for name, value in same.items()),
        pl.lit(knob, dtype=pl.Int64).alias("knob"),
        pl.lit(plan.seed, dtype=pl.Int64).alias("seed"),
        pl.lit(plan.step, dtype=pl.Int64).alias("step"),
        pl.lit(None, dtype=pl.Float64).alias("threshold"),
        pl.lit(None, dtype=pl.Boolean).alias("seen_in_training"),
    )
