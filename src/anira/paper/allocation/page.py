"""The page of compute allocation: depth and accuracy by knob for each task, and ANIRA-E beside ANIRA-O."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from anira.measure.claims.knob import Claim
from anira.measure.compare import Comparison, Match, depth_obstacle
from anira.site.plain import short
from anira.site.sheet.by_knob import (
    KnobRun,
    about_cells,
    alignment_cells,
    alignment_table,
    control_cells,
    knob_cells,
    knob_table,
    looks,
    panels,
)
from anira.site.sheet.cells import estimate_columns
from anira.site.sheet.sheet import Section, Sheet, Table
from anira.site.sheet.verdicts import verdict_sections

Compared = Sequence[tuple[Match, Comparison]]
"""Runs of ANIRA-E and ANIRA-O with the same seed, and what they make of the same instances."""

BELOW = (
    "Bars are 95% intervals: Wilson for accuracy, resampled instances for depth. Dotted: the majority baseline, and "
    "the largest depth. Slope: iterations for one more of the knob. R2: share of the variance of answer depth."
)
PAIRS = "ANIRA-E beside ANIRA-O on the same instances"
NO_PAIRS = "No run of ANIRA-E has the task and the seed of a run of ANIRA-O: there is nothing to compare."


def allocation_sheet(runs: Sequence[KnobRun], compared: Compared, claims: Sequence[Claim]) -> Sheet:
    """Return the page about runs of several tasks."""
    groups = by_task(runs)
    return Sheet(
        name="allocation",
        title="Does depth follow the difficulty of the task?",
        runs=[row for group in groups for row in about_cells(group)],
        sections=[*map(_task_section, groups), _pair_section(compared), *verdict_sections(claims)],
    )


def by_task(runs: Sequence[KnobRun]) -> list[list[KnobRun]]:
    """Return runs of the same task together."""
    tasks = dict.fromkeys(run.figures.labels.task for run in runs)
    return [[run for run in runs if run.figures.labels.task == task] for task in tasks]


def allocation_tables(runs: Sequence[KnobRun], compared: Compared) -> dict[str, pl.DataFrame]:
    """Return the tables behind the page, by the names of their files."""
    groups = by_task(runs)
    return {
        "allocation": pl.concat(map(knob_table, groups), how="vertical_relaxed"),
        "allocation-alignment": pl.concat(map(alignment_table, groups), how="vertical_relaxed"),
        **({"allocation-pairs": pair_table(compared)} if compared else {}),
    }


def pair_table(compared: Compared) -> pl.DataFrame:
    """Return ANIRA-E less ANIRA-O, one row a task and seed."""
    return pl.DataFrame([_pair_row(match, found) for match, found in compared], infer_schema_length=None)


def _pair_row(match: Match, found: Comparison) -> dict[str, Any]:
    one, other = (summary.labels for summary in match)
    return {
        "task": one.task,
        "seed": match.seed,
        "run_e": one.run_id,
        "run_o": other.run_id,
        "instances": found.instances,
        **estimate_columns("accuracy_e", found.accuracies[0].exact),
        **estimate_columns("accuracy_o", found.accuracies[1].exact),
        **estimate_columns("accuracy_difference", found.accuracy),
        **estimate_columns("depth_difference", found.depth),
        "both_right": found.both_right,
        **estimate_columns("depth_difference_both_right", found.depth_both_right),
        "does_not_count": depth_obstacle(match, found),
    }


def _task_section(runs: Sequence[KnobRun]) -> Section:
    task = runs[0].figures.labels.task.upper()
    return Section(
        title=task,
        looks=looks(runs),
        panels=panels(runs),
        tables=[
            Table(f"{task}: depth of answers against the knob", alignment_cells(runs)),
            Table(f"{task}: position control", control_cells(runs)),
            Table("The figures in numbers", knob_cells(runs), folded=True),
        ],
        below=BELOW,
    )


def _pair_section(compared: Compared) -> Section:
    if not compared:
        return Section(title=PAIRS, text=[NO_PAIRS])
    return Section(title=PAIRS, tables=[Table(PAIRS, [_pair_cells(match, found) for match, found in compared])])


def _pair_cells(match: Match, found: Comparison) -> dict[str, str]:
    return {
        "task": match.first.labels.task,
        "seed": str(match.seed),
        "n": f"{found.instances:,}",
        "accuracy, E": short(found.accuracies[0].exact, 3),
        "accuracy, O": short(found.accuracies[1].exact, 3),
        "depth, E less O": short(found.depth, 3),
        "counts": depth_obstacle(match, found) or "yes",
        "the same where both are right": f"{short(found.depth_both_right, 3)}, n {found.both_right:,}",
    }
