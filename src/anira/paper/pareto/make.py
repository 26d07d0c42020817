"""The paper's figure of the Pareto frontier: accuracy against mean depth under other rules and thresholds.

Each run is evaluated again for every rule: mode, median, mean, and a sweep of the cumulative threshold. Beside them
stands the fixed-depth variant.
"""

from dataclasses import dataclass
from typing import Final

from anira.config import UserError
from anira.evaluation import EvaluationConfig
from anira.measure.pareto import frontier, rule_name
from anira.models.policies import policy_class
from anira.paper.files import evaluated, make_files
from anira.paper.found_runs import runs_of
from anira.paper.pareto.page import ParetoRun, pareto_sheet, point_table
from anira.paper.setting import Outcome, Setting, UsedRun
from anira.training import RunFolder

RUNS: Final = ("brevo-anira-e", "brevo-anira-o", "mano-anira-e", "mano-anira-o", "mano-fixed")


@dataclass(frozen=True)
class Size:
    """How much is evaluated."""

    instances: int
    """A knob."""
    thresholds: tuple[float, ...]
    """Without 0.5, which is the median; at 1 everybody runs to the end."""


SIZES: Final = {
    "smoke": Size(16, (0.25, 1.0)),
    "cpu": Size(500, (0.1, 0.25, 0.75, 0.9, 0.95, 1.0)),
    "paper": Size(500, (0.1, 0.25, 0.75, 0.9, 0.95, 1.0)),
}


def reproduce(setting: Setting) -> Outcome:
    """Make pareto.json, pareto.csv and pareto.html."""
    used = [(name.split("-")[0], run) for name in RUNS for run in runs_of(f"{name}-{setting.scale}", setting)]
    shown = [_figures(run, task, SIZES[setting.scale], setting) for task, run in used]
    runs = [run for _, run in used]
    return make_files(setting, pareto_sheet(shown), runs=runs, figures=shown, tables={"pareto": point_table(shown)})


def _figures(run: UsedRun, task: str, size: Size, setting: Setting) -> ParetoRun:
    """Evaluate a run in all ways that are missing, and compare them."""
    config = RunFolder(run.folder).read_config()
    if config.task != task:
        raise UserError(f"{run.folder} is a run of task {config.task!r}, not of {task}")
    ways = rules(size) if policy_class(config.model["policy"]["name"]).rules else [("", None)]
    folders = [
        evaluated(
            run,
            f"pareto-{rule_name(select, threshold).replace(' ', '-')}-n{size.instances}",
            EvaluationConfig(count=size.instances, select=select or None, threshold=threshold),
            setting,
        )
        for select, threshold in ways
    ]
    return ParetoRun(origin=run.origin, figures=frontier(folders))


def rules(size: Size) -> list[tuple[str, float | None]]:
    """Return every way to choose depth: rule and threshold.

    >>> rules(Size(10, (0.1,)))
    [('mode', None), ('median', None), ('mean', None), ('quantile', 0.1)]
    """
    return [("mode", None), ("median", None), ("mean", None), *(("quantile", level) for level in size.thresholds)]
