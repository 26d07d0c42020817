"""Is depth needed? Accuracy of a run with all tokens forced to one depth, knob by knob, for every depth that was tried.

A depth that rises with difficulty aligns with required work only where work is required: where the same model, made to
stop early, is worse.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from anira.measure.accuracy import Accuracy, accuracy_by_knob
from anira.measure.records.folders import find_evaluations
from anira.measure.records.loading import load_evaluation
from anira.measure.records.stored import read_asked
from anira.records.overrides import forced_depth

NEEDED: Final = 0.1
"""Accuracy that all tokens at depth 1 must lose at the hardest seen knob, for depth to count as needed."""


def forced_accuracy(run: Path, step: int, subtask: str | None = None) -> dict[int, list[Accuracy]]:
    """Return accuracy by knob for each forced depth of which a run has a complete evaluation at a step."""
    found = {}
    for folder in find_evaluations(run):
        asked = read_asked(folder)
        depth = forced_depth(str(asked.get("override", "")))
        if depth is not None and asked["complete"] and asked["step"] == step:
            evaluation = load_evaluation(folder, subtask)
            found[depth] = accuracy_by_knob(evaluation.collect(evaluation.instances.sort("knob", "instance_id")))
    return dict(sorted(found.items()))


def need(own: Sequence[Accuracy], forced: Mapping[int, Sequence[Accuracy]]) -> tuple[int, float] | None:
    """Return the hardest seen knob, and the accuracy that all tokens at depth 1 lose there; None where it is not known.

    They are compared with the policy's own depths, or with a larger forced depth where that is better.
    """
    seen = [row.knob for row in own if row.split == "seen" and row.knob is not None]
    if not seen or 1 not in forced:
        return None
    hardest = max(seen)
    at = {depth: _value(rows, hardest) for depth, rows in {0: own, **forced}.items()}
    if at[0] is None or at[1] is None:
        return None
    return hardest, max(value for depth, value in at.items() if depth != 1 and value is not None) - at[1]


def _value(rows: Sequence[Accuracy], knob: int) -> float | None:
    return next((row.exact.value for row in rows if row.knob == knob), None)
