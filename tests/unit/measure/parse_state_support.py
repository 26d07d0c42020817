"""Records of MANO questions whose depths follow a known law of the parser's state."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
from tests.sealing_support import seal_evaluation, seal_run
from tests.unit.measure.records_support import Plan, make_tables

from anira.measure.choice import accuracy_rows, baseline_rows
from anira.measure.mano.parse_state import parse_state_rows
from anira.measure.mano.work import work_rows
from anira.measure.records.loading import load_evaluation
from anira.measure.records.reading import Records, read_records
from anira.measure.statistics.estimates import Estimate
from anira.measure.tidy import make_row, make_table
from anira.tasks.mano import Mano, ManoConfig

LAW = {
    ("operand", 1, "constant"): 14.0,
    ("operand", 2, "constant"): 13.0,
    ("operator", 0, "constant"): 12.0,
    ("operator", 1, "constant"): 15.0,
    ("operator", 1, "s_t"): 0.6,
    ("operator", 1, "d_t"): 0.25,
    ("operator", 2, "constant"): 12.5,
    ("operator", 2, "d_t"): 0.35,
}
Level = Callable[[pl.DataFrame], np.ndarray]
"""Question tokens -> their depth before noise."""


@dataclass(frozen=True, kw_only=True)
class Questions:
    """What to plant."""

    knobs: tuple[int, ...] = (3, 5, 8)
    n: int = 60
    level: Level | None = None
    """The piecewise law unless given."""
    noise: float = 0.5
    own: float = 0.3
    """Standard deviation of what all tokens of an instance share."""
    accuracy: float = 1.0
    variant: str = "anira-e"
    seed: int = 0
    expected: bool = True
    override: str = ""
    draw: int = 0


def follow_law(tokens: pl.DataFrame) -> np.ndarray:
    """Return the depth that the law gives each token."""
    operator, r, s, d = (
        tokens[f"probe_{name}"].to_numpy()
        for name in ("is_operator", "remaining_operands", "completed_size", "stack_depth")
    )
    first, second = LAW["operator", 1, "constant"], LAW["operator", 2, "constant"]
    right = first + LAW["operator", 1, "s_t"] * s + LAW["operator", 1, "d_t"] * d
    left = second + LAW["operator", 2, "d_t"] * d
    operators = np.select([r == 0, r == 1], [LAW["operator", 0, "constant"], right], left)
    operands = np.where(r == 1, LAW["operand", 1, "constant"], LAW["operand", 2, "constant"])
    return np.where(operator == 1, operators, operands)


def follow_position(tokens: pl.DataFrame) -> np.ndarray:
    """Return a depth that only counts positions."""
    return 12 + 0.4 * tokens["position"].to_numpy()


def follow_nothing(tokens: pl.DataFrame) -> np.ndarray:
    """Return the same depth for all."""
    return np.full(len(tokens), 5.0)


def write_questions(folder: Path, plan: Questions) -> Path:
    """Write an evaluation folder and return it; it lies in a run, as `folder`/records/final."""
    records = folder / "records" / "final"
    records.mkdir(parents=True)
    config = {"config": {"preset": "mano-test", "variant": plan.variant, "seed": plan.seed}}
    (folder / "config.json").write_text(json.dumps(config))
    asked = {"step": 4000, "knobs": list(plan.knobs), "n": plan.n, "records_version": 2, "complete": True}
    rng = np.random.default_rng(plan.draw)
    for i, knob in enumerate(plan.knobs):
        instances, tokens = _tables(plan, knob, i * plan.n, rng)
        instances.write_parquet(records / f"instances-k{knob:03d}.parquet")
        tokens.write_parquet(records / f"tokens-k{knob:03d}.parquet")
    seal_evaluation(records, asked)
    seal_run(folder)
    return records


def _tables(plan: Questions, knob: int, first: int, rng: np.random.Generator) -> tuple[pl.DataFrame, pl.DataFrame]:
    base = Plan(
        max_depth=200,  # no law reaches it
        n=plan.n,
        accuracy=plan.accuracy,
        variant=plan.variant,
        seed=plan.seed,
        override=plan.override,
        seen=plan.knobs,
    )
    instances, tokens = make_tables(base, knob, first, rng)
    tokens = tokens.drop("probe_stack_depth").with_columns(_probes(knob, plan.n))
    question = tokens["probe_is_operator"].is_not_null().to_numpy()
    depth = np.full(len(tokens), 3.0)
    shared = rng.normal(scale=plan.own, size=plan.n)[tokens["instance_id"].to_numpy() - first]
    level = (plan.level or follow_law)(tokens.filter(question))
    depth[question] = level + shared[question] + rng.normal(scale=plan.noise, size=question.sum())
    expected = pl.Series(depth if plan.expected else [None] * len(depth), dtype=pl.Float32)
    most = pl.Series(np.round(depth).astype(np.int16))
    return instances, tokens.with_columns(expected_depth=expected, exit_depth=most, executed=most)


@cache
def _probes(knob: int, n: int) -> list[pl.Series]:
    """Return the probes of n questions; they are the same whatever is planted."""
    task = Mano(ManoConfig(min_size=1))
    rows = task.rows(seed=0, stream="eval", start=0, count=n, knob=knob)
    probes = [task.probes(rows, i) for i in range(n)]
    return [
        pl.Series(f"probe_{name}", np.concatenate([one[name] for one in probes])).fill_nan(None).cast(pl.Float32)
        for name in probes[0]
    ]


def read_questions(folder: Path, plan: Questions) -> Records:
    """Write an evaluation and read it."""
    return read_records(load_evaluation(write_questions(folder, plan)))


def planted_table(folder: Path, plan: Questions, *, need: float = 0.5, draws: int = 2) -> pl.DataFrame:
    """Return the rows of a run in which depth 1 loses `need` at the hardest knob."""
    one = read_questions(folder, plan)
    beside = {"slope": Estimate(0.5), "expected_slope": Estimate(0.4), "need": Estimate(need)}
    return make_table(
        [
            *parse_state_rows(one, draws=draws),
            *work_rows(one),
            *accuracy_rows(one),
            *baseline_rows(one),
            *(make_row(one.labels, name, value, n=1) for name, value in beside.items()),
        ]
    )
