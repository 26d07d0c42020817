"""GSM-Symbolic from records: accuracy by split, its spread over data sets, depth, and the fixed-depth curve.

    quantity         knob  subset          value            what it is
    accuracy         0     all             0.463            Main, 100 templates; interval clustered by template
    accuracy         0     shared          0.471            Main, on the 50 templates that P2 has too
    spread           0     all             0.028            standard deviation over the 50 data sets
    depth            0     answer          4.108            mean over answer tokens
    spearman_knob    null  shared          -0.01            answer depth against split, on the shared templates
    forced_accuracy  0     depth-4         0.459            every token forced to depth 4
    above_curve      0     all             +0.002           accuracy minus the fixed-depth curve's at equal depth

Templates are the unit of every interval: see clusters.py.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
from scipy import stats

from anira.config import UserError
from anira.measure.construction import explained
from anira.measure.records.instances import instance_means
from anira.measure.records.reading import Records, RunRecords, read_runs
from anira.measure.statistics.association import Slope, Spearman
from anira.measure.statistics.bootstrap import DRAWS, bootstrap
from anira.measure.statistics.clusters import OfClusters, clustered_mean, clustered_share
from anira.measure.statistics.estimates import LEVEL, Estimate
from anira.measure.statistics.nulls import Null, knob_nulls
from anira.measure.tidy import Row, make_row, make_table

TASK: Final = "gsm-symbolic"
SUBSETS: Final = ("all", "shared")
"""All templates, and those that all splits have."""
_NO_SHARED: Final = "the templates of P2 are not known: its file was not there"
_CLASSES: Final = 128
_PLACE: Final = ["knob", "number", "question"]


def measure_gsm_symbolic(
    records: Path | Sequence[Path], *, draws: int = DRAWS, seed: int = 0, runs: Sequence[RunRecords] | None = None
) -> pl.DataFrame:
    """Return the tidy table of evaluations on GSM-Symbolic; `runs` are the records where they are read already."""
    rows: list[Row] = []
    for run in read_gsm_symbolic(records) if runs is None else runs:
        rows += run_rows(run, rng=np.random.default_rng(seed), draws=draws)
    return make_table(map(explained, rows))


def read_gsm_symbolic(records: Path | Sequence[Path]) -> list[RunRecords]:
    """Return the records below some paths; those of another task are refused."""
    runs = list(read_runs(records))
    for run in runs:
        if run.main.labels.task != TASK:
            raise UserError(f"{run.main.labels.run_id} has records of {run.main.labels.task!r}, not of {TASK!r}")
    return runs


def run_rows(run: RunRecords, *, rng: np.random.Generator, draws: int) -> Iterator[Row]:
    """Yield all estimates of one model."""
    yield make_row(run.main.labels, "max_depth", Estimate(float(run.main.max_depth)), n=1)
    for one in run.own:
        yield from accuracy_rows(one)
        yield from spread_rows(one)
        yield from depth_rows(one)
        yield from alignment_rows(one, rng=rng, draws=draws)
        yield from above_rows(one, run.forced)
    for depth, one in run.forced.items():
        for row in accuracy_rows(one, "forced_accuracy", f"depth-{depth}"):
            yield {**row, **{name: getattr(run.main.labels, name) for name in ("select", "threshold")}}


def accuracy_rows(one: Records, name: str = "accuracy", prefix: str = "") -> Iterator[Row]:
    """Yield the share of right answers by split, on all templates and on the shared ones."""
    for subset, knob, part in _parts(one):
        label = subset if not prefix else f"{prefix}{'' if subset == 'all' else ' shared'}"
        estimate = clustered_share(part["correct"].to_numpy().astype(np.float64), _templates(part))
        yield make_row(one.labels, name, _known(estimate, one, subset), n=len(part), knob=knob, subset=label)


def spread_rows(one: Records) -> Iterator[Row]:
    """Yield standard deviation, lowest and highest of the accuracies of data sets: one question of each template.

    The null of the spread is what chance alone gives if the questions of a template are right independently of each
    other, each with the template's own probability.
    """
    for subset, knob, part in _parts(one):
        shares = part.group_by("meta_instance").agg(pl.col("correct").mean())["correct"].to_numpy()
        few = Estimate(None, reason="fewer than two data sets")
        values = {
            "spread": Estimate(float(shares.std(ddof=1))) if len(shares) > 1 else few,
            "lowest": Estimate(float(shares.min())) if len(shares) else few,
            "highest": Estimate(float(shares.max())) if len(shares) else few,
        }
        for name, estimate in values.items():
            null = _spread_null(part, len(shares)) if name == "spread" else None
            known = _known(estimate, one, subset)
            yield make_row(one.labels, name, known, n=len(shares), knob=knob, subset=subset, null=null)


def _spread_null(part: pl.DataFrame, sets: int) -> Null | None:
    """Return the standard deviation that independent answers would have over data sets, and its 95% interval."""
    templates = part.group_by("meta_template").agg(share=pl.col("correct").mean(), count=pl.len())
    if sets < 2 or templates["count"].min() != sets or templates["count"].max() != sets:
        return None  # data sets of different sizes have no common spread
    share = templates["share"].to_numpy()
    variance = float((share * (1 - share)).sum()) * sets / (sets - 1) / len(share) ** 2
    low, high = stats.chi2.ppf([(1 - LEVEL) / 2, (1 + LEVEL) / 2], sets - 1) / (sets - 1)
    mean, least, most = (float(np.sqrt(variance * scale)) for scale in (1.0, low, high))
    return Null(mean, least, most)


def depth_rows(one: Records) -> Iterator[Row]:
    """Yield mean exit depth over answer tokens, and over tokens of the question, by split."""
    for subset, knob, part in _parts(one):
        for kind in ("answer", "prompt"):
            estimate = clustered_mean(
                part[f"{kind}_depth"], part[f"{kind}_tokens"], _templates(part), undefined=f"no {kind} tokens"
            )
            label = kind if subset == "all" else f"{kind} shared"
            yield make_row(one.labels, "depth", _known(estimate, one, subset), n=len(part), knob=knob, subset=label)


def alignment_rows(one: Records, *, rng: np.random.Generator, draws: int) -> Iterator[Row]:
    """Yield slope and Spearman of answer depth over the split, templates resampled with all their questions."""
    for subset in SUBSETS:
        table = _subset(one, subset)
        depth = instance_means(table, "exit_depth")
        table, depth = table.filter(pl.Series(~np.isnan(depth))), depth[~np.isnan(depth)]
        knob = table["knob"].to_numpy().astype(np.float64)
        names = ("split", "depth")
        _, template = np.unique(_templates(table), return_inverse=True)
        number = np.arange(len(knob))
        statistics = {
            "slope": OfClusters(Slope(knob, depth, names=names), template),
            "spearman_knob": OfClusters(
                Spearman(knob, depth, number, len(knob), names=names, classes=_CLASSES), template
            ),
        }
        whole = len(np.unique(knob)) > 1 and len(np.unique(template)) > 1
        strata = np.zeros(len(np.unique(template)), dtype=np.int64)
        found = bootstrap(statistics, strata, rng=rng, draws=draws) if whole else {}
        nulls = knob_nulls(knob, depth, rng=rng) if whole else (None, None)
        for name, null in zip(statistics, nulls, strict=True):
            estimate = found[name][0] if whole else Estimate(None, reason="fewer than two splits, or two templates")
            yield make_row(one.labels, name, _known(estimate, one, subset), n=len(knob), null=null, subset=subset)


def above_rows(one: Records, curve: Mapping[int, Records], *, of: str = "") -> Iterator[Row]:
    """Yield accuracy minus that of fixed depths at the same mean answer depth, on the same questions.

    The curve is linear between neighbouring depths. `of` names the model that it belongs to, if it is another one.
    """
    for subset, knob, part in _parts(one):
        label = subset if not of else f"{subset}, curve of {of}"
        estimate = _above(part, curve)
        yield make_row(one.labels, "above_curve", _known(estimate, one, subset), n=len(part), knob=knob, subset=label)


def _above(part: pl.DataFrame, curve: Mapping[int, Records]) -> Estimate:
    tokens = int(part["answer_tokens"].sum())
    if not tokens or not curve:
        return Estimate(None, reason="no fixed-depth curve: use --depth" if tokens else "no answer tokens")
    depth = int(part["answer_depth"].sum()) / tokens
    low, high = int(np.floor(depth)), int(np.ceil(depth))
    absent = [at for at in (low, high) if at not in curve]
    if absent:
        return Estimate(None, reason=f"the fixed-depth curve has no depth {absent[0]}")
    table = part.select(*_PLACE, "meta_template", own=pl.col("correct").cast(pl.Float64))
    for name, at in (("low", low), ("high", high)):
        other = curve[at].instances.select(*_PLACE, pl.col("correct").cast(pl.Float64).alias(name))
        table = table.join(other, on=_PLACE)
    if len(table) < len(part):
        return Estimate(None, reason="the fixed-depth curve has other questions")
    share = depth - low
    gain = table["own"] - (1 - share) * table["low"] - share * table["high"]
    return clustered_mean(gain, np.ones(len(gain)), _templates(table), undefined="no questions")


def _parts(one: Records) -> Iterator[tuple[str, int, pl.DataFrame]]:
    """Yield the questions of each subset and split."""
    for subset in SUBSETS:
        table = _subset(one, subset)
        for knob in one.instances["knob"].unique().sort():
            yield subset, int(knob), table.filter(pl.col("knob") == knob)


def _subset(one: Records, subset: str) -> pl.DataFrame:
    return one.instances if subset == "all" else one.instances.filter(pl.col("meta_shared") == 1)


def _known(estimate: Estimate, one: Records, subset: str) -> Estimate:
    """Say why there are no shared templates, where that is so."""
    unknown = subset == "shared" and one.instances["meta_shared"].null_count() > 0
    return Estimate(None, reason=_NO_SHARED) if unknown else estimate


def _templates(table: pl.DataFrame) -> np.ndarray:
    return table["meta_template"].to_numpy()
