"""The page: which sizes are learned first, and whether depth rises and then falls over training."""

from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from anira.measure import quantity
from anira.measure.claims.knob import Claim
from anira.measure.tidy import Row, find
from anira.paper.dynamics.charts import depth_chart, order_chart, setting_name, settings, size_chart
from anira.paper.dynamics.measure import NAMES, Found
from anira.site import SMOKE, Badge, Cell, ChartPart, Note, Page, Section, TablePart, Tone, amount, interval, read_notes
from anira.site.tables import Column, estimate_cell, estimate_table

_CLAIMS: Final = {"easy-to-hard": "easy to hard", "two-phases": "two phases"}
_ANSWERS: Final = {
    ("easy-to-hard", "supported"): "Smaller sizes are learned first in {}.",
    ("easy-to-hard", "contradicted"): "Smaller sizes are not learned first in {}.",
    ("easy-to-hard", "inconclusive"): "There is no verdict yet on the order of sizes in {}.",
    ("easy-to-hard", "not testable"): "The order of sizes cannot be judged in {}.",
    ("two-phases", "supported"): "Depth rises and then falls, with accuracy kept, in {}.",
    ("two-phases", "contradicted"): "Depth does not rise and then fall in {}.",
    ("two-phases", "inconclusive"): "There is no verdict yet on two phases in {}.",
    ("two-phases", "not testable"): "Two phases cannot be judged in {}.",
}
_PHASES: Final = (
    Column("start_depth", "start"),
    Column("peak_step", "peak near step"),
    Column("peak_depth", "depth there"),
    Column("end_depth", "end"),
    Column("depth_rise", "rise"),
    Column("depth_fall", "fall"),
    Column("accuracy_kept", "accuracy, end less peak"),
)
_CURVES: Final = (Column("accuracy", "accuracy"), Column("depth", "mean answer depth", "answer"))
_CAPTION: Final = "Lines and large marks: means over seeds; bands: 95% t intervals; small marks: seeds."
Subjects = Mapping[str, Mapping[str, object]]


def make_page(found: Found, *, scale: str, files: Sequence[str]) -> Page:
    """Return the page."""
    tasks = list(dict.fromkeys(task for task, _ in settings(found)))
    curves = [_curves(found, task, variant) for task, variant in settings(found)]
    return Page(
        title="Training: are small sizes learned first, and does depth rise and then fall?",
        badge=badge(found.claims),
        answer=[*answer(found.claims), *[SMOKE] * (scale == "smoke")],
        lead=_lead(found),
        verdicts=[_note(key, claim) for key in _CLAIMS for claim in found.claims[key]],
        sections=[
            *(_section(found, task, is_open=i == 0) for i, task in enumerate(tasks)),
            *(section for section in curves if section.parts),
            Section(title="How to read this page", notes=read_notes("anira.paper.dynamics")),
        ],
        files=files,
        command=f"anira reproduce dynamics --scale {scale}",
    )


def badge(claims: Mapping[str, Sequence[Claim]]) -> Badge:
    """Say in how many of the settings that can be judged each claim holds."""
    words = {key: [claim.verdict.word for claim in claims[key]] for key in _CLAIMS}
    said = []
    for key, name in _CLAIMS.items():
        testable = sum(word != "not testable" for word in words[key])
        said.append(f"{name}: {words[key].count('supported')} of {testable}" if testable else f"{name}: not testable")
    tone: Tone = "open"
    if any("contradicted" in found for found in words.values()):
        tone = "no"
    elif all("supported" in found for found in words.values()):
        tone = "yes"
    return Badge(", ".join(said), tone)


def answer(claims: Mapping[str, Sequence[Claim]]) -> list[str]:
    """Say for each claim where it holds, and where that cannot be judged."""
    lines = []
    for (key, word), text in _ANSWERS.items():
        names = [_name(claim) for claim in claims[key] if claim.verdict.word == word]
        lines += [text.format("; ".join(names))] if names else []
    return lines


def _note(key: str, claim: Claim) -> Note:
    return Note(f"{_name(claim)}, {_CLAIMS[key]}: {claim.verdict.word}", f"{claim.text} {claim.verdict.reason}.")


def _name(claim: Claim) -> str:
    return setting_name(*claim.experiment.split(" ", 1))


def _lead(found: Found) -> ChartPart | None:
    if found.runs.filter(quantity="learned_step")["value"].drop_nulls().is_empty():
        return None
    caption = (
        "A line that rises means that small sizes are learned first. Large marks: means over the seeds that learned a "
        "size, with 95% t intervals; small marks: seeds. A size that was not learned has no mark."
    )
    return ChartPart(
        name="order", title="The step at which each size is learned", chart=order_chart(found), caption=caption
    )


def _section(found: Found, task: str, *, is_open: bool) -> Section:
    """Return depth over training, the order of sizes and the phases of one task."""
    runs, seeds = found.runs.filter(task=task), found.seeds.filter(task=task)
    means = {NAMES[variant]: {"variant": variant} for one, variant in settings(found) if one == task}
    single = {
        f"{name}, seed {seed}": {**labels, "seed": seed}
        for name, labels in means.items()
        for seed in runs.filter(**labels)["seed"].unique().sort()
    }
    caption = f"{_CAPTION} Dashed: the largest depth, which the paper's models often approach."
    chart = ChartPart(
        name=f"{task}-depth", title="Depth over training", chart=depth_chart(found, task), caption=caption
    )
    return Section(
        title=task.upper(),
        text=[] if has(runs, "block_depth") else ["No batches were logged: there is no depth over training."],
        parts=[
            *([chart] if has(runs, "block_depth") else []),
            _order_table(seeds, means, f"{task.upper()}: when is each size learned?", "model"),
            _phase_table(seeds, means, f"{task.upper()}: the two phases", "model"),
            _order_table(runs, single, f"{task.upper()}: when each run learned each size", "run"),
            _phase_table(runs, single, f"{task.upper()}: the phases of each run", "run"),
        ],
        open=is_open,
    )


def has(table: pl.DataFrame, name: str) -> bool:
    """Say whether a table has a quantity."""
    return name in table["quantity"]


def _phase_table(table: pl.DataFrame, subjects: Subjects, title: str, first: str) -> TablePart:
    return estimate_table(table, subjects, _PHASES, title=title, first=first, caption=_interval_words(first))


def _order_table(table: pl.DataFrame, subjects: Subjects, title: str, first: str) -> TablePart:
    sizes = table.filter(quantity="learned_step")["knob"].unique().sort().to_list()
    begin = table.filter(pl.col("knob").is_not_null(), quantity="accuracy")["step"].min()
    rows = []
    for name, labels in subjects.items():
        learned = [find(table, "learned_step", knob=size, **labels) for size in sizes]  # type: ignore[arg-type]
        order = [find(table, one, **labels) for one in ("kendall_order", "order_by_chance")]  # type: ignore[arg-type]
        rows.append([Cell(name), *(learned_cell(row, begin) for row in learned), *map(estimate_cell, order)])
    head = [Cell(first), *(Cell(f"size {size}", "step") for size in sizes)]
    head += [Column("kendall_order", "Kendall's tau").head, Column("order_by_chance", "as good by chance").head]
    return TablePart(title=title, head=head, rows=rows, caption=_interval_words(first))


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


def _interval_words(first: str) -> str:
    if first == "run":
        return "Intervals are about other instances and batches of the same training, not about another training."
    return "Means over seeds with 95% t intervals."


def _curves(found: Found, task: str, variant: str) -> Section:
    """Return accuracy and depth of each size over training, for one setting."""
    name = setting_name(task, variant)
    parts = [
        ChartPart(
            name=f"{task}-{list(NAMES).index(variant)}-{shown.quantity}",
            title=f"{shown.title[:1].upper()}{shown.title[1:]} of evaluations",
            chart=size_chart(found, task, variant, shown),
            caption=_CAPTION,
        )
        for shown in _CURVES
        if len(found.runs.filter(pl.col("knob").is_not_null(), task=task, variant=variant, quantity=shown.quantity))
    ]
    return Section(title=f"{name}: size by size", parts=parts)
