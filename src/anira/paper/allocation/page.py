"""The page: whether depth follows the knob where it is needed, task by task, and ANIRA-E beside ANIRA-O."""

from collections.abc import Sequence

import polars as pl

from anira.paper.allocation.measure import Found
from anira.site import SMOKE, ChartPart, Page, Section, read_notes
from anira.site.by_knob import KnobTask, knob_section
from anira.site.charts import Legend, interval_chart
from anira.site.verdicts import FOLLOWS, NAMES, claim_note, claims_badge, listed, setting_name, verdict_lines


def make_page(found: Found, *, scale: str, files: Sequence[str]) -> Page:
    """Return the page."""
    sections = [knob_section(task, is_open=i == 0) for i, task in enumerate(tasks(found))]
    return Page(
        title="Does depth follow the difficulty of the task?",
        badge=claims_badge(found.follows),
        answer=[*answer(found), *[SMOKE] * (scale == "smoke")],
        lead=_slopes(found),
        verdicts=[claim_note(claim) for claim in (*found.follows, *found.less)],
        sections=[*sections, Section(title="How to read this page", notes=read_notes("anira.paper.allocation"))],
        files=files,
        command=f"anira reproduce allocation --scale {scale}",
    )


def tasks(found: Found) -> list[KnobTask]:
    """Return the rows of each task."""
    return [
        KnobTask(
            name=task,
            title=task.upper(),
            knob=found.knobs.get(task, "knob"),
            runs=found.runs.filter(task=task),
            seeds=found.seeds.filter(task=task),
            legend=Legend(NAMES),
        )
        for task in found.runs["task"].unique(maintain_order=True)
    ]


def answer(found: Found) -> list[str]:
    """Say where depth follows the knob, and where that cannot be judged."""
    less = [f"{claim.experiment.split()[0].upper()} {claim.verdict.word}" for claim in found.less]
    said = [f"That ANIRA-O spends less depth than ANIRA-E: {listed(less)}."] if less else []
    return [*verdict_lines(found.follows, FOLLOWS), *said]


def _slopes(found: Found) -> ChartPart:
    """Return the slope of every setting with its seeds."""
    label = pl.concat_str(pl.col("task").str.to_uppercase(), pl.lit(" "), pl.col("variant").replace(NAMES)).alias(
        "label"
    )
    rows = pl.concat([found.seeds, found.runs]).filter(quantity="slope", subset="all", split="seen").drop_nulls("value")
    shown = rows.select(label, "seed", "value", "low", "high")
    order = [setting_name(claim) for claim in found.follows]
    return ChartPart(
        name="slopes",
        title="Iterations more for one more of the knob",
        chart=interval_chart(shown, order=order, title="slope of answer depth, iterations per unit of the knob"),
        caption="Large marks: means over seeds with 95% t intervals; small marks: seeds.",
    )
