"""The page: differences between ways of credit at the same price, and what each way learned."""

from typing import Final

import polars as pl

from anira.paper.credit.pairs import ALONE, GAMMAS, PAIRS, WAYS, priced
from anira.paper.credit.verdicts import answer, badge, verdicts
from anira.paper.found import Found
from anira.site import Page, Section, TablePart
from anira.site.charts import interval_part
from anira.site.tables import MEANS, Column, estimate_table

_PAIRED: Final = (
    Column("accuracy_difference", "accuracy"),
    Column("depth_difference", "expected depth"),
    Column("slope_difference", "slope"),
)
_LEARNED: Final = (
    Column("accuracy", "accuracy"),
    Column("expected_depth", "expected depth", "answer"),
    Column("expected_slope", "slope"),
    Column("depth", "exit depth", "answer"),
)


def make_page(found: Found) -> Page:
    """Return the page."""
    return Page(
        title="Same prior, different credit: does it matter how the loss of an exit reaches the decider?",
        badge=badge(found),
        answer=answer(found),
        lead=interval_part(
            found.both.filter(quantity="depth_difference").with_columns(pl.col("variant").alias("label")),
            name="depth",
            title="Expected depth of one way of credit minus that of the other, at the same price and seed",
            axis="iterations",
        ),
        verdicts=verdicts(found),
        sections=[Section(title="All ways of credit", parts=[_differences(found), _learned(found)], open=True)],
    )


def _differences(found: Found) -> TablePart:
    lines = {(pair.name, f"{gamma:g}"): {"variant": priced(pair.name, gamma)} for pair in PAIRS for gamma in GAMMAS}
    return estimate_table(
        found.seeds,
        lines,
        _PAIRED,
        title="Differences",
        first=("pair", "gamma"),
        caption=f"{MEANS} Differences are taken seed by seed. Slopes are iterations per letter, of expected depth.",
        heads=["seeds"],
        more=lambda labels: [found.row("depth_difference", **labels)["n"]],
    )


def _learned(found: Found) -> TablePart:
    lines = {(words, f"{gamma:g}"): {"variant": priced(way, gamma)} for way, words in WAYS.items() for gamma in GAMMAS}
    lines[("Ouro, exact, its own prior", "")] = {"variant": ALONE}
    return estimate_table(
        found.seeds,
        lines,
        _LEARNED,
        title="What was learned",
        first=("way of credit", "gamma"),
        caption=MEANS,
        heads=["seeds"],
        more=lambda labels: [found.row("accuracy", **labels)["n"]],
    )
