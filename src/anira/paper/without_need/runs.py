"""The runs: adaptive policies where depth is not needed, nulls beside them, and fixed depths by which need is told."""

from pathlib import Path
from typing import Final

import torch
from torch import nn

from anira.evaluation import EvaluationConfig
from anira.models import AniraForCausalLM
from anira.paper.files import is_complete, records_folder
from anira.paper.policies.runs import FIXED, Comparison
from anira.paper.policies.runs import plan as policy_plan
from anira.paper.setting import Setting, UsedRun
from anira.sweeps.plan import Group, Plan, PlannedRun, planned_runs
from anira.training.evaluating import evaluate_loaded
from anira.training.run import load_run

SEEDS: Final = 3
TWIN, STEPS = "words-z6", "wordmath"
POLICIES: Final = {
    TWIN: (
        *("anira-o", "anira-e", "pondernet", "act", "calm", "mor-expert", "mor-token", "huginn", "ouro", "universal"),
        *("depth-adaptive", "mixture-of-depths", "think-at-hard"),
    ),
    STEPS: ("anira-o", "anira-e"),
}
"""Setting, as presets name it -> the adaptive policies that were trained there."""
NULLS: Final = ("random", "position")
"""Policies, trained over Z6, that cannot know what a token needs."""
UNTRAINED: Final = "untrained "
"""What the label of a trained model whose decider was drawn anew begins with."""
DRAWN_ANEW: Final = ("anira-o", "anira-e")


def plan(task: str, scale: str) -> list[PlannedRun]:
    """Return the runs of one setting."""
    names = (*POLICIES[task], *(NULLS if task == TWIN else ()))
    adaptive = policy_plan(Comparison(task=task, policies=names, seeds=SEEDS, scale=scale))
    fixed, seeds = (f"{task}-{FIXED}-{scale}",), tuple(range(SEEDS))
    shallow = Group(presets=fixed, seeds=seeds, set={"model.max_depth": 1})
    return [*adaptive, *planned_runs(Plan(groups=(Group(presets=fixed, seeds=seeds), shallow)))]


def is_null(label: str) -> bool:
    """Say whether a line is that of a null.

    >>> is_null("position"), is_null("untrained anira-o"), is_null("anira-o")
    (True, True, False)
    """
    return label in NULLS or label.startswith(UNTRAINED)


def untrained_evaluation(run: UsedRun, setting: Setting) -> Path:
    """Return the records of a run's model whose decider was drawn anew, with the run's seed."""
    records = records_folder(run, "untrained-decider", setting)
    if not is_complete(records):
        setting.tell(f"{run.preset}: evaluating {run.folder} with an untrained decider")
        config, model, step = load_run(run.folder)
        draw_decider(model, config.seed)
        evaluate_loaded((config, model, step), EvaluationConfig(count=config.final_count), records)
    return records


def draw_decider(model: AniraForCausalLM, seed: int) -> None:
    """Draw the matrices of a model's policy anew, also one that training starts from zeros: depth would be constant."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model.policy.init_weights()
        for parameter in model.policy.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, 0.0, model.config.initializer_range)
