"""Evaluating a run by its folder: the model, the task, and whose records they are, all from what the folder holds."""

import re
from pathlib import Path
from typing import Any

from anira.config.folder import inside, subfolders
from anira.config.strict import run_id, stored_values
from anira.evaluation import EvaluationConfig, Overlap, RecordFolder, Subject, evaluate
from anira.evaluation.evaluate import Progress
from anira.evaluation.overlap import LARGEST
from anira.models import AniraForCausalLM
from anira.training.config import TrainConfig
from anira.training.run import load_run


def subject_of(config: TrainConfig, step: int) -> Subject:
    """Return what records say about whose they are."""
    return Subject(run_id=run_id(stored_values(config)), step=step, variant=config.variant, seed=config.seed)


def check_ahead(run: Path, config: TrainConfig, step: int) -> None:
    """Raise a UserError if training, from a step on, would come to records that are damaged or another run's."""
    for folder in subfolders(inside(run, "records")):
        periodic = re.fullmatch(r"step-(\d{1,18})", folder.name)
        if folder.name == "final" or (periodic and int(periodic[1]) > step):
            RecordFolder(folder).check(subject_of(config, step).run_id)


def evaluate_run(
    run: str | Path,
    wanted: EvaluationConfig,
    records: str | Path,
    *,
    step: int | None = None,
    progress: Progress | None = None,
) -> list[dict[str, Any]]:
    """Write records of a run's model, the last one by default, and mark what its training has read.

    Knobs that are there already are left as they are. Returns a line of figures for each knob.
    """
    return evaluate_loaded(load_run(run, step), wanted, records, progress=progress)


def evaluate_loaded(
    loaded: tuple[TrainConfig, AniraForCausalLM, int],
    wanted: EvaluationConfig,
    records: str | Path,
    *,
    progress: Progress | None = None,
) -> list[dict[str, Any]]:
    """Do the same for a run that `load_run` has loaded."""
    config, model, step = loaded
    task = config.make_task()
    rows = step * config.batch_size
    overlap = Overlap(task, seed=config.seed, rows=rows) if rows <= LARGEST else None
    return evaluate(model, task, wanted, subject_of(config, step), records, overlap=overlap, progress=progress)


def evaluation_name(step: int, wanted: EvaluationConfig, *, knobs: str = "", subtasks: str = "") -> str:
    """Return a folder name that tells evaluations of one checkpoint apart.

    >>> evaluation_name(9000, EvaluationConfig(count=200, override="depth-2"), knobs="3:16")
    'step-009000-n200-3-16-depth-2'
    """
    parts = (
        f"step-{step:06d}",
        f"n{wanted.count}",
        "_".join(map(str.strip, subtasks.split(","))),
        knobs.replace(":", "-").replace(",", "_"),
        wanted.select,
        "" if wanted.threshold is None else f"t{wanted.threshold:g}",
        "generated" if wanted.decode == "generated" else "",
        wanted.override,
    )
    return "-".join(part for part in parts if part)
