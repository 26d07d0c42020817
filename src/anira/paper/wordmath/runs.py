"""The runs: ANIRA-E, ANIRA-O and fixed depth, and fixed depth 1 by which need is told; both forms of the answer."""

from dataclasses import replace
from pathlib import Path
from typing import Final

from anira.evaluation import EvaluationConfig
from anira.paper.files import evaluated
from anira.paper.setting import Setting, UsedRun
from anira.sweeps.plan import Group, Plan, PlannedRun, planned_runs
from anira.training import RunFolder

FORMS: Final = {"wordmath": "step by step", "wordmath-final": "as one number"}
"""What presets begin with -> how the answer is given."""
FIXED: Final = "fixed"
SHALLOW: Final = "fixed-1"
VARIANTS: Final = ("anira-e", "anira-o", FIXED)
SEEDS: Final = (0, 1, 2)
BEYOND: Final = 2
"""Clauses that P1 and P2 have more than the hardest problems of training."""


def plan(form: str, scale: str) -> list[PlannedRun]:
    """Return the runs of one form of the answer."""
    presets = tuple(f"{form}-{variant}-{scale}" for variant in VARIANTS)
    shallow = Group(presets=presets[-1:], seeds=SEEDS, set={"model.max_depth": 1})
    return planned_runs(Plan(groups=(Group(presets=presets, seeds=SEEDS), shallow)))


def label(run: PlannedRun) -> str:
    """Name a run's line: its variant, or fixed-1."""
    return SHALLOW if run.config.model["max_depth"] == 1 else run.config.variant


def evaluations(run: UsedRun, setting: Setting) -> list[Path]:
    """Return records by the policy's own rule and at forced depth 1, from one clause to two beyond training."""
    config = RunFolder(run.folder).read_config()
    seen = config.make_task().knob.seen
    own = EvaluationConfig(count=config.final_count, knobs=(*seen, *range(max(seen) + 1, max(seen) + 1 + BEYOND)))
    name = f"clauses-n{own.count}"
    shallow = evaluated(run, f"{name}-depth-1", replace(own, override="depth-1"), setting)
    return [shallow, evaluated(run, name, own, setting)]
