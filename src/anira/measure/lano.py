"""Whether expected depth follows the parser's work on LANO, over tokens that a model wrote (the paper's table).

A probe of token t stands at the position that predicts it, so its own depth there is the primary alignment. The shifted
one takes the depth one position later, where token t is read:

    input        <bos>  3    1    2    1
    probe of       3    1    2    1    .
    depth         d0   d1   d2   d3   d4      predicts: (3, d0) (1, d1) ...      reads: (3, d1) (1, d2) ...
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from anira.config import UserError
from anira.measure.records.loading import Evaluation, load_evaluation
from anira.measure.records.reading import Records, read_records
from anira.measure.statistics.association import Mean
from anira.measure.statistics.bootstrap import DRAWS, Statistic, bootstrap, resampled
from anira.measure.statistics.estimates import Estimate, Floats, Ints, proportion
from anira.measure.statistics.partial import GivenGroup, GivenPosition
from anira.measure.statistics.within import Pairs, mean_of_defined, shuffled_nulls, within_instances
from anira.measure.tidy import Row, make_row
from anira.measure.untrained import UNTRAINED, untrained_ranges
from anira.records.opening import open_tables

PROXIES: Final = {
    "active_gamma_slice": "parse-space expansion",
    "active_beta_end": "parse convergence",
    "ops_add": "additions",
    "ops_mul": "multiplications",
    "next_entropy": "next-token entropy",
}
"""Probe -> words: the paper's four proxies of a token's difficulty in its order, and the true entropy before it."""
TOKEN_SETS: Final = ("grammatical", "possible")
"""Tokens of strings that are sentences, and of any string before its first impossible token."""
ALIGNMENTS: Final = ("predicts", "reads")
"""Depth at the position that predicts the token, or at the position whose input it is."""


def subset(token_set: str, alignment: str, proxy: str) -> str:
    """Return the subset of a correlation's row.

    >>> subset("possible", "predicts", "ops_mul")
    'possible/predicts/ops_mul'
    """
    return f"{token_set}/{alignment}/{proxy}"


def lano_rows(
    strings: Path, held_out: Path, untrained: Path | None, *, floor: float, seed: int = 0, draws: int = DRAWS
) -> Iterator[Row]:
    """Yield the rows of a run from two evaluations: strings that it wrote, and true sentences that it read.

    `untrained` has the depths that untrained models gave the same strings (untrained.py); `floor` is the least
    cross-entropy per token that any model can have.
    """
    written = _strings(load_evaluation(strings))
    tokens = _tokens(written, untrained)
    rng, null_rng, entropy_rng = np.random.default_rng(seed).spawn(3)
    yield from _written_rows(written, tokens)
    yield from _work_rows(written, tokens, rng=rng, null_rng=null_rng, draws=draws)
    yield _cross_entropy_row(written, load_evaluation(held_out), rng=entropy_rng, draws=draws)
    yield make_row(written.labels, "entropy_floor", Estimate(floor), n=1)


def _strings(evaluation: Evaluation) -> Records:
    known = evaluation.instances.collect_schema().names()
    if missing := [name for name in ("meta_tokens", "meta_possible_tokens", "meta_ended") if name not in known]:
        raise UserError(f"{evaluation.folder} has no {', '.join(missing)}: it is no evaluation of sampled sentences")
    return read_records(evaluation)


def _written_rows(written: Records, tokens: pl.DataFrame) -> Iterator[Row]:
    """Yield how well the run writes the language."""
    table = written.instances
    row, count = partial(make_row, written.labels), len(table)
    total = int(table["meta_tokens"].sum())
    yield row("sentences", proportion(int(table["correct"].sum()), count), n=count)
    yield row("ended", proportion(int(table["meta_ended"].sum()), count), n=count)
    yield row("possible_tokens", Estimate(int(table["meta_possible_tokens"].sum()) / total), n=total)
    for name in TOKEN_SETS:
        part = tokens.filter(name)
        yield row("strings", Estimate(float(part["instance"].n_unique())), n=len(part), subset=name)


def _tokens(written: Records, untrained: Path | None) -> pl.DataFrame:
    """Return the tokens of the strings in order, with all depths, the proxies, and the sets that they belong to."""
    evaluation = written.evaluation
    names = [f"probe_{name}" for name in PROXIES]
    if missing := [name for name in PROXIES if name not in evaluation.probes]:
        raise UserError(f"{evaluation.folder} has no probe {', '.join(missing)}: it is no evaluation of LANO")
    depth = pl.col("expected_depth").cast(pl.Float64)
    tokens = evaluation.tokens.select("instance_id", "position", "input_id", depth, *names)
    moved = ["expected_depth", "input_id"]
    if untrained is not None:
        others = _read_untrained(untrained)
        moved += [name for name in others.columns if name.startswith(UNTRAINED)]
        tokens = tokens.join(others.lazy(), on=["instance_id", "position"], how="left")
    instances = written.instances.with_row_index("instance").lazy()
    frame = evaluation.collect(
        tokens.join(instances.select("instance", "instance_id", "correct", "meta_possible_tokens"), on="instance_id")
        .sort("instance", "position")
        .with_columns(pl.col(moved).shift(-1).over("instance").name.prefix("next_"))
        .filter(pl.col(names[0]).is_not_null())
    )
    if frame["expected_depth"].null_count():
        raise UserError(f"{evaluation.folder} has no expected depth: its policy has no distribution over depths")
    if untrained is not None and any(frame[name].null_count() for name in moved):
        raise UserError(f"{untrained} lacks depths of tokens of {evaluation.folder}: remove it")
    # The token that position p predicts is number p of its string, counted from 0.
    possible = pl.col("position") < pl.col("meta_possible_tokens")
    return frame.with_columns(pl.col("instance").cast(pl.Int64), grammatical=pl.col("correct"), possible=possible)


def _read_untrained(path: Path) -> pl.DataFrame:
    try:
        return open_tables(path).collect()
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"cannot read {path}: {reason}; remove it, and it is measured again") from error


@dataclass(frozen=True)
class _Case:
    """One proxy on one set of tokens, with what may be held fixed."""

    subset: str
    pairs: Pairs
    position: Floats
    input_id: Ints
    untrained: list[Floats]
    """Depths that untrained models gave these tokens."""


def _cases(tokens: pl.DataFrame) -> Iterator[_Case]:
    for token_set in TOKEN_SETS:
        part = tokens.filter(token_set)
        columns: dict[str, Any] = {name: part[name].to_numpy() for name in part.columns}
        position = columns["position"].astype(np.float64)
        for alignment, shift in zip(ALIGNMENTS, ("", "next_"), strict=True):
            depth, input_id = columns[f"{shift}expected_depth"], columns[f"{shift}input_id"]
            untrained = [columns[name].astype(np.float64) for name in columns if name.startswith(f"{shift}{UNTRAINED}")]
            for proxy in PROXIES:
                probe = columns[f"probe_{proxy}"].astype(np.float64)
                pairs = Pairs(proxy, "expected_depth", probe, depth, columns["instance"])
                yield _Case(subset(token_set, alignment, proxy), pairs, position, input_id, untrained)


def _work_rows(
    written: Records, tokens: pl.DataFrame, *, rng: np.random.Generator, null_rng: np.random.Generator, draws: int
) -> Iterator[Row]:
    """Yield the mean depth and all correlations; strings are resampled, all of them together."""
    strings = len(written.instances)
    cases = list(_cases(tokens))
    statistics: dict[str, Statistic] = {"depth": _mean(tokens["instance"], tokens["expected_depth"], strings)}
    for case in cases:
        statistics[f"pooled {case.subset}"] = GivenPosition(case.pairs, case.position, strings)
        statistics[f"given token {case.subset}"] = GivenGroup(case.pairs, case.input_id, strings)
        statistics[f"within {case.subset}"] = mean_of_defined(within_instances(case.pairs, strings))
    found = bootstrap(statistics, np.zeros(strings, dtype=np.int64), rng=rng, draws=draws)
    nulls = iter(shuffled_nulls([case.pairs for case in cases if len(case.pairs.x)], null_rng))
    yield make_row(written.labels, "expected_depth", found["depth"][0], n=len(tokens), subset="written")
    for case in cases:
        n = len(case.pairs.x)
        row = partial(make_row, written.labels, n=n, subset=case.subset)
        shuffled, shuffled_within = next(nulls) if n else (None, None)
        untrained, untrained_given = untrained_ranges(case.pairs, case.untrained, case.input_id)
        pooled, given_position = found[f"pooled {case.subset}"]
        left = Estimate(None, reason=pooled.reason) if shuffled is None else Estimate(shuffled.mean)
        yield row("work", pooled, null=untrained)
        yield row("work_given_position", given_position)
        yield row("work_given_token", found[f"given token {case.subset}"][0], null=untrained_given)
        yield row("work_within", found[f"within {case.subset}"][0], null=shuffled_within)
        yield row("work_shuffled", left, null=shuffled)


def _cross_entropy_row(written: Records, read: Evaluation, *, rng: np.random.Generator, draws: int) -> Row:
    if "ce" not in read.tokens.collect_schema():
        old = Estimate(None, reason="the records are of version 1, without cross-entropy: evaluate again")
        return make_row(written.labels, "cross_entropy", old, n=0)
    answers = read.tokens.filter(pl.col("target_kind") == "answer").select("instance_id", "ce")
    frame = read.collect(answers.sort("instance_id", maintain_order=True))
    instance = frame["instance_id"].rank("dense").cast(pl.Int64) - 1
    strings = int(instance.n_unique())
    statistic = _mean(instance, frame["ce"].cast(pl.Float64), strings)
    estimate = resampled(statistic, np.zeros(strings, dtype=np.int64), rng=rng, draws=draws)
    return make_row(written.labels, "cross_entropy", estimate, n=len(frame))


def _mean(instance: pl.Series, values: pl.Series, num_instances: int) -> Mean:
    """Return the mean over tokens, as a function of instance weights."""
    own = instance.to_numpy()
    sums = np.bincount(own, weights=values.to_numpy(), minlength=num_instances)
    counts = np.bincount(own, minlength=num_instances)
    return Mean(sums, counts, undefined="no such tokens")
