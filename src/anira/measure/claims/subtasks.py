"""What a task that is several in one says about claims, subtask by subtask: their knobs do not compare."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from anira.measure.accuracy import accuracy_drop
from anira.measure.claims.knob import Claim, by_identity, experiment, in_training, make_claim, null_obstacle
from anira.measure.claims.verdict import Evidence, why_silent
from anira.measure.statistics.estimates import Estimate
from anira.measure.subtasks import Overview, SubtaskFigures

SLOPE: Final = "answer depth rises with the input size, over the seen sizes (slope)"
DROPS: Final = {
    "interpolation": "accuracy is lower at sizes between the seen ones than at those (difference)",
    "extrapolation": "accuracy is lower at sizes beyond the seen ones than at those (difference)",
}
NOT_SEEN: Final = "no seen size was evaluated"

Says = Callable[[Overview, SubtaskFigures], Evidence]
"""What a run says about one of its subtasks."""


def judge_subtasks(runs: Sequence[Overview], without_size: Sequence[str]) -> dict[str, list[Claim]]:
    """Return verdicts on the claims that depth follows size and that accuracy drops at unseen sizes.

    Runs that differ in nothing but the seed are judged together. `without_size` are subtasks whose instances are the
    same at every size.
    """
    cells = [
        (group, part.subtask)
        for group in by_identity(runs, lambda run: [run.labels])
        for part in group[0].subtasks
        if part.subtask not in without_size
    ]
    return {
        "follows-complexity": [_claim(SLOPE, *cell, _slope) for cell in cells],
        "no-generalisation": [
            _claim(text, *cell, partial(_drop, split=split)) for cell in cells for split, text in DROPS.items()
        ],
    }


def _claim(text: str, group: Sequence[Overview], name: str, says: Says) -> Claim:
    evidence = []
    for run in group:
        part = next(part for part in run.subtasks if part.subtask == name)
        evidence.append((run.labels.run_id, says(run, part)))
    return make_claim(text, experiment(replace(group[0].labels, subtask=name)), evidence)


def _slope(run: Overview, part: SubtaskFigures) -> Evidence:
    nulls = [null for row in part.alignment for null in (row.null_slope, row.null_spearman)]
    return Evidence(run.labels.seed, in_training(part.alignment).slope, _obstacle(run, part) or null_obstacle(nulls))


def _drop(run: Overview, part: SubtaskFigures, split: str) -> Evidence:
    seen, unseen = part.over("seen"), part.over(split)
    estimate = Estimate(None, reason=f"no size of the split {split} was evaluated")
    if seen is not None and unseen is not None:
        estimate = accuracy_drop(seen, unseen)
    return Evidence(run.labels.seed, estimate, _obstacle(run, part))


def _obstacle(run: Overview, part: SubtaskFigures) -> str:
    """Return why a run cannot speak about a subtask, or an empty string."""
    seen = part.over("seen")
    return NOT_SEEN if seen is None else why_silent(seen, override=run.labels.override)
