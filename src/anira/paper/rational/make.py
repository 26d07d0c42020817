"""The study from finished runs to its page."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from anira.measure import DRAWS, Row, make_table
from anira.measure.rational import rational_rows
from anira.measure.records.reading import read_runs
from anira.paper.found import Found, found_in, measure_labelled
from anira.paper.outcome import write_figure
from anira.paper.policies.runs import Comparison, label
from anira.paper.policies.runs import plan as policy_plan
from anira.paper.rational.page import make_page
from anira.paper.rational.verdicts import GAP, OTHER_PRICES, priced
from anira.paper.runs import REGISTERED, evaluate_planned, forced_evaluations, unfinished
from anira.paper.setting import Outcome, Setting
from anira.sweeps.plan import PlannedRun

NAME: Final = "rational"
SEEDS: Final = 3
POLICIES: Final = (
    *("anira-o", "anira-e", "pondernet", "act", "calm", "mor-expert", "mor-token", "huginn", "ouro", "universal"),
    *("depth-adaptive", "mixture-of-depths", "think-at-hard", "oracle-head", "confidence", "random"),
)
"""Those of plans/p6-policies.toml that choose depth per token."""


def reproduce(setting: Setting) -> Outcome:
    """Make rational.html, .json and .csv."""
    planned = plan(setting.scale)
    runs, folders = evaluate_planned(
        planned, setting, records=lambda _, run: forced_evaluations(run, setting, REGISTERED)
    )
    most = max(run.config.model["max_depth"] for run in planned)
    found = measured(folders, dict(zip(folders, (label(run, most) for run in planned), strict=True)))
    return write_figure(setting, NAME, make_page(found), found.tables(NAME), runs=runs)


def missing(setting: Setting) -> list[PlannedRun]:
    """Return the runs that have to be trained first."""
    return unfinished(plan(setting.scale), setting)


def plan(scale: str) -> list[PlannedRun]:
    """Return the runs: each policy with each seed, and second stages."""
    return policy_plan(Comparison(task="words", policies=POLICIES, seeds=SEEDS, scale=scale))


def measured(folders: Mapping[str, Sequence[Path]], labels: Mapping[str, str], *, draws: int = DRAWS) -> Found:
    """Measure the runs, and regret at the other prices; `labels` has the line of each run, by run id."""
    table = measure_labelled("words", folders, labels, draws=draws)
    others = make_table(_at_other_prices([folder for own in folders.values() for folder in own], draws))
    name = pl.col("run_id").replace_strict(labels).alias("variant")
    return found_in(pl.concat([table, others.with_columns(pl.lit("words").alias("task"), name)]))


def _at_other_prices(folders: Sequence[Path], draws: int) -> Iterator[Row]:
    for run in read_runs(folders):
        for price in OTHER_PRICES:
            rng, constant_rng = np.random.default_rng(0).spawn(2)
            rows = rational_rows(run, price=price, rng=rng, constant_rng=constant_rng, draws=draws)
            yield from ({**row, "subset": priced(price)} for row in rows if row["quantity"] == GAP)
