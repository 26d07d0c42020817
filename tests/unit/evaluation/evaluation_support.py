"""Small tasks, models whose tokens differ in depth, and evaluations of them."""

from pathlib import Path
from typing import Any

import polars as pl
import torch
from tests.models_support import random_model, small_config

from anira.evaluation import EvaluationConfig, Subject, evaluate
from anira.models import AniraForCausalLM, AniraOutput
from anira.tasks import Task, make_task
from anira.tasks.brevo import BrevoConfig
from anira.tasks.depo import DepoConfig
from anira.tasks.mano import ManoConfig

TASKS: dict[str, Task] = {
    "mano": make_task("mano", ManoConfig(modulus=5, min_size=1, max_size=4)),
    "brevo": make_task("brevo", BrevoConfig(min_nodes=3, max_nodes=5)),
    "depo": make_task("depo", DepoConfig(min_nodes=4, max_nodes=6, max_hops=3, eval_sizes=(5, 6), eval_queries=2)),
}
SUBJECT = Subject(run_id="run", step=7, variant="anira-o", seed=3)


def model_for(task: Task, policy: str = "anira-o", seed: int = 0, **changes: Any) -> AniraForCausalLM:
    """Return a random float64 model for a task's vocabulary."""
    return random_model(small_config(policy, vocab_size=len(task.vocab), **changes), seed)


@torch.no_grad()
def forward(model: AniraForCausalLM, row: list[int], **settings: Any) -> AniraOutput:
    """Run the parallel graph on one row by itself."""
    return model(torch.tensor([row]), **settings)


def evaluated(model: AniraForCausalLM, task: Task, folder: Path, **asked: Any) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Evaluate, and return the instances and the tokens of all knobs."""
    config = EvaluationConfig(**{"knobs": task.knob.seen, "count": 12, **asked})
    evaluate(model, task, config, SUBJECT, folder)
    return read(folder)


def read(folder: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the instances and the tokens of an evaluation, all knobs."""
    instances, tokens = (pl.read_parquet(folder / f"{kind}-*.parquet") for kind in ("instances", "tokens"))
    return instances.sort("instance_id"), tokens.sort("instance_id", "position")
