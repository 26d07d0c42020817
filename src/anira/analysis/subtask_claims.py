"""What a task that is several in one says about claims, subtask by subtask: their knobs do not compare."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from anira.analysis.accuracy import accuracy_drop
from anira.analysis.claims import Claim, experiment, identity, make_claim
from anira.analysis.intervals import Estimate
from anira.analysis.subtasks import Overview, SubtaskFigures
from anira.analysis.verdict import Evidence

SLOPE: Final = "answer depth rises with the input size (slope)"
DROPS: Final = {
    "interpolation": "accuracy is lower at sizes between the seen ones than at those (difference)",
    "extrapolation": "accuracy is lower at sizes beyond the seen ones than at those (difference)",
}
NOT_LEARNED: Final = "accuracy at seen sizes is not above the majority baseline"


def judge_subtasks(runs: Sequence[Overview], without_size: Sequence[str]) -> dict[str, list[Claim]]:
    """Return verdicts on the claims that depth follows size and that accuracy drops at unseen sizes.

    Runs that differ in nothing but the seed are judged together. `without_size` are subtasks whose instances are the
    same at every size.
    """
    groups: dict[str, list[Overview]] = {}
    for run in sorted(runs, key=lambda one: one.labels.seed):
        groups.setdefault(identity(run.labels), []).append(run)
    cells = [
        (group, part.subtask)
        for group in groups.values()
        for part in group[0].subtasks
        if part.subtask not in without_size
    ]
    return {
        "follows-complexity": [_claim(SLOPE, *cell, _slope) for cell in cells],
        "no-generalisation": [
            _claim(text, *cell, partial(_drop, split=split)) for cell in cells for split, text in DROPS.items()
        ],
    }


def _claim(text: str, group: Sequence[Overview], name: str, measure: Callable[[SubtaskFigures], Estimate]) -> Claim:
    evidence = []
    for run in group:
        part = next(part for part in run.subtasks if part.subtask == name)
        seen = part.over("seen")
        learned = seen is not None and seen.above_majority
        found = Evidence(run.labels.seed, measure(part), "" if learned else NOT_LEARNED)
        evidence.append((run.labels.run_id, found))
    return make_claim(text, experiment(replace(group[0].labels, subtask=name)), evidence)


def _slope(part: SubtaskFigures) -> Estimate:
    return part.aligned().slope


def _drop(part: SubtaskFigures, split: str) -> Estimate:
    seen, unseen = part.over("seen"), part.over(split)
    if seen is None or unseen is None:
        return Estimate(None, reason=f"no size of the split {split} was evaluated")
    return accuracy_drop(seen, unseen)
