"""Committed runs that tests of `anira.runs` read."""

from functools import cache
from pathlib import Path

import anira
from anira.runs import Run

RESULTS = Path(__file__).parents[3] / "results"
MANO = RESULTS / "mano-anira-o-cpu" / "02c76274-s1"
BREVO = RESULTS / "brevo-anira-e-cpu" / "616778cf-s0"
QUESTION = "+ 1 * 2 3"


@cache
def loaded(path: Path) -> Run:
    """Return a run, loaded once."""
    return anira.load(path)


def question(run: Run, knob: int) -> str:
    """Return a question of a run's task."""
    rows = run.task.rows(seed=0, stream="eval", start=0, count=1, knob=knob)
    return run.task.instance(rows, 0).question
