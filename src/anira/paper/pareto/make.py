"""The paper's figure of the Pareto frontier: accuracy against mean depth under other rules and thresholds.

Each run is evaluated again for every rule: mode, median, mean, and a sweep of the cumulative threshold. Beside them
stands the fixed-depth variant.
"""

from pathlib import Path
from typing import Final, NamedTuple

from anira.evaluation import EvaluationConfig
from anira.measure.pareto import FULL, rule_name
from anira.models.policies import policy_class
from anira.paper.files import evaluated
from anira.paper.found_runs import config_of, runs_of
from anira.paper.outcome import write_outcome
from anira.paper.pareto.measure import measured
from anira.paper.pareto.page import make_page
from anira.paper.setting import Outcome, Setting, UsedRun

NAME: Final = "pareto"
RUNS: Final = ("brevo-anira-e", "brevo-anira-o", "mano-anira-e", "mano-anira-o", "mano-fixed")


class Size(NamedTuple):
    """How much is evaluated."""

    instances: int
    """Per knob."""
    thresholds: tuple[float, ...]
    """Without 0.5, which is the median."""


SIZES: Final = {
    "smoke": Size(16, (0.25, FULL)),
    "cpu": Size(500, (0.1, 0.25, 0.75, 0.9, 0.95, FULL)),
    "paper": Size(500, (0.1, 0.25, 0.75, 0.9, 0.95, FULL)),
}


def reproduce(setting: Setting) -> Outcome:
    """Make pareto.html, .csv and .json."""
    used = [(name.split("-")[0], run) for name in RUNS for run in runs_of(f"{name}-{setting.scale}", setting)]
    runs = [run for _, run in used]
    folders = [_records(run, task, SIZES[setting.scale], setting) for task, run in used]
    setting.tell(f"measuring {len(runs)} runs")
    found = measured(folders)
    return write_outcome(
        setting,
        NAME,
        {f"{NAME}.csv": found.runs, f"{NAME}-seeds.csv": found.seeds},
        lambda files: make_page(found, scale=setting.scale, files=files),
        runs=runs,
    )


def rules(size: Size) -> list[tuple[str, float | None]]:
    """Return every way to choose depth: rule and threshold.

    >>> rules(Size(10, (0.1,)))
    [('mode', None), ('median', None), ('mean', None), ('quantile', 0.1)]
    """
    return [("mode", None), ("median", None), ("mean", None), *(("quantile", level) for level in size.thresholds)]


def _records(run: UsedRun, task: str, size: Size, setting: Setting) -> list[Path]:
    """Evaluate a run in all ways that are missing."""
    config = config_of(run, task)
    ways = rules(size) if policy_class(config.model["policy"]["name"]).rules else [("", None)]
    return [
        evaluated(
            run,
            f"pareto-{rule_name(select, threshold).replace(' ', '-')}-n{size.instances}",
            EvaluationConfig(count=size.instances, select=select or None, threshold=threshold),
            setting,
        )
        for select, threshold in ways
    ]
