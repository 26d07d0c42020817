"""The page: the slope of every run where depth is not needed, and how many of them rise."""

from typing import Final

import polars as pl

from anira.paper.found import Found
from anira.paper.without_need.verdicts import EVERY, NULLS_NAME, SETTINGS, answer, badge, slopes, verdicts
from anira.site import Page, Section, TablePart
from anira.site.charts import interval_part
from anira.site.tables import MEANS, Column, estimate_table

_COLUMNS: Final = (
    Column("rising", "runs that rise"),
    Column("slope", "slope"),
    Column("depth", "answer depth", "answer"),
    Column("accuracy", "accuracy"),
)


def make_page(found: Found) -> Page:
    """Return the page."""
    return Page(
        title="Alignment without need: does depth rise where depth 1 would do?",
        badge=badge(found),
        answer=answer(found),
        lead=interval_part(
            _labelled(found),
            name="slopes",
            title="Slope of answer depth over the knob, where depth is not needed",
            axis="iterations per unit of the knob",
        ),
        verdicts=verdicts(found),
        sections=[Section(title="By policy", parts=[_table(found)], open=True)],
    )


def _labelled(found: Found) -> pl.DataFrame:
    setting = pl.col("task").replace(SETTINGS)
    return slopes(found.both).with_columns(pl.concat_str("variant", pl.lit(", "), setting).alias("label"))


def _table(found: Found) -> TablePart:
    lines = slopes(found.seeds).select("task", "variant").unique(maintain_order=True).rows()
    subjects = {(variant, SETTINGS[task]): {"task": task, "variant": variant} for task, variant in lines}
    subjects |= {(name, "all settings"): {"task": EVERY, "variant": name} for name in (EVERY, NULLS_NAME)}
    return estimate_table(
        found.seeds,
        subjects,
        _COLUMNS,
        title="Who rises without need",
        first=("policy", "setting"),
        caption=f"{MEANS} Shares of runs have Wilson intervals.",
        heads=["runs"],
        more=lambda labels: [found.row("rising", **labels)["n"]],
    )
