"""The page: accuracy and depth by knob beyond training, for every variant, and ANIRA-O beside the others."""

from dataclasses import replace
from typing import Final, cast

import altair as alt
import polars as pl

from anira.measure.claims.extrapolation import judge_generalisation
from anira.measure.extrapolation import BEYOND
from anira.paper.found import Found
from anira.site import ChartPart, Page, Section, TablePart
from anira.site.by_knob import ACCURACY, DEPTH, KnobTask, knob_chart_part, numbers_table
from anira.site.charts import Legend, interval_part, labelled
from anira.site.style import GREY
from anira.site.tables import MEANS, Column, estimate_table
from anira.site.verdicts import WORDS, claim_note, claims_badge, shown, verdict_lines

ONLINE: Final = "anira-o"
RIVALS: Final = ("anira-e", "fixed")
"""Those that the paper says ANIRA-O keeps its accuracy longer than."""
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
_PAIR_COLUMNS: Final = (Column("accuracy_above", "accuracy"), Column("depth_above", "answer depth"))
_EDGE: Final = f"{MEANS} Drops are differences of accuracy between neighbouring sizes."
_CONTROL: Final = (
    "Slope: iterations for one more of the knob. R2: share of the variance of answer depth that means by position, by "
    "knob, or by both explain, over all sizes."
)
_PAIRS: Final = {name: f"{WORDS[ONLINE]} less {WORDS[name]}" for name in RIVALS}
_PLACES: Final = {"seen": "of training", "extrapolation": "beyond training"}
_DROP: Final = {
    "supported": "Accuracy drops where training ends in {}.",
    "contradicted": "Accuracy does not drop where training ends in {}.",
}
_GRACEFUL: Final = {
    "supported": "Beyond training ANIRA-O keeps more accuracy: {}.",
    "contradicted": "Beyond training ANIRA-O does not keep more accuracy: {}.",
    "inconclusive": "There is no verdict yet on whether ANIRA-O keeps more accuracy: {}.",
    "not testable": "Whether ANIRA-O keeps more accuracy cannot be judged: {}.",
}


def make_page(found: Found) -> Page:
    """Return the page."""
    adaptive, graceful = found.claims["no-generalisation"], found.claims["o-degrades-gracefully"]
    drops = [claim for name in WORDS for claim in judge_generalisation(found.runs.filter(variant=name))]
    end = limit(found)
    task = KnobTask(
        name="by",
        title="All",
        knob=found.words["knob"],
        runs=found.runs,
        seeds=found.seeds,
        legend=Legend(WORDS, grey=WORDS["fixed"]),
        edge=None if end is None else end + 0.5,
    )
    depths = _table(found, _DEPTHS, "Depth against the knob", _CONTROL)
    edge = _table(found, _DROPS, "Accuracy at the edge", _EDGE)
    return Page(
        title="Does accuracy drop beyond the sizes of training?",
        badge=claims_badge(adaptive),
        answer=[*verdict_lines(adaptive, _DROP), *verdict_lines(graceful, _GRACEFUL)],
        lead=_accuracy(found, task),
        verdicts=[claim_note(claim) for claim in (*drops, *graceful)],
        sections=[
            Section(title="Where training ends", parts=[edge]),
            _rivals(found),
            Section(title="Depth beyond training", parts=[knob_chart_part(task, DEPTH), depths]),
            Section(title="All numbers", parts=[numbers_table(task)]),
        ],
    )


def limit(found: Found) -> int | None:
    """Return the largest knob of training, where all runs share it and something beyond it was evaluated."""
    ends = found.runs.filter(quantity="drop_beyond").drop_nulls("value")["knob"].unique()
    return int(ends[0]) if len(ends) == 1 else None


def _accuracy(found: Found, task: KnobTask) -> ChartPart:
    """Return accuracy by knob with the share of the commonest answer, which is the same for all runs."""
    part = knob_chart_part(task, ACCURACY)
    rows = found.seeds.filter(quantity="majority", subset="all").drop_nulls("knob")
    commonest = alt.Chart(rows.unique("knob").sort("knob").select("knob", "value"))
    guess = commonest.mark_line(color=GREY, strokeDash=[2, 3]).encode(x=alt.X("knob:Q"), y=alt.Y("value:Q"))
    said = "Dotted: always giving the commonest answer. The paper prints no values for its figure."
    chart = alt.layer(cast("alt.LayerChart", part.chart), guess)
    return replace(part, title="Accuracy by size", chart=chart, caption=f"{part.caption} {said}")


def _table(found: Found, columns: tuple[Column, ...], title: str, caption: str) -> TablePart:
    return estimate_table(found.seeds, shown(found.seeds, WORDS), columns, title=title, caption=caption)


def _rivals(found: Found) -> Section:
    """Return ANIRA-O less each other variant on the same instances."""
    title = "ANIRA-O beside the others on the same instances"
    rows = found.both.filter(pl.col("knob").is_null(), quantity="accuracy_above", split="extrapolation")
    chart = interval_part(
        labelled(rows, {(name,): words for name, words in _PAIRS.items()}, ["subset"]),
        name="rivals",
        title="Accuracy beyond training",
        axis="difference of accuracy beyond training, share of instances",
        order=_PAIRS.values(),
    )
    if chart is None:
        return Section(title=title, text=["No run shares its seed and its instances with a run of ANIRA-O."])
    compared = found.seeds.filter(quantity="accuracy_above").select("subset", "split", "knob", "n")
    subjects = {
        (_PAIRS[rival], f"largest, {knob}" if knob is not None else _PLACES[split], seeds): {
            "subset": rival,
            "split": split,
            "knob": knob,
        }
        for rival, split, knob, seeds in compared.iter_rows()
    }
    first = ("pair", "sizes", "seeds")
    table = "Differences on the same instances"
    return Section(
        title=title, parts=[chart, estimate_table(found.seeds, subjects, _PAIR_COLUMNS, title=table, first=first)]
    )
