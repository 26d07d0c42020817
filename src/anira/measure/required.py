"""Required work, from evaluations with every token forced to one depth: need and oracle depth.

forced depth      1      2      3      4
right?            no     yes    no     yes      oracle depth 4: from there on the answer stays right
"""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import polars as pl

from anira.measure.choice import accuracy_rows
from anira.measure.records.instances import knob_index
from anira.measure.records.reading import Records, RunRecords
from anira.measure.statistics.association import Mean, Spearman
from anira.measure.statistics.bootstrap import resampled
from anira.measure.statistics.estimates import Estimate, Floats
from anira.measure.statistics.nulls import knob_nulls
from anira.measure.tidy import Row, make_row

_PLACE = ("knob", "number", "question")
_OLD: Final = "the records do not have the change of states: evaluate again"


def forced_rows(run: RunRecords) -> Iterator[Row]:
    """Yield the forced-depth curve: accuracy by forced depth and knob."""
    for depth, one in run.forced.items():
        for row in accuracy_rows(one, "forced_accuracy", f"depth-{depth}"):
            yield {**row, **{name: getattr(run.main.labels, name) for name in ("select", "threshold", "decode")}}


def settled_rows(run: RunRecords) -> Iterator[Row]:
    """Yield how many of the tokens have come to rest when everyone has run all iterations."""
    main = run.main
    full = run.forced.get(main.max_depth)
    if full is None or full.settled is None:
        why = f"no evaluation with every token forced to depth {main.max_depth}" if full is None else _OLD
        yield from undefined_rows(main, why, "settled")
        return
    total = sum(full.depths.values())
    yield make_row(main.labels, "settled", Estimate(full.settled / total), n=total)


def need_rows(run: RunRecords, *, rng: np.random.Generator, draws: int) -> Iterator[Row]:
    """Yield what forcing every token to depth 1 loses at the hardest knob of training.

    It is held against the policy's own depths or against full depth, whichever is right more often.
    """
    main, hardest = run.main, run.main.hardest
    if 1 not in run.forced or hardest is None:
        lacking = "no evaluation with every token forced to depth 1 (anira evaluate RUN --depth 1)"
        why = lacking if hardest is not None else "no knob of training"
        yield from undefined_rows(main, why, "need", knob=hardest)
        return
    others = [main] + [one for depth, one in run.forced.items() if depth == main.max_depth > 1]
    table = _joined([run.forced[1], *others]).filter(pl.col("knob") == hardest)
    gains = [
        table[f"correct_{i}"].cast(pl.Int64) - table["correct_0"].cast(pl.Int64) for i in range(1, len(others) + 1)
    ]
    best = max(gains, key=lambda gain: gain.sum())
    yield make_row(main.labels, "need", instance_mean(best.to_numpy(), table, rng, draws), n=len(table), knob=hardest)


def oracle_rows(run: RunRecords, *, rng: np.random.Generator, draws: int) -> Iterator[Row]:
    """Yield the mean oracle depth by knob and over knobs, and the Spearman correlation of answer depth with it."""
    main, missing = run.main, missing_depths(run)
    if missing:
        yield from undefined_rows(main, missing, "oracle_depth", "spearman_oracle")
        return
    table = oracle_depths(run)
    defined = table.filter(pl.col("oracle_depth").is_not_null())
    lost = len(table) - len(defined)
    caveat = f"{lost} of {len(table)} instances are wrong at full depth and have no oracle depth" if lost else ""
    for knob in [*knob_index(table)[0], None]:
        part = defined if knob is None else defined.filter(pl.col("knob") == knob)
        estimate = instance_mean(part["oracle_depth"].to_numpy(), part, rng, draws)
        yield make_row(main.labels, "oracle_depth", estimate, n=len(part), knob=knob, reason=caveat)
    yield _spearman(main, defined, caveat, rng, draws)


def exit_rows(run: RunRecords, *, rng: np.random.Generator, draws: int) -> Iterator[Row]:
    """Yield accuracy with virtual exits, and what real exits have more or less of it on the same instances."""
    rules = {(one.labels.select, one.labels.threshold): one for one in run.virtual}
    for own in run.own:
        virtual = rules.get((own.labels.select, own.labels.threshold))
        if virtual is not None:
            yield from accuracy_rows(virtual, "virtual_accuracy")
            table = _joined([virtual, own])
            gap = table["correct_1"].cast(pl.Int64) - table["correct_0"].cast(pl.Int64)
            yield make_row(
                own.labels, "real_less_virtual", instance_mean(gap.to_numpy(), table, rng, draws), n=len(table)
            )
        elif own is run.main:
            yield from undefined_rows(own, "no evaluation with virtual exits", "virtual_accuracy", "real_less_virtual")


def oracle_depths(run: RunRecords) -> pl.DataFrame:
    """Return each instance at a knob of training with its answer depth and its oracle depth, null where it has none."""
    table = _joined([run.main, *run.forced.values()])
    right = table.select(f"correct_{i + 1}" for i in range(len(run.forced))).to_numpy().astype(bool)
    stays = np.logical_and.accumulate(right[:, ::-1], axis=1).sum(axis=1)  # how many of the largest depths are right
    depths = np.array([*run.forced, 0])[len(run.forced) - stays]
    oracle = pl.Series(depths).cast(pl.Int64)
    return table.with_columns(oracle_depth=pl.when(pl.Series(stays > 0)).then(oracle))


def _spearman(main: Records, table: pl.DataFrame, caveat: str, rng: np.random.Generator, draws: int) -> Row:
    oracle = table["oracle_depth"].to_numpy().astype(np.float64)
    depth = table["depth"].to_numpy().astype(np.float64)
    names = ("oracle depth", "depth")
    statistic = Spearman(oracle, depth, np.arange(len(depth)), len(depth), names=names)
    estimate = Estimate(None, reason=statistic.undefined)
    if len(table) > 1:
        estimate = resampled(statistic, table["knob"].to_numpy(), rng=rng, draws=draws)
    null = knob_nulls(oracle, depth, rng=rng)[1] if estimate.value is not None else None
    reason = "" if estimate.value is None else caveat
    return make_row(main.labels, "spearman_oracle", estimate, n=len(table), null=null, reason=reason)


def _joined(evaluations: Sequence[Records]) -> pl.DataFrame:
    """Return the instances at knobs of training that all evaluations have: `correct_0`, `correct_1`, ... and `depth`.

    `depth` is the mean answer depth in the first one.
    """
    depth = (pl.col("answer_depth") / pl.col("answer_tokens")).alias("depth")
    table = evaluations[0].seen.select(*_PLACE, depth, pl.col("correct").alias("correct_0"))
    for i, one in enumerate(evaluations[1:], start=1):
        table = table.join(one.seen.select(*_PLACE, pl.col("correct").alias(f"correct_{i}")), on=_PLACE)
    return table.sort("knob", "number")


def undefined_rows(one: Records, reason: str, *names: str, knob: int | None = None) -> Iterator[Row]:
    """Yield quantities that cannot be told, and why."""
    return (make_row(one.labels, name, Estimate(None, reason=reason), n=0, knob=knob) for name in names)


def missing_depths(run: RunRecords) -> str:
    """Say which forced depths were not evaluated, if any."""
    absent = [str(depth) for depth in range(1, run.main.max_depth + 1) if depth not in run.forced]
    return f"no evaluation with every token forced to depth {', '.join(absent)}" if absent else ""


def instance_mean(
    sums: Floats | np.ndarray,
    table: pl.DataFrame,
    rng: np.random.Generator,
    draws: int,
    counts: np.ndarray | None = None,
) -> Estimate:
    """Return a mean over instances with its bootstrap interval, resampled within knobs."""
    if table.is_empty():
        return Estimate(None, reason="no such instances")
    ones = np.ones(len(table)) if counts is None else counts
    index = knob_index(table)[1]
    return resampled(Mean(sums, ones, undefined="no such instances"), index, rng=rng, draws=draws)
