"""The page of extrapolation: accuracy and depth by knob beyond training, for every variant."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from anira.measure.accuracy import Accuracy
from anira.measure.claims.knob import Claim
from anira.measure.extrapolation import Rivals, graceful_obstacle, reach
from anira.site.plain import short
from anira.site.sheet.by_knob import (
    KnobRun,
    about_cells,
    alignment_cells,
    alignment_table,
    control_cells,
    knob_cells,
    knob_table,
    labels,
    looks,
    panels,
)
from anira.site.sheet.cells import estimate_columns
from anira.site.sheet.sheet import Section, Sheet, Table
from anira.site.sheet.verdicts import verdict_sections

BELOW = (
    "The dashed line is the largest knob of training; hollow markers lie outside of training. Dotted: the majority "
    "baseline, and the largest depth. Bars are 95% intervals: Wilson for accuracy, resampled instances for depth."
)
RIVALS = "ANIRA-O beside the others on the same instances"
NO_RIVALS = "No other run has the seed of a run of ANIRA-O: there is nothing to compare."
SUBSETS = ("all", "seen", "correct")


def extrapolation_sheet(runs: Sequence[KnobRun], rivals: Sequence[Rivals], claims: Sequence[Claim]) -> Sheet:
    """Return the page about runs of one task."""
    task, knob = runs[0].figures.labels.task.upper(), runs[0].knob.name
    accuracy = Section(
        title=f"{task} beyond the trained {knob}",
        looks=looks(runs),
        panels=panels(runs, limit=training_limit(runs)),
        tables=[
            Table("accuracy where training ends", reach_cells(runs)),
            Table("The figures in numbers", knob_cells(runs), folded=True),
        ],
        below=BELOW,
    )
    depth = Section(
        title="Depth against the knob",
        tables=[
            Table("depth of answers", alignment_cells(runs, SUBSETS)),
            Table("position control", control_cells(runs)),
        ],
        below="Slope: iterations for one more of the knob. R2: share of the variance of answer depth.",
    )
    return Sheet(
        name="extrapolation",
        title=f"{task}: does what was learned reach beyond training?",
        runs=about_cells(runs),
        sections=[accuracy, _rivals_section(rivals), depth, *verdict_sections(claims)],
    )


def training_limit(runs: Sequence[KnobRun]) -> int | None:
    """Return the largest knob of training where all runs share it; otherwise there is no one line to draw."""
    found = {found.limit.knob for run in runs if (found := reach(run.figures)) is not None}
    return found.pop() if len(found) == 1 else None


def extrapolation_tables(runs: Sequence[KnobRun], rivals: Sequence[Rivals]) -> dict[str, pl.DataFrame]:
    """Return the tables behind the page, by the names of their files."""
    pairs = pl.DataFrame([_rivals_row(one) for one in rivals], infer_schema_length=None)
    return {
        "extrapolation": knob_table(runs),
        "extrapolation-alignment": alignment_table(runs),
        **({"extrapolation-pairs": pairs} if rivals else {}),
    }


def reach_cells(runs: Sequence[KnobRun]) -> list[dict[str, str]]:
    """Return what becomes of accuracy where training ends, one line a run."""
    return [_reach(label, run) for label, run in zip(labels(runs), runs, strict=True)]


def _reach(label: str, run: KnobRun) -> dict[str, str]:
    found = reach(run.figures)
    limit, first, beyond = (None, None, None) if found is None else (found.limit, found.first, found.beyond)
    return {
        "run": label,
        "at the limit": _accuracy(limit),
        "first beyond": _accuracy(first),
        "drop beyond": short(found.drop, 3) if found else "-",
        "last drop within": short(found.last_drop, 3) if found else "-",
        "all beyond": _accuracy(beyond),
        "majority beyond": "-" if beyond is None else f"{beyond.majority:.3f}",
        "above it": "-" if beyond is None else "yes" if beyond.above_majority else "no",
    }


def _accuracy(row: Accuracy | None) -> str:
    return "-" if row is None else short(row.exact, 3)


def _rivals_section(rivals: Sequence[Rivals]) -> Section:
    if not rivals:
        return Section(title=RIVALS, text=[NO_RIVALS])
    return Section(title=RIVALS, tables=[Table(RIVALS, list(map(_rivals_cells, rivals)))])


def _rivals_cells(one: Rivals) -> dict[str, str]:
    return {
        "first less second": " less ".join(one.variants),
        "seed": str(one.seed),
        "accuracy, seen": short(one.seen.accuracy, 3),
        "accuracy, beyond": short(one.beyond.accuracy, 3),
        "accuracy, farthest": short(one.farthest.accuracy, 3),
        "counts": graceful_obstacle(one) or "yes",
        "answer depth, beyond": short(one.beyond.depth, 3),
        "n beyond": f"{one.beyond.instances:,}",
    }


def _rivals_row(one: Rivals) -> dict[str, Any]:
    parts = {"seen": one.seen, "beyond": one.beyond, "farthest": one.farthest}
    figures: dict[str, Any] = {}
    for name, part in parts.items():
        figures[f"{name}_instances"] = part.instances
        figures |= estimate_columns(f"{name}_accuracy", part.accuracy) | estimate_columns(f"{name}_depth", part.depth)
    return {
        "first": one.runs[0],
        "second": one.runs[1],
        "variants": " less ".join(one.variants),
        "seed": one.seed,
        **figures,
        "does_not_count": graceful_obstacle(one),
    }
