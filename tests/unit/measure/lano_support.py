"""Synthetic records of strings that a model wrote, with effects planted in them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from tests.sealing_support import seal_evaluation

from anira.measure.lano import PROXIES
from anira.measure.untrained import UNTRAINED

MAX_DEPTH = 1000  # no planted depth is far from its half


@dataclass(frozen=True, kw_only=True)
class Strings:
    """What to plant."""

    n: int = 60
    length: int = 20
    """Mean number of tokens of a string."""
    effect: float = 0.0
    """Depth for one more of every proxy of the token that is predicted."""
    reading_effect: float = 0.0
    """Depth for one more of every proxy of the token that is read."""
    token_effect: float = 0.0
    """Depth for one more of the id of the token that is read; the proxies then follow that token too."""
    position_effect: float = 0.0
    """Depth, and every proxy, for one more of the position."""
    impossible: int = 0
    """Strings, the first ones, whose second half is impossible."""
    variant: str = "anira-e"
    seed: int = 0
    draw: int = 0


def write_strings(folder: Path, plan: Strings) -> Path:
    """Write an evaluation of sampled strings."""
    rng = np.random.default_rng(plan.draw)
    lengths = rng.integers(plan.length // 2, 3 * plan.length // 2, size=plan.n)
    parts = [_string(plan, i, length, rng) for i, length in enumerate(lengths)]
    return _write(folder, plan, _instances(plan, lengths), pl.concat(parts))


def write_untrained(path: Path, strings: Path, effects: Sequence[float], draw: int = 100) -> Path:
    """Write the depths of untrained models, one for each effect of the proxies of the token that is predicted."""
    rng = np.random.default_rng(draw)
    tokens = pl.read_parquet(strings / "tokens-k004.parquet")
    ahead = tokens["probe_ops_mul"].fill_null(0)
    tokens.select(
        "instance_id",
        "position",
        *(
            (effect * ahead + rng.normal(size=len(tokens))).cast(pl.Float32).alias(f"{UNTRAINED}{i}")
            for i, effect in enumerate(effects)
        ),
    ).write_parquet(path)
    return path


def _string(plan: Strings, i: int, length: int, rng: np.random.Generator) -> pl.DataFrame:
    """Return the positions of `<bos> w1 ... wT <eos>`; proxies stand where their token is predicted."""
    position = np.arange(length + 2)
    token = np.concatenate([[4], rng.integers(1, 4, size=length), [5]])
    proxy = rng.integers(0, 9, size=length) + plan.position_effect * position[:length]
    proxy = proxy + (4 * token[:length] if plan.token_effect else 0)
    ahead = np.concatenate([proxy, [0, 0]])
    behind = np.concatenate([[0], proxy, [0]])
    depth = plan.effect * ahead + plan.reading_effect * behind + plan.token_effect * token
    depth = MAX_DEPTH / 2 + depth + plan.position_effect * position + rng.normal(size=length + 2)
    probes = {f"probe_{name}": pl.Series([*proxy, None, None], dtype=pl.Float32) for name in PROXIES}
    return pl.DataFrame(
        {
            "instance_id": np.full(length + 2, i),
            "knob": np.full(length + 2, 4),
            "position": position.astype(np.int32),
            "input_id": token.astype(np.int32),
            "target_kind": ["answer"] * (length + 1) + ["none"],
            "exit_depth": np.ones(length + 2, dtype=np.int16),
            "executed": np.ones(length + 2, dtype=np.int16),
            "expected_depth": pl.Series(depth, dtype=pl.Float32),
            "ce": pl.Series([*rng.exponential(size=length + 1), None], dtype=pl.Float32),
            **probes,
        }
    )


def _instances(plan: Strings, lengths: np.ndarray) -> pl.DataFrame:
    index = np.arange(plan.n)
    broken = index < plan.impossible
    names = ("iterations", "decisions", "flops", "full_flops", "kv_slots")
    words = {
        "run_id": f"lano/{plan.variant}-s{plan.seed}",
        "task": "lano",
        "subtask": "",
        "split": "seen",
        "variant": plan.variant,
    }
    more = {"select": "mode", "decode": "generated", "override": "", "answer": ""}
    return pl.DataFrame(
        {
            "instance_id": index,
            "knob": np.full(plan.n, 4),
            "seed": np.full(plan.n, plan.seed),
            "step": np.full(plan.n, 100),
            "correct": ~broken,
            "lenient_correct": ~broken,
            "meta_tokens": lengths,
            "meta_possible_tokens": np.where(broken, lengths // 2, lengths),
            "meta_ended": np.ones(plan.n, dtype=np.int64),
            "num_tokens": lengths + 2,
            "full_iterations": (lengths + 2) * MAX_DEPTH,
            **{name: np.ones(plan.n, dtype=np.int64) for name in (*names, "full_kv_slots")},
        }
    ).with_columns(
        *(pl.lit(value).alias(name) for name, value in {**words, **more}.items()),
        pl.lit(None, dtype=pl.Float64).alias("threshold"),
        pl.lit(None, dtype=pl.Boolean).alias("seen_in_training"),
    )


def _write(folder: Path, plan: Strings, instances: pl.DataFrame, tokens: pl.DataFrame) -> Path:
    folder.mkdir(parents=True)
    asked = {"records_version": 2, "step": 100, "knobs": [4], "n": plan.n, "complete": True}
    instances.write_parquet(folder / "instances-k004.parquet")
    tokens.write_parquet(folder / "tokens-k004.parquet")
    return seal_evaluation(folder, asked)
