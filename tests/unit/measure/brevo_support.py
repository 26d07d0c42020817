"""Synthetic records of BREVO with a law of depth planted in them; no graph is behind the features."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl
from tests.sealing_support import seal_evaluation

from anira.measure.brevo.tokens import AnswerTokens, read_answer_tokens
from anira.measure.records.loading import load_evaluation
from anira.measure.records.reading import read_records

MAX_DEPTH = 40  # no planted depth reaches it
START = 10  # position of <ans>, which predicts the first node


@dataclass(frozen=True, kw_only=True)
class Graphs:
    """What to plant."""

    sizes: tuple[int, ...] = (3, 4, 5, 6)
    n: int = 100
    """Instances a size."""
    size_effect: float = 0.3
    bump: float = 0.0
    """Depth more at every second size: what a line through N cannot follow."""
    effects: Mapping[str, float] = field(default_factory=dict)
    """Depth for one more of a probe."""
    position_effect: float = 0.0
    noise: float = 0.3
    instance_noise: float = 0.3
    """Spread of what the tokens of an instance share."""
    accuracy: float = 0.9
    flat: bool = False
    """Depth is the same everywhere."""
    variant: str = "anira-e"
    seed: int = 0
    step: int = 100
    task: str = "brevo"
    draw: int = 0


def write_graphs(folder: Path, plan: Graphs) -> Path:
    """Write an evaluation folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.parquet"):
        old.unlink()
    asked = {"step": plan.step, "knobs": list(plan.sizes), "n": plan.n, "override": "", "records_version": 2}
    rng = np.random.default_rng(plan.draw)
    for i, size in enumerate(plan.sizes):
        tokens = _tokens(plan, size, i * plan.n, rng)
        tokens.write_parquet(folder / f"tokens-k{size:03d}.parquet")
        _instances(plan, size, tokens, rng).write_parquet(folder / f"instances-k{size:03d}.parquet")
    return seal_evaluation(folder, {**asked, "complete": True})


def read_graphs(folder: Path, plan: Graphs) -> AnswerTokens:
    """Write an evaluation and read its answer tokens."""
    return read_answer_tokens(read_records(load_evaluation(write_graphs(folder, plan))))


def change(folder: Path, kind: str, edit) -> None:
    """Change the tables of one kind, `tokens` or `instances`, in all files."""
    for path in folder.glob(f"{kind}-*.parquet"):
        edit(pl.read_parquet(path)).write_parquet(path)
    seal_evaluation(folder)


def _tokens(plan: Graphs, size: int, first: int, rng: np.random.Generator) -> pl.DataFrame:
    nodes = rng.integers(2, size, size=plan.n, endpoint=True)
    instance = np.repeat(np.arange(plan.n), nodes + 1)  # and <eos>
    place = np.concatenate([np.arange(count + 1) for count in nodes])
    is_node = place < nodes[instance]
    probes = _probes(size, nodes[instance], place, rng)
    depth = 12 + plan.size_effect * size + plan.bump * (size % 2) + plan.position_effect * place
    depth = depth + sum(effect * probes[name] for name, effect in plan.effects.items())
    depth = depth + rng.normal(scale=plan.instance_noise, size=plan.n)[instance]
    depth = depth + rng.normal(scale=plan.noise, size=len(place))
    depth = np.full(len(place), 3.0) if plan.flat else depth
    most = np.clip(np.round(depth), 1, MAX_DEPTH).astype(int)
    position = START + place
    count = np.where(is_node, probes["in_degree"], 0).astype(int)
    before = [list(range(end - size, end)) for end, size in zip(position.tolist(), count.tolist(), strict=True)]
    answers = pl.DataFrame(
        {
            "instance_id": first + instance.astype(np.int64),
            "knob": np.full(len(place), size),
            "position": position.astype(np.int32),
            "target_kind": ["answer"] * len(place),
            "exit_depth": most.astype(np.int16),
            "executed": most.astype(np.int16),
            "expected_depth": depth.astype(np.float32),
            "exit_probs": pl.Series(np.eye(MAX_DEPTH, dtype=np.float32)[most - 1]).arr.to_list(),
            "predecessor_positions": pl.Series(before, dtype=pl.List(pl.Int32)),
            **{
                f"probe_{name}": pl.Series(np.where(is_node, values, np.nan)).fill_nan(None).cast(pl.Float32)
                for name, values in probes.items()
            },
        }
    )
    return pl.concat([answers, _question(answers)], how="diagonal").sort("instance_id", "position")


def _question(answers: pl.DataFrame) -> pl.DataFrame:
    """Return the positions before <ans>, all of depth 1."""
    positions = pl.DataFrame({"position": pl.Series(range(START), dtype=pl.Int32)})
    flat = {"exit_depth": pl.lit(1, pl.Int16), "executed": pl.lit(1, pl.Int16), "expected_depth": pl.lit(1, pl.Float32)}
    probs = pl.lit(pl.Series([[1.0] + [0.0] * (MAX_DEPTH - 1)], dtype=pl.List(pl.Float32))).first()
    ids = answers.select("instance_id", "knob").unique(maintain_order=True)
    return ids.join(positions, how="cross").with_columns(target_kind=pl.lit("prompt"), exit_probs=probs, **flat)


def _probes(size, nodes, place, rng) -> dict[str, np.ndarray]:
    def drawn(low, high):
        return rng.integers(low, high, size=len(place)).astype(float)

    hub, ready = drawn(0, 4), drawn(1, 5)
    return {
        "num_nodes": np.full(len(place), float(size)),
        "out_degree_dep": hub,
        "out_degree_with_query": hub + (drawn(0, 4) == 0),
        "in_degree": np.minimum(place, drawn(0, 4)).astype(float),
        "remaining": (nodes - 1 - place).astype(float),
        "dfs_depth": drawn(1, 5),
        "frontier_ready": ready,
        "frontier_stack": ready + drawn(0, 4),
        "newly_enabled": drawn(0, 3),
        "distance_to_query": drawn(1, 5),
    }


def _instances(plan, size, tokens, rng) -> pl.DataFrame:
    correct = rng.random(plan.n) < plan.accuracy
    same = {"subtask": "", "split": "seen", "select": "mode", "decode": "parallel", "override": "", "task": plan.task}
    counts = ("iterations", "decisions", "flops", "full_flops", "kv_slots")
    lengths = tokens.group_by("instance_id", maintain_order=True).agg(num_tokens=pl.len().cast(pl.Int64))
    return pl.DataFrame(
        {
            **lengths.to_dict(),
            "full_iterations": lengths["num_tokens"] * MAX_DEPTH,
            "answer": [f"n{value:02d}" for value in rng.integers(0, 50, size=plan.n)],
            "correct": correct,
            "lenient_correct": correct,
        }
    ).with_columns(
        *(pl.lit(value).alias(name) for name, value in {**same, "variant": plan.variant}.items()),
        *(pl.lit(1, dtype=pl.Int64).alias(name) for name in (*counts, "full_kv_slots")),
        pl.lit(f"brevo/{plan.variant}-s{plan.seed}").alias("run_id"),
        pl.lit(size, dtype=pl.Int64).alias("knob"),
        pl.lit(plan.seed, dtype=pl.Int64).alias("seed"),
        pl.lit(plan.step, dtype=pl.Int64).alias("step"),
        pl.lit(None, dtype=pl.Float64).alias("threshold"),
        pl.lit(None, dtype=pl.Boolean).alias("seen_in_training"),
    )
