"""The paper's table of LANO: whether expected depth follows the parser's work, over tokens that a model wrote.

A probe of token t stands at the position that predicts it, so its own depth there is the primary alignment. The shifted
one takes the depth one position later, where token t is read:

    input        <bos>  3    1    2    1
    probe of       3    1    2    1    .
    depth         d0   d1   d2   d3   d4      predicts: (3, d0) (1, d1) ...      reads: (3, d1) (1, d2) ...
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from anira.config import UserError
from anira.measure.records.instances import LABELS
from anira.measure.records.loading import Evaluation, load_evaluation
from anira.measure.statistics.association import Mean
from anira.measure.statistics.bootstrap import DRAWS, Statistic, bootstrap
from anira.measure.statistics.estimates import Estimate, Floats, Ints, proportion
from anira.measure.statistics.nulls import Null
from anira.measure.statistics.partial import GivenGroup, GivenPosition
from anira.measure.statistics.within import Pairs, mean_of_defined, shuffled_nulls, within_instances
from anira.measure.summary import Labels, labels_of
from anira.measure.untrained import UNTRAINED, Untrained, untrained_correlations
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
ALIGNMENTS: Final = ("predicts", "reads")


@dataclass(frozen=True, kw_only=True)
class ProxyCorrelation:
    """Spearman of expected depth with one proxy."""

    token_set: str
    """grammatical: tokens of strings that are sentences; possible: of any string, before its first impossible one."""
    alignment: str
    """predicts: depth at the position that predicts the token; reads: at the position whose input it is."""
    proxy: str
    tokens: int
    sentences: int
    """Strings that these tokens belong to."""
    pooled: Estimate
    """Over all tokens, as in the paper."""
    given_position: Estimate
    """The same, the position of the token held fixed (a partial rank correlation)."""
    given_input: Estimate
    """The same among positions that read the same token: without it, a depth that follows nothing but the last token
    correlates with whatever the last token says about the parse."""
    within: Estimate
    """The mean over strings of the correlation within each."""
    null_pooled: Null | None
    """Pooled, with depth shuffled within strings: what differences between strings alone give. May be off zero."""
    null_within: Null | None
    """Within, with depth shuffled within strings: must cover zero."""
    untrained: Untrained
    """What freshly initialised models have on the same tokens; empty where none has read them."""


@dataclass(frozen=True, kw_only=True)
class LanoFigures:
    """What the records of one run's strings say."""

    labels: Labels
    strings: int
    ended: Estimate
    """Share of the strings that came to <eos>."""
    grammatical: Estimate
    """Share of the strings that are sentences of the language."""
    tokens: int
    possible_tokens: int
    """Tokens before the first impossible one of their string."""
    depth: Estimate
    """Mean expected depth at the positions that predict tokens."""
    cross_entropy: Estimate
    """Nats for each token, <eos> included, on held-out sentences of the language."""
    correlations: tuple[ProxyCorrelation, ...]
    warnings: tuple[str, ...]

    def row(self, token_set: str, alignment: str, proxy: str) -> ProxyCorrelation:
        """Return one row of the table."""
        keys = (token_set, alignment, proxy)
        return next(row for row in self.correlations if (row.token_set, row.alignment, row.proxy) == keys)


def lano_figures(
    strings: Path, held_out: Path, untrained: Path | None = None, *, seed: int = 0, draws: int = DRAWS
) -> LanoFigures:
    """Compute the table from two evaluations of a run: strings that it wrote, and true sentences that it read.

    `untrained` has the depths that untrained models gave the same strings (untrained.py).
    """
    written, read = load_evaluation(strings), load_evaluation(held_out)
    instances = _strings(written)
    tokens = _tokens(written, instances, untrained)
    rng, null_rng, entropy_rng = np.random.default_rng(seed).spawn(3)
    rows, depth = _correlations(tokens, len(instances), rng=rng, null_rng=null_rng, draws=draws)
    return LanoFigures(
        labels=labels_of(written, instances),
        strings=len(instances),
        ended=proportion(int(instances["meta_ended"].sum()), len(instances)),
        grammatical=proportion(int(instances["correct"].sum()), len(instances)),
        tokens=int(instances["meta_tokens"].sum()),
        possible_tokens=int(instances["meta_possible_tokens"].sum()),
        depth=depth,
        cross_entropy=_cross_entropy(read, rng=entropy_rng, draws=draws),
        correlations=tuple(rows),
        warnings=(*written.warnings, *read.warnings),
    )


def _strings(evaluation: Evaluation) -> pl.DataFrame:
    needed = ("meta_tokens", "meta_possible_tokens", "meta_ended")
    known = evaluation.instances.collect_schema().names()
    if missing := [name for name in needed if name not in known]:
        raise UserError(f"{evaluation.folder} has no {', '.join(missing)}: it is no evaluation of sampled sentences")
    columns = [*LABELS, "instance_id", "correct", "num_tokens", "full_iterations", *needed]
    return evaluation.collect(evaluation.instances.select(columns).sort("instance_id").with_row_index("instance"))


def _untrained(path: Path) -> pl.DataFrame:
    try:
        return open_tables(path).collect()
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"cannot read {path}: {reason}; remove it, and it is measured again") from error


def _tokens(evaluation: Evaluation, instances: pl.DataFrame, untrained: Path | None) -> pl.DataFrame:
    """Return the tokens of the strings in order, with all depths, the proxies, and the sets that they belong to."""
    names = [f"probe_{name}" for name in PROXIES]
    if missing := [name for name in PROXIES if name not in evaluation.probes]:
        raise UserError(f"{evaluation.folder} has no probe {', '.join(missing)}: it is no evaluation of LANO")
    depth = pl.col("expected_depth").cast(pl.Float64)
    tokens = evaluation.tokens.select("instance_id", "position", "input_id", depth, *names)
    moved = ["expected_depth", "input_id"]
    if untrained is not None:
        others = _untrained(untrained)
        moved += [name for name in others.columns if name.startswith(UNTRAINED)]
        tokens = tokens.join(others.lazy(), on=["instance_id", "position"], how="left")
    frame = evaluation.collect(
        tokens.join(
            instances.lazy().select("instance", "instance_id", "correct", "meta_possible_tokens"), on="instance_id"
        )
        .sort("instance", "position")
        .with_columns(pl.col(moved).shift(-1).over("instance").name.prefix("next_"))
        .filter(pl.col(names[0]).is_not_null())
    )
    if frame["expected_depth"].null_count():
        raise UserError(f"{evaluation.folder} has no expected depth: its policy has no distribution over depths")
    if untrained is not None and any(frame[name].null_count() for name in moved):
        raise UserError(f"{untrained} has not the depths of all tokens of {evaluation.folder}: remove it")
    # The token that position p predicts is number p of its string, counted from 0.
    return frame.with_columns(
        pl.col("instance").cast(pl.Int64),
        grammatical=pl.col("correct"),
        possible=pl.col("position") < pl.col("meta_possible_tokens"),
    )


@dataclass(frozen=True)
class _Case:
    """One row of the table before it is computed."""

    token_set: str
    alignment: str
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
                yield _Case(token_set, alignment, pairs, position, input_id, untrained)


def _correlations(
    tokens: pl.DataFrame, strings: int, *, rng: np.random.Generator, null_rng: np.random.Generator, draws: int
) -> tuple[list[ProxyCorrelation], Estimate]:
    """Return the rows of the table, and the mean depth; strings are resampled, all of them together."""
    cases = list(_cases(tokens))
    statistics: dict[str, Statistic] = {"depth": _mean(tokens["instance"], tokens["expected_depth"], strings)}
    for i, case in enumerate(cases):
        statistics[f"pooled {i}"] = GivenPosition(case.pairs, case.position, strings)
        statistics[f"given input {i}"] = GivenGroup(case.pairs, case.input_id, strings)
        statistics[f"within {i}"] = mean_of_defined(within_instances(case.pairs, strings))
    found = bootstrap(statistics, np.zeros(strings, dtype=np.int64), rng=rng, draws=draws)
    full = [case.pairs for case in cases if len(case.pairs.x)]
    nulls = iter(shuffled_nulls(full, null_rng))
    rows = []
    for i, case in enumerate(cases):
        null_pooled, null_within = next(nulls) if len(case.pairs.x) else (None, None)
        rows.append(
            ProxyCorrelation(
                token_set=case.token_set,
                alignment=case.alignment,
                proxy=case.pairs.probe,
                tokens=len(case.pairs.x),
                sentences=len(np.unique(case.pairs.instance)),
                pooled=found[f"pooled {i}"][0],
                given_position=found[f"pooled {i}"][1],
                given_input=found[f"given input {i}"][0],
                within=found[f"within {i}"][0],
                null_pooled=null_pooled,
                null_within=null_within,
                untrained=untrained_correlations(case.pairs, case.untrained, case.input_id),
            )
        )
    return rows, found["depth"][0]


def _cross_entropy(evaluation: Evaluation, *, rng: np.random.Generator, draws: int) -> Estimate:
    if "ce" not in evaluation.tokens.collect_schema():
        return Estimate(None, reason="the records are of version 1, without cross-entropy: evaluate again")
    answers = evaluation.tokens.filter(pl.col("target_kind") == "answer").select("instance_id", "ce")
    frame = evaluation.collect(answers.sort("instance_id", maintain_order=True))
    instance = frame["instance_id"].rank("dense").cast(pl.Int64) - 1
    strings = int(instance.n_unique())
    statistic = _mean(instance, frame["ce"].cast(pl.Float64), strings)
    return bootstrap({"ce": statistic}, np.zeros(strings, dtype=np.int64), rng=rng, draws=draws)["ce"][0]


def _mean(instance: pl.Series, values: pl.Series, num_instances: int) -> Mean:
    """Return the mean over tokens, as a function of instance weights."""
    own = instance.to_numpy()
    sums = np.bincount(own, weights=values.to_numpy(), minlength=num_instances)
    counts = np.bincount(own, minlength=num_instances)
    return Mean(sums, counts, np.zeros(num_instances, dtype=np.int64), 1, undefined="no such tokens")
