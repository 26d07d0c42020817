"""The page: which sizes are learned first, and whether depth rises and then falls over training."""

from collections.abc import Mapping
from typing import Any, Final

import altair as alt
import polars as pl

from anira.measure import quantity
from anira.measure.tidy import Row, find
from anira.measure.training.dynamics import WARMED
from anira.paper.found import Found
from anira.site import Badge, Cell, ChartPart, Page, Section, TablePart, amount, interval
from anira.site.charts import MARKS, Legend, knob_chart, seed_layers, value_axis
from anira.site.style import GREY, tooltip
from anira.site.tables import MEANS, Column, capital, estimate_table
from anira.site.verdicts import NAMES, claim_note, joint_badge, named, setting_name, verdict_lines

_VARIANTS: Final = {f"{name}{end}": f"{words}{end}" for end in ("", WARMED) for name, words in NAMES.items()}
"""Those with a constant gamma first."""
_CLAIMS: Final = {"easy-to-hard": "easy to hard", "two-phases": "two phases"}
_ANSWERS: Final = {
    "easy-to-hard": {
        "supported": "Smaller sizes are learned first in {}.",
        "contradicted": "Smaller sizes are not learned first in {}.",
        "inconclusive": "There is no verdict yet on the order of sizes in {}.",
        "not testable": "The order of sizes cannot be judged in {}.",
    },
    "two-phases": {
        "supported": "Depth rises and then falls, with accuracy kept, in {}.",
        "contradicted": "Depth does not rise and then fall in {}.",
        "inconclusive": "There is no verdict yet on two phases in {}.",
        "not testable": "Two phases cannot be judged in {}.",
    },
}
_PHASES: Final = (
    Column("start_depth", "start"),
    Column("peak_step", "peak near step"),
    Column("peak_depth", "depth there"),
    Column("end_depth", "end"),
    Column("depth_rise", "rise"),
    Column("depth_fall", "fall"),
    Column("accuracy_kept", "accuracy, end minus peak"),
)
_ORDER: Final = (Column("kendall_order", "Kendall's tau"), Column("order_by_chance", "as good by chance"))
_CURVES: Final = (Column("accuracy", "accuracy"), Column("depth", "mean answer depth", "answer"))
_CAPTIONS: Final = {
    "model": MEANS,
    "run": "Intervals are about other instances and batches of the same training, not about another training.",
}
_DEPTH: Final = Column("block_depth", "mean answer depth of training batches")


def make_page(found: Found) -> Page:
    """Return the page."""
    pairs = settings(found)
    curves = [_curves(found.part(task=task, variant=variant), variant) for task, variant in pairs]
    return Page(
        title="Training: are small sizes learned first, and does depth rise and then fall?",
        badge=badge(found),
        answer=answer(found),
        lead=_lead(found),
        verdicts=[
            claim_note(claim, f"{setting_name(claim)}, {words}")
            for key, words in _CLAIMS.items()
            for claim in found.claims[key]
        ],
        sections=[
            *(_section(found.part(task=task)) for task in dict(pairs)),
            *(section for section in curves if section.parts),
        ],
    )


def badge(found: Found) -> Badge:
    """Say in how many of the settings that can be judged each claim holds."""
    return joint_badge({words: found.claims[key] for key, words in _CLAIMS.items()})


def answer(found: Found) -> list[str]:
    """Say for each claim where it holds, and where that cannot be judged."""
    return [line for key, texts in _ANSWERS.items() for line in verdict_lines(found.claims[key], texts)]


def settings(found: Found) -> list[tuple[str, str]]:
    """Return task and variant of what differs in more than the seed, variants in the order of their names."""
    pairs = found.seeds.select("task", "variant").unique(maintain_order=True).rows()
    return [(task, name) for task in dict(pairs) for name in _VARIANTS if (task, name) in pairs]


def _lead(found: Found) -> ChartPart | None:
    """Return the step at which each size is learned, a line for each setting."""
    if found.runs.filter(quantity="learned_step")["value"].drop_nulls().is_empty():
        return None
    setting = pl.concat_str("task", pl.lit(" "), "variant").alias("variant")
    seeds, runs = (table.with_columns(setting) for table in (found.seeds, found.runs))
    names = {f"{task} {name}": f"{task.upper()} {named(name)}" for task, name in settings(found)}
    chart = knob_chart(
        seeds,
        runs,
        Column("learned_step", "step at which it is learned"),
        legend=Legend(names, title="setting"),
        knob=f"size ({'; '.join(found.words.values())})",
    )
    caption = f"A line that rises means that small sizes are learned first. {MARKS} Sizes not learned have no mark."
    return ChartPart(name="order", title="The step at which each size is learned", chart=chart, caption=caption)


def _section(found: Found) -> Section:
    """Return depth over training, the order of sizes and the phases of one task."""
    means = {_VARIANTS[variant]: {"variant": variant} for _, variant in settings(found)}
    single = {
        f"{name}, seed {seed}": {**labels, "seed": seed}
        for name, labels in means.items()
        for seed in found.runs.filter(**labels)["seed"].unique().sort()
    }
    logged = "block_depth" in found.runs["quantity"]
    title = found.task.upper()
    return Section(
        title=title,
        text=[] if logged else ["No batches were logged: there is no depth over training."],
        parts=[
            *([_depth(found)] if logged else []),
            _order_table(found.seeds, means, f"{title}: when is each size learned?", "model"),
            _phase_table(found.seeds, means, f"{title}: the two phases", "model"),
            _order_table(found.runs, single, f"{title}: when each run learned each size", "run"),
            _phase_table(found.runs, single, f"{title}: the phases of each run", "run"),
        ],
    )


def _depth(found: Found) -> ChartPart:
    """Return the depth of training batches over steps, a line for each variant, and the largest depth."""
    legend = Legend({name: _VARIANTS[name] for _, name in settings(found)})
    largest = alt.Chart(found.seeds.filter(quantity="max_depth").select("value").unique())
    rule = largest.mark_rule(strokeDash=[4, 3], color=GREY).encode(y=alt.Y("value:Q"), tooltip=tooltip("value:Q"))
    tables = [legend.of(table) for table in (found.seeds, found.runs)]
    chart = alt.layer(*_over_steps(tables, _DEPTH, legend.colour), rule)
    caption = f"{MARKS} Dashed: the largest depth, which the paper's models often approach."
    return ChartPart(name=f"{found.task}-depth", title="Depth over training", chart=chart, caption=caption)


def _over_steps(tables: list[pl.DataFrame], shown: Column, colour: alt.Color) -> list[alt.Chart]:
    """Return a quantity over steps: a line for the mean over seeds, its band, and a small mark for each seed."""
    columns = ("label", "seed", "step", "knob", "value", "low", "high")
    means, single = (
        table.filter(quantity=shown.quantity, subset=shown.subset).select(columns).drop_nulls("value").sort("step")
        for table in tables
    )
    x = alt.X("step:Q", title="training step")
    return seed_layers(means, single, x, value_axis(shown), ["label:N", "step:Q", "value:Q"], band=True, color=colour)


def _phase_table(table: pl.DataFrame, subjects: Mapping[str, Any], title: str, first: str) -> TablePart:
    return estimate_table(table, subjects, _PHASES, title=title, first=first, caption=_CAPTIONS[first])


def _order_table(table: pl.DataFrame, subjects: Mapping[str, Any], title: str, first: str) -> TablePart:
    sizes = table.filter(quantity="learned_step")["knob"].unique().sort().to_list()
    begin = table.filter(pl.col("knob").is_not_null(), quantity="accuracy")["step"].min()
    return estimate_table(
        table,
        subjects,
        _ORDER,
        title=title,
        first=first,
        caption=_CAPTIONS[first],
        heads=[Cell(f"size {size}", "step") for size in sizes],
        more=lambda labels: [learned_cell(find(table, "learned_step", knob=size, **labels), begin) for size in sizes],
    )


def learned_cell(row: Row, begin: object) -> Cell:
    """Write when a size was learned; what was learned `by` the first evaluation may have been learned long before."""
    if row["quantity"] is None:
        return Cell("-")
    if row["value"] is None:
        return Cell("not learned", "", row["reason"])
    unit = quantity("learned_step")
    small = interval(row["low"], row["high"], unit)
    if row["low"] is not None and row["high"] is None:
        small = f"[{amount(row['low'], unit)}, not learned]"
    by = "by " if row["value"] == begin else ""
    return Cell(f"{by}{amount(row['value'], unit)}", small, row["reason"])


def _curves(found: Found, variant: str) -> Section:
    """Return accuracy and depth of each size over training, for one setting."""
    label = pl.col("knob").cast(pl.String).alias("label")
    tables = [table.drop_nulls("knob").with_columns(label) for table in (found.seeds, found.runs)]
    colour = alt.Color("knob:O", scale=alt.Scale(scheme="viridis"), title="size")
    parts = [
        ChartPart(
            name=f"{found.task}-{list(_VARIANTS).index(variant)}-{shown.quantity}",
            title=f"{capital(shown.title)} of evaluations",
            chart=alt.layer(*_over_steps(tables, shown, colour)),
            caption=MARKS,
        )
        for shown in _CURVES
        if len(tables[1].filter(quantity=shown.quantity))
    ]
    return Section(title=f"{found.task.upper()} {_VARIANTS[variant]}: size by size", parts=parts)
