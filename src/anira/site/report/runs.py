"""A run as a report reads it: its configuration, its metrics, its evaluation, and what the page calls it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from anira.config import UserError, printable
from anira.measure.records.folders import choose_evaluation, forced_beside
from anira.measure.records.loading import Evaluation, load_evaluation
from anira.measure.records.stored import read_stored
from anira.measure.training.metrics import read_metrics
from anira.site.report.settings import experiment_names

_CHOSEN = ("step", "threshold", "decode", "override")


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run folder, and the evaluation of it that is shown."""

    folder: Path
    config: Mapping[str, Any]
    origin: Mapping[str, Any]
    """What else config.json says: versions, git hash, platform."""
    metrics: tuple[Mapping[str, Any], ...]
    """The lines of metrics.jsonl, those about other subtasks aside."""
    evaluation: Evaluation
    experiment: str = ""
    """The variant, and what else sets the run apart from others of its task, seeds aside."""
    label: str = ""
    """The same with the seed, where several runs differ in nothing else."""

    @property
    def forced(self) -> list[Path]:
        """Evaluations of the same step with every token forced to one depth."""
        return forced_beside(self.evaluation.folder)

    @property
    def run_id(self) -> str:
        """Whose records these are."""
        return str(self.evaluation.asked["run_id"])

    @property
    def task(self) -> str:
        """The name of the task."""
        return str(self.config["task"])

    @property
    def max_depth(self) -> int:
        """The largest depth D."""
        return int(self.config["model"]["max_depth"])

    @property
    def name(self) -> str:
        """The last parts of the path, which tell runs apart: <preset>/<hash8>-s<seed>."""
        return f"{self.folder.resolve().parent.name}/{self.folder.resolve().name}"


def load_runs(folders: Sequence[Path], evaluation: str | None = None, subtask: str | None = None) -> list[Run]:
    """Read run folders and give each its label; a UserError says which cannot be read."""
    runs = [_load(folder, evaluation, subtask) for folder in folders]
    places = [run.evaluation.folder.resolve() for run in runs]
    for folder, place in zip(folders, places, strict=True):
        if places.count(place) > 1:
            raise UserError(f"{folder} is given twice")
    tasks = dict.fromkeys(run.task for run in runs)
    return [run for task in tasks for run in _labelled([run for run in runs if run.task == task])]


def _load(folder: Path, evaluation: str | None, subtask: str | None) -> Run:
    chosen = choose_evaluation(folder, evaluation)
    if chosen == folder:
        raise UserError(f"{folder} is an evaluation: give the run folder, and --evaluation {folder.name}")
    stored = _read_stored(folder)
    records = load_evaluation(chosen, subtask)
    metrics = read_metrics(folder)
    return Run(
        folder=folder,
        config=stored["config"],
        origin={key: value for key, value in stored.items() if key != "config"},
        metrics=tuple(line for line in metrics if line.get("subtask", records.subtask) == records.subtask),
        evaluation=records,
    )


def _read_stored(folder: Path) -> dict[str, Any]:
    """Return what config.json says; what a page needs of it must be there, and of the kind that it has."""
    try:
        stored = read_stored(folder)
    except FileNotFoundError:
        raise UserError(f"{folder} is not a run: it has no config.json") from None
    except UserError as error:
        raise UserError(f"{folder} is not a run: {error}") from error
    config = stored["config"]
    model = config.get("model")
    depth = model.get("max_depth") if isinstance(model, dict) else None
    kinds = [(stored.get("versions", {}), dict), (depth, int)]
    kinds += [
        (config.get(name), kind) for name, kind in (("task", str), ("variant", str), ("seed", int), ("steps", int))
    ]
    if any(type(value) is not kind for value, kind in kinds):
        raise UserError(f"{folder} is not a run: its config.json lacks a task, variant, seed, steps or max_depth")
    return stored


def _labelled(runs: list[Run]) -> list[Run]:
    """Name the runs of one task."""
    variants = [str(run.config["variant"]) for run in runs]
    # How depth was chosen may set evaluations of equal runs apart.
    asked = [{key: run.evaluation.asked.get(key) for key in _CHOSEN} for run in runs]
    names = experiment_names(variants, [{**run.config, **own} for run, own in zip(runs, asked, strict=True)])
    labels = [
        f"{name}, seed {run.config['seed']}" if names.count(name) > 1 else name
        for name, run in zip(names, runs, strict=True)
    ]
    if len(set(labels)) < len(labels):  # runs that no setting tells apart
        labels = [f"{label} ({printable(run.folder.resolve().name)})" for label, run in zip(labels, runs, strict=True)]
    named = zip(runs, names, labels, strict=True)
    return [replace(run, experiment=name, label=label) for run, name, label in named]
