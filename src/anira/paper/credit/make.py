"""The study from finished runs to its page."""

from typing import Final

from anira.measure import DRAWS
from anira.paper.credit.page import make_page
from anira.paper.credit.pairs import ALONE, GAMMAS, compared, label
from anira.paper.found import measure_labelled
from anira.paper.outcome import write_figure
from anira.paper.policies.runs import own_evaluation
from anira.paper.runs import evaluate_planned, unfinished
from anira.paper.setting import Outcome, Setting
from anira.sweeps.plan import Group, Plan, PlannedRun, planned_runs

NAME: Final = "credit"
SEEDS: Final = (0, 1, 2)
TASK: Final = "words"


def reproduce(setting: Setting) -> Outcome:
    """Make credit.html, .json and .csv."""
    planned = plan(setting.scale)
    runs, folders = evaluate_planned(planned, setting, records=lambda _, run: [own_evaluation(run, setting)])
    table = measure_labelled(TASK, folders, dict(zip(folders, map(label, planned), strict=True)), draws=DRAWS)
    found = compared(table)
    return write_figure(setting, NAME, make_page(found), found.tables(NAME), runs=runs)


def missing(setting: Setting) -> list[PlannedRun]:
    """Return the runs that have to be trained first."""
    return unfinished(plan(setting.scale), setting)


def plan(scale: str) -> list[PlannedRun]:
    """Return the runs: each way of credit at each price, and Ouro's first stage, with each seed."""
    prices = {"policy.gamma": list(GAMMAS)}
    straight = Group(
        presets=tuple(f"{TASK}-{name}-{scale}" for name in ("anira-o", "anira-e")),
        seeds=SEEDS,
        grid={"policy.lookahead": ["full", "one"], **prices},
    )
    exact = Group(presets=(f"{TASK}-pondernet-{scale}",), seeds=SEEDS, grid=prices)
    alone = Group(presets=(f"{TASK}-{ALONE}-{scale}",), seeds=SEEDS)
    return planned_runs(Plan(groups=(straight, exact, alone)))
