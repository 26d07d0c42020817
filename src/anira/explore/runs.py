"""The runs of an explorer: a model, its task, and what the model says to a question.

The only module here that knows how a run is loaded and read.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import polars as pl
import torch

from anira.config import UserError, printable, to_dict
from anira.evaluation.evaluate import EvaluationConfig, make_labels
from anira.evaluation.lens import with_lens
from anira.evaluation.port import AniraModel
from anira.evaluation.predict import Prediction
from anira.evaluation.tables import token_table
from anira.evaluation.written import generate_rows
from anira.explore.requests import Choice
from anira.explore.sliders import controls
from anira.models.wrapped import policy_in_use
from anira.site.report.settings import experiment_names
from anira.site.tokens import shown_token
from anira.tasks import BlockTask, Rows
from anira.training.config import TrainConfig
from anira.training.evaluating import subject_of
from anira.training.run import load_run

MOST_RUNS: Final = 3
"""More do not fit beside each other."""
LONGEST_ROW: Final = 2048
"""Tokens that a model is asked to read, the true answer included."""
_LONGEST_STRIP: Final = 1000
"""Tokens; the earliest ones of a longer row are left out."""
_PATIENCE: Final = 20.0  # seconds


class BusyError(UserError):
    """A model that is still at work for somebody else."""


@dataclass(frozen=True, kw_only=True)
class ExploredRun:
    """A loaded run."""

    label: str
    folder: Path
    config: TrainConfig
    step: int
    model: AniraModel
    task: BlockTask
    patience: float = _PATIENCE
    lock: threading.Lock = field(default_factory=threading.Lock)
    """Held while the model works: it answers one question at a time."""

    @property
    def facts(self) -> dict[str, Any]:
        """What a page says about the run, and which controls it has."""
        policy = policy_in_use(self.model.model.policy)
        return {
            "label": self.label,
            "policy": policy.name,
            "about": f"seed {self.config.seed}, step {self.step}, up to {self.model.max_depth} iterations",
            "max_depth": self.model.max_depth,
            "rules": controls(policy.rules),
            "default_rule": policy.default_rule,
        }

    @torch.no_grad()
    def read(self, question: str, choice: Choice) -> dict[str, Any]:
        """Return what the model answers, and what each token does on the way."""
        truth = self.task.read(question)
        check_length(truth)
        wanted = EvaluationConfig(select=choice.select, threshold=choice.threshold, override=choice.settings.override)
        labels = make_labels(self.model, wanted, subject_of(self.config, self.step))
        with self._alone():
            rows, said = self._said(truth, choice)
            tokens = token_table(self.task, truth, rows, said, labels, 0)
            right = pl.DataFrame({"instance_id": [0], "correct": [True]})
            tokens = with_lens(tokens, right, self.model, self.task, rows, said)
        return self._view(truth, rows, said, tokens)

    def _said(self, truth: Rows, choice: Choice) -> tuple[Rows, Prediction]:
        """Let the model write its answer; where that is impossible, read the true one and take what it predicts."""
        if writes(truth):
            return generate_rows(self.model, self.task, truth, choice.settings)
        return truth, self.model.read(truth, choice.settings)

    def _view(self, truth: Rows, rows: Rows, said: Prediction, tokens: pl.DataFrame) -> dict[str, Any]:
        places = rows.answer_positions(0)
        given = [int(said.predicted[0, place - 1]) for place in places]
        grade = self.task.grade(truth, 0, given)
        fed = tokens.filter(pl.col("position") < places[-1])  # nobody reads the last token that is written
        probes = [name.removeprefix("probe_") for name in tokens.columns if name.startswith("probe_")]
        texts = dict(enumerate(self.task.vocab.tokens))
        shown = fed.tail(_LONGEST_STRIP)
        return {
            "run": self.label,
            "predicted": self.task.vocab.decode(given),
            "answer": self.task.vocab.decode(truth.answer(0)),
            "right": grade.exact,
            "lenient": grade.lenient,
            "mean_depth": round(float(fed["executed"].to_numpy().mean()), 2),
            "notes": list(self._notes(truth, shown, left_out=len(fed) - len(shown))),
            "probes": [name.replace("_", " ") for name in probes],
            "tokens": [shown_token(token, texts, probes) for token in shown.iter_rows(named=True)],
        }

    def _notes(self, truth: Rows, shown: pl.DataFrame, *, left_out: int) -> Iterator[str]:
        """Yield what a reader must know to read the view."""
        if not writes(truth):
            yield "each answer is predicted from the true tokens before it"
        if left_out:
            yield f"the first {left_out} tokens are not shown"
        if int(truth.lengths[0]) > self.config.max_length:
            yield f"the model was trained on up to {self.config.max_length} tokens, and this row is longer"
        if shown["exit_probs"].is_null().all():
            yield "this policy has no exit probabilities"
        if shown["lens"].is_null().all():
            yield "tokens of this model cannot stop between iterations, so there are no predictions after each of them"

    @contextmanager
    def _alone(self) -> Iterator[None]:
        if not self.lock.acquire(timeout=self.patience):
            raise BusyError(f"{self.label} is busy with another question: try again in a moment")
        try:
            yield
        finally:
            self.lock.release()


def writes(truth: Rows) -> bool:
    """Say whether a model can write the answer of a row itself: there is one, and something before it to read."""
    return truth.has_one_answer(0) and truth.answer_positions(0)[0] > 1


def check_length(rows: Rows) -> None:
    """Refuse a question that would keep a model busy for too long."""
    length = int(rows.lengths[0])
    if length > LONGEST_ROW:
        raise UserError(f"the question and its answer have {length} tokens: at most {LONGEST_ROW} are read here")


def load_runs(folders: Sequence[Path], step: int | None = None) -> list[ExploredRun]:
    """Load runs of one task, each verified as `anira evaluate` does, and give each its label."""
    if not 1 <= len(folders) <= MOST_RUNS:
        raise UserError(f"one to {MOST_RUNS} runs are explored together, not {len(folders)}")
    loaded = [load_run(folder, step) for folder in folders]
    configs = [config for config, _, _ in loaded]
    tasks = [config.make_task() for config in configs]
    for folder, config in zip(folders, configs, strict=True):
        if config.task != configs[0].task:
            first = f"{folders[0]} is of task {configs[0].task!r}"
            raise UserError(f"{first} and {folder} of task {config.task!r}: explore runs of one task together")
    return [
        ExploredRun(label=label, folder=folder, config=config, step=at, model=AniraModel(model), task=task)
        for label, folder, (config, model, at), task in zip(
            _labels(folders, configs), folders, loaded, tasks, strict=True
        )
    ]


def _labels(folders: Sequence[Path], configs: Sequence[TrainConfig]) -> list[str]:
    """Name runs as reports do."""
    names = experiment_names([config.variant for config in configs], [to_dict(config) for config in configs])
    labels = [
        f"{name}, seed {config.seed}" if names.count(name) > 1 else name
        for name, config in zip(names, configs, strict=True)
    ]
    if len(set(labels)) < len(labels):  # runs that no setting tells apart
        labels = [
            f"{label} ({printable(folder.resolve().name)})" for label, folder in zip(labels, folders, strict=True)
        ]
    return labels
