"""The page: accuracy and depth by knob beyond training, for every variant, and ANIRA-O beside the others."""

from collections.abc import Sequence
from typing import Final

import altair as alt
import polars as pl

from anira.measure.extrapolation import BEYOND
from anira.measure.tidy import find
from anira.paper.extrapolation.measure import NAMES, ONLINE, RIVALS, Found
from anira.site import SMOKE, Cell, ChartPart, Page, Section, TablePart, read_notes
from anira.site.by_knob import ACCURACY, DEPTH, KnobTask, numbers_table
from anira.site.charts import Legend, interval_chart, knob_chart
from anira.site.style import GREY
from anira.site.tables import Column, estimate_cell, estimate_table
from anira.site.verdicts import claim_note, claims_badge, verdict_lines

_MARKS: Final = "Large marks: means over seeds; bands: 95% t intervals; small marks: seeds."
_LEGEND: Final = Legend(NAMES, grey=NAMES["fixed"])
_DROPS: Final = (
    Column("accuracy_hardest", "largest seen"),
    Column("drop_beyond", "drop beyond"),
    Column("drop_within", "last drop within"),
    Column("accuracy", "all beyond", BEYOND),
    Column("majority", "commonest answer, beyond", BEYOND),
)
_DEPTHS: Final = (
    Column("slope", "slope, seen sizes", split="seen"),
    Column("slope", "slope, all sizes", split="all"),
    Column("slope", "slope of right answers, all sizes", "right"),
    Column("spearman_knob", "Spearman, seen sizes", split="seen"),
    Column("r2_position", "R2 of position", "answer"),
    Column("r2_knob", "R2 of the knob", "answer"),
    Column("r2_both", "R2 of both", "answer"),
)
_EDGE: Final = "Means over seeds with 95% t intervals. Drops are differences of accuracy between neighbouring sizes."
_CONTROL: Final = (
    "Slope: iterations for one more of the knob. R2: share of the variance of answer depth that means by position, by "
    "knob, or by both explain, over all sizes."
)
_PAIRS: Final = {name: f"{NAMES[ONLINE]} less {NAMES[name]}" for name in RIVALS}
_PLACES: Final = {"seen": "of training", "extrapolation": "beyond training"}


def make_page(found: Found, *, scale: str, files: Sequence[str]) -> Page:
    """Return the page."""
    edge = Section(title="Where training ends", parts=[_table(found, _DROPS, "Accuracy at the edge", _EDGE)], open=True)
    depth: list[ChartPart | TablePart] = [
        _part(found, DEPTH, _by_knob(found, DEPTH)),
        _table(found, _DEPTHS, "Depth against the knob", _CONTROL),
    ]
    task = KnobTask(name="all", title="All", knob=found.knob, runs=found.runs, seeds=found.seeds, legend=_LEGEND)
    return Page(
        title="Does accuracy drop beyond the sizes of training?",
        badge=claims_badge(found.adaptive, "drop"),
        answer=[*answer(found), *[SMOKE] * (scale == "smoke")],
        lead=_accuracy(found),
        verdicts=[claim_note(claim) for claim in (*found.drops, *found.graceful)],
        sections=[
            edge,
            _rivals(found),
            Section(title="Depth beyond training", parts=depth),
            Section(title="All numbers", parts=[numbers_table(task)]),
            Section(title="How to read this page", notes=read_notes("anira.paper.extrapolation")),
        ],
        files=files,
        command=f"anira reproduce extrapolation --scale {scale}",
    )


def answer(found: Found) -> list[str]:
    """Say where accuracy drops, and whether ANIRA-O keeps more of it."""
    drops = {
        "supported": "Accuracy drops where training ends in {}.",
        "contradicted": "Accuracy does not drop where training ends in {}.",
    }
    graceful = {
        "supported": "Beyond training ANIRA-O keeps more accuracy: {}.",
        "contradicted": "Beyond training ANIRA-O does not keep more accuracy: {}.",
        "inconclusive": "There is no verdict yet on whether ANIRA-O keeps more accuracy: {}.",
        "not testable": "Whether ANIRA-O keeps more accuracy cannot be judged: {}.",
    }
    return [*verdict_lines(found.adaptive, drops), *verdict_lines(found.graceful, graceful)]


def _accuracy(found: Found) -> ChartPart:
    """Return accuracy by knob with the share of the commonest answer, which is the same for all runs."""
    rows = found.seeds.filter(quantity="majority", subset="all").drop_nulls("knob")
    commonest = alt.Chart(rows.unique("knob").sort("knob").select("knob", "value"))
    guess = commonest.mark_line(color=GREY, strokeDash=[2, 3]).encode(x="knob:Q", y="value:Q")
    said = "Dotted: always giving the commonest answer. The paper prints no values for its figure."
    return _part(found, ACCURACY, alt.layer(_by_knob(found, ACCURACY), guess), said)


def _by_knob(found: Found, column: Column) -> alt.LayerChart | alt.FacetChart:
    edge = None if found.limit is None else found.limit + 0.5
    return knob_chart(found.seeds, found.runs, column, legend=_LEGEND, knob=found.knob, edge=edge)


def _part(found: Found, column: Column, chart: alt.TopLevelMixin, said: str = "") -> ChartPart:
    beyond = "Right of the dashed line: larger than in training." if found.limit is not None else ""
    title = f"{column.title[:1].upper()}{column.title[1:]} by size"
    caption = " ".join(filter(None, [_MARKS, beyond, said]))
    return ChartPart(name=column.quantity, title=title, chart=chart, caption=caption)


def _table(found: Found, columns: Sequence[Column], title: str, caption: str) -> TablePart:
    shown = {name: {"variant": variant} for variant, name in NAMES.items() if variant in found.seeds["variant"]}
    return estimate_table(found.seeds, shown, columns, title=title, first="model", caption=caption)


def _rivals(found: Found) -> Section:
    """Return ANIRA-O less each other variant on the same instances."""
    title = "ANIRA-O beside the others on the same instances"
    rows = pl.concat([found.seeds, found.runs]).filter(quantity="accuracy_above", split="extrapolation")
    named = rows.with_columns(pl.col("subset").replace(_PAIRS).alias("label"))
    shown = named.filter(pl.col("knob").is_null()).drop_nulls("value")
    if shown.is_empty():
        return Section(title=title, text=["No run shares its seed and its instances with a run of ANIRA-O."])
    chart = interval_chart(
        shown, order=list(_PAIRS.values()), title="difference of accuracy beyond training, share of instances"
    )
    caption = "Large marks: means over seeds with 95% t intervals; small marks: pairs of runs with the same seed."
    part = ChartPart(name="rivals", title="Accuracy beyond training", chart=chart, caption=caption)
    return Section(title=title, parts=[part, _pairs(found)])


def _pairs(found: Found) -> TablePart:
    columns = [Column("accuracy_above", "accuracy"), Column("depth_above", "answer depth")]
    compared = found.seeds.filter(quantity="accuracy_above").select("subset", "split", "knob", "n")
    rows = []
    for rival, split, knob, seeds in compared.iter_rows():
        place = f"largest, {knob}" if knob is not None else _PLACES[split]
        cells = [find(found.seeds, one.quantity, knob=knob, split=split, subset=rival) for one in columns]
        rows.append([Cell(_PAIRS[rival]), Cell(place), *map(estimate_cell, cells), Cell(str(seeds))])
    head = [Cell("pair"), Cell("sizes"), *(one.head for one in columns), Cell("seeds")]
    return TablePart(title="Differences on the same instances", head=head, rows=rows)
