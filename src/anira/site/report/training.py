"""What training looked like: accuracy and depth of each size over steps."""

from collections.abc import Sequence

import altair as alt
import polars as pl

from anira.measure.training.metrics import evaluation_lines
from anira.site.page import ChartPart, Section
from anira.site.report.runs import Run
from anira.site.style import COLOURS, tooltip

_SHOWN = {"accuracy": "accuracy", "depth": "mean answer depth"}


def training_section(runs: Sequence[Run], knob: str) -> Section | None:
    """Return a chart of accuracy and one of depth for each run that was evaluated while it trained; None for none."""
    tables = {run.label: evaluation_lines(run.metrics) for run in runs}
    parts = [
        ChartPart(
            name=f"training-{run.task}-{i}-{column}",
            title=f"{run.label}: {words}",
            chart=_chart(tables[run.label], column, words, knob),
        )
        for i, run in enumerate(runs)
        if tables[run.label]["step"].n_unique() > 1
        for column, words in _SHOWN.items()
    ]
    warmed = any(run.config.get("gamma_warmup_steps") for run in runs)
    text = "The weight of the compute loss was warmed up, which by itself makes depth fall after accuracy has risen."
    return Section(title="During training", text=[text] * warmed, parts=parts) if parts else None


def _chart(table: pl.DataFrame, column: str, words: str, knob: str) -> alt.TopLevelMixin:
    axis = alt.Axis(format="%") if column == "accuracy" else alt.Axis()
    knobs = table["knob"].unique().sort().to_list()
    few = alt.Scale(domain=knobs, range=list(COLOURS[: len(knobs)]))
    colour = alt.Color("knob:O", title=knob, scale=few if len(knobs) <= len(COLOURS) else alt.Scale(scheme="viridis"))
    chart: alt.TopLevelMixin = (
        alt.Chart(table)
        .mark_line(point=True)
        .encode(
            x=alt.X("step:Q", title="optimizer step"),
            y=alt.Y(f"{column}:Q", title=words, axis=axis),
            color=colour,
            tooltip=tooltip("step:Q", "knob:O", "accuracy:Q", "depth:Q", "instances:Q"),
        )
    )
    return chart
