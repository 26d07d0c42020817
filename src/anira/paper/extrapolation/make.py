"""The paper's figure of MANO beyond the trained sizes: ANIRA-E, ANIRA-O, fixed depth, and unshared layers.

Each run is evaluated from its smallest trained size to well beyond the largest. Rows beyond `max_length` are read like
any others: rotary position embeddings have a value for every position. That no training row had those positions is part
of what is asked.
"""

from pathlib import Path
from typing import Final, NamedTuple

from anira.evaluation import EvaluationConfig
from anira.paper.extrapolation.measure import NAMES, measured
from anira.paper.extrapolation.page import make_page
from anira.paper.files import evaluated
from anira.paper.found_runs import config_of, knob_words, runs_of
from anira.paper.outcome import write_outcome
from anira.paper.setting import Outcome, Setting, UsedRun
from anira.tasks.base import Knob

NAME: Final = "extrapolation"
TASK: Final = "mano"


class Size(NamedTuple):
    """How much is evaluated."""

    instances: int
    """Per knob."""
    beyond: float
    """Knobs go to the largest seen one times this."""


SIZES: Final = {"smoke": Size(16, 2.0), "cpu": Size(1000, 2.0), "paper": Size(1000, 1.5)}


def reproduce(setting: Setting) -> Outcome:
    """Make extrapolation.html, .csv and .json."""
    runs = [run for variant in NAMES for run in runs_of(f"{TASK}-{variant}-{setting.scale}", setting)]
    folders = [_records(run, SIZES[setting.scale], setting) for run in runs]
    setting.tell(f"measuring {len(runs)} runs")
    found = measured(folders, knob_words(config_of(runs[0], TASK)))
    return write_outcome(
        setting,
        NAME,
        {f"{NAME}.csv": found.runs, f"{NAME}-seeds.csv": found.seeds},
        lambda files: make_page(found, scale=setting.scale, files=files),
        runs=runs,
        claims={"no-generalisation": found.adaptive, "o-degrades-gracefully": found.graceful},
    )


def evaluated_knobs(knob: Knob, size: Size) -> tuple[int, ...]:
    """Return the knobs from the smallest seen one to beyond the largest, as far as the task goes.

    >>> evaluated_knobs(Knob(name="L", meaning="", cost="L", seen=(1, 2, 3), minimum=1, maximum=200), Size(16, 2.0))
    (1, 2, 3, 4, 5, 6)
    """
    last = min(int(knob.seen[-1] * size.beyond), knob.maximum)
    return tuple(range(knob.seen[0], max(last, knob.seen[-1]) + 1))


def _records(run: UsedRun, size: Size, setting: Setting) -> Path:
    knobs = evaluated_knobs(config_of(run, TASK).make_task().knob, size)
    wanted = EvaluationConfig(knobs=knobs, count=size.instances)
    return evaluated(run, f"beyond-n{size.instances}", wanted, setting)
