"""The paper's figure of the Pareto frontier: accuracy against mean depth under other rules and thresholds.

Each run is evaluated again for every rule: mode, median, mean, and a sweep of the cumulative threshold. Beside them
stands the fixed-depth variant.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from anira.evaluation import EvaluationConfig
from anira.measure import DRAWS, make_table
from anira.measure.pareto import FULL, rule_name, way_rows
from anira.measure.records.loading import load_evaluation
from anira.measure.records.reading import read_records
from anira.models.policies import policy_class
from anira.paper.files import evaluated
from anira.paper.found import Found, found_in
from anira.paper.outcome import write_figure
from anira.paper.pareto.page import make_page
from anira.paper.runs import figure_runs
from anira.paper.setting import Outcome, Setting, UsedRun
from anira.training import RunFolder

NAME: Final = "pareto"


INSTANCES: Final = {"smoke": 16, "cpu": 500, "paper": 500}
"""Per knob."""
THRESHOLDS: Final = {"smoke": (0.25, FULL), **dict.fromkeys(("cpu", "paper"), (0.1, 0.25, 0.75, 0.9, 0.95, FULL))}
"""Without 0.5, which is the median."""


def reproduce(setting: Setting) -> Outcome:
    """Make pareto.html, .csv and .json."""
    runs = figure_runs(NAME, setting)
    folders = [_records(run, setting) for run in runs]
    setting.tell(f"measuring {len(runs)} runs")
    found = measured(folders)
    return write_figure(setting, NAME, make_page(found), found.tables(NAME), runs=runs)


def rules(thresholds: Sequence[float]) -> list[tuple[str, float | None]]:
    """Return every way to choose depth: rule and threshold.

    >>> rules([0.1])
    [('mode', None), ('median', None), ('mean', None), ('quantile', 0.1)]
    """
    return [("mode", None), ("median", None), ("mean", None), *(("quantile", level) for level in thresholds)]


def _records(run: UsedRun, setting: Setting) -> list[Path]:
    """Evaluate a run in all ways that are missing."""
    policy, count = RunFolder(run.folder).read_config().model["policy"]["name"], INSTANCES[setting.scale]
    folders = []
    for select, threshold in rules(THRESHOLDS[setting.scale]) if policy_class(policy).rules else [("", None)]:
        name = f"pareto-{rule_name(select, threshold).replace(' ', '-')}-n{count}"
        wanted = EvaluationConfig(count=count, select=select or None, threshold=threshold)
        folders.append(evaluated(run, name, wanted, setting))
    return folders


def measured(runs: Sequence[Sequence[Path]], *, draws: int = DRAWS) -> Found:
    """Measure the evaluation folders of each run, one for each way to choose depth."""
    ways = [[read_records(load_evaluation(folder)) for folder in folders] for folders in runs]
    return found_in(make_table(row for one in ways for row in way_rows(one, draws=draws)))
