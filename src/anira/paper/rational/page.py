"""The page: regret of each policy beside the best constant depth, and who stops too early or too late."""

from typing import Final

import polars as pl

from anira.measure import PRICE
from anira.paper.found import Found
from anira.paper.rational.verdicts import GAP, OTHER_PRICES, answer, badge, judged, priced, verdicts
from anira.site import Page, Section, TablePart
from anira.site.by_knob import KnobTask, knob_chart_part
from anira.site.charts import Legend, interval_part
from anira.site.tables import MEANS, Column, estimate_table

_COLUMNS: Final = (
    Column("accuracy", "accuracy"),
    Column("depth", "answer depth", "answer"),
    Column("regret", "regret", "answer"),
    Column("regret_constant", "regret of the best constant", "answer"),
    Column(GAP, f"difference at {PRICE:g}", "answer"),
    *(Column(GAP, f"difference at {price:g}", priced(price)) for price in OTHER_PRICES),
    Column("too_early", "too early", "answer"),
    Column("too_late", "too late", "answer"),
)


def make_page(found: Found) -> Page:
    """Return the page."""
    names = judged(found)
    return Page(
        title="Rational depth: do policies stop where another iteration is not worth its price?",
        badge=badge(found),
        answer=answer(found),
        lead=interval_part(
            _labelled(found),
            name="regret",
            title="Regret of the chosen depths minus that of the best constant depth",
            axis="nats per answer token; left of 0 is more rational than a constant",
            order=names,
        ),
        verdicts=verdicts(found),
        sections=[
            Section(title="All policies alike", parts=[_table(found)], open=True),
            Section(title="Who stops when", parts=[knob_chart_part(_letters(found), one) for one in _COLUMNS[-2:]]),
        ],
    )


def _labelled(found: Found) -> pl.DataFrame:
    rows = found.both.filter(quantity=GAP, subset="answer")
    return rows.with_columns(pl.col("variant").alias("label"))


def _letters(found: Found) -> KnobTask:
    legend = Legend({name: name for name in judged(found)}, "policy")
    return KnobTask(name="words", title="Letters", knob="letters", runs=found.runs, seeds=found.seeds, legend=legend)


def _table(found: Found) -> TablePart:
    return estimate_table(
        found.seeds,
        {name: {"variant": name, "knob": None} for name in judged(found)},
        _COLUMNS,
        title="Regret by policy",
        first="policy",
        caption=f"{MEANS} The best constant depth is chosen on the same tokens, which favours it.",
        heads=["seeds"],
        more=lambda labels: [found.row("accuracy", **labels)["n"]],
    )
