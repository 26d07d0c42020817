"""The runs of an explorer: what each of them says to a question, and what every token does on the way."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import mean
from typing import Any, Final

from anira.config import UserError, printable, to_dict
from anira.explore.requests import Choice
from anira.explore.sliders import controls
from anira.explore.tokens import Probes, shown_token
from anira.inference.lens import can_stop
from anira.models.wrapped import policy_in_use
from anira.runs import Run, load
from anira.runs.looking import find_predictions
from anira.runs.reading import Prompt
from anira.runs.tokens import Token
from anira.site.report.settings import experiment_names
from anira.tasks import BlockTask, Rows
from anira.training.config import TrainConfig

MOST_RUNS: Final = 3
"""More do not fit beside each other."""
LONGEST_ROW: Final = 2048
"""Tokens that a model is asked to read, the true answer included."""
GUESSES: Final = 3
"""Next tokens that are shown after each iteration."""
_LONGEST_STRIP: Final = 1000
"""Tokens; the earliest ones of a longer row are left out."""
_PATIENCE: Final = 20.0  # seconds


class BusyError(UserError):
    """A model that is still at work for somebody else."""


@dataclass(frozen=True, kw_only=True)
class ExploredRun:
    """A run with its label."""

    label: str
    run: Run
    config: TrainConfig
    patience: float = _PATIENCE
    lock: threading.Lock = field(default_factory=threading.Lock)
    """Held while the model works: it answers one question at a time."""

    @property
    def task(self) -> BlockTask:
        """What the run was trained on."""
        return self.run.task

    @property
    def max_depth(self) -> int:
        """The most iterations that a token can get."""
        return int(self.run.model.config.max_depth)

    @property
    def facts(self) -> dict[str, Any]:
        """What a page says about the run, and which controls it has."""
        policy = policy_in_use(self.run.model.policy)
        return {
            "label": self.label,
            "policy": policy.name,
            "about": f"seed {self.config.seed}, step {self.run.step}, up to {self.max_depth} iterations",
            "max_depth": self.max_depth,
            "rules": controls(policy.rules),
            "default_rule": policy.default_rule,
        }

    def read(self, question: str, choice: Choice) -> dict[str, Any]:
        """Return what the model answers, and what each token does on the way."""
        truth = self.task.read(question)
        check_length(truth)
        self._check(choice)
        with self._alone():
            said, written = self._said(question, truth, choice)
            tokens = self._with_lens(said, choice)
        probes = Probes(self.task, truth, [token.id for token in tokens])
        shown = tokens[-_LONGEST_STRIP:]
        grade = self.task.grade(truth, 0, written)
        return {
            "predicted": self.task.vocab.decode(written),
            "answer": self.task.vocab.decode(truth.answer(0)),
            "right": grade.exact,
            "lenient": grade.lenient,
            "written": writes(truth),
            "mean_depth": round(mean(len(token.after) or token.exit_depth for token in tokens), 2),
            "notes": list(self._notes(truth, shown, left_out=len(tokens) - len(shown))),
            "probes": probes.names,
            "tokens": [shown_token(token, probes.at(token.position)) for token in shown],
        }

    def _said(self, question: str, truth: Rows, choice: Choice) -> tuple[Sequence[Token], list[int]]:
        """Let the model write its answer; where that is impossible, read the true one and take what it predicts."""
        how, ids = choice.rule.call(), self.task.vocab.id
        if not writes(truth):
            read = self.run.depths(question, **how).tokens
            return read, [ids(read[place - 1].predicts) for place in truth.answer_positions(0)]
        written = self.run.generate(question, **how).tokens
        return written, [ids(token.predicts) for token in written if token.asked]

    def _with_lens(self, tokens: Sequence[Token], choice: Choice) -> Sequence[Token]:
        """Return tokens with what the model would say after each iteration, where it can be stopped."""
        if not can_stop(self.run.model):
            return tokens
        prompt = Prompt(ids=tuple(token.id for token in tokens))
        found = find_predictions(self.run.model, self.run.reader, prompt, choice.rule, GUESSES).tokens
        return [replace(token, after=other.after) for token, other in zip(tokens, found, strict=True)]

    def _notes(self, truth: Rows, shown: Sequence[Token], *, left_out: int) -> Iterator[str]:
        """Yield what a reader must know to read the view."""
        if not writes(truth):
            yield "each answer is predicted from the true tokens before it"
        if left_out:
            yield f"the first {left_out} tokens are not shown"
        if int(truth.lengths[0]) > self.config.max_length:
            yield f"the model was trained on up to {self.config.max_length} tokens, and this row is longer"
        if shown[0].exit_probs is None:
            yield "there are no exit probabilities here"
        if not shown[0].after:
            yield "tokens of this model cannot stop between iterations, so there are no predictions after each of them"

    def _check(self, choice: Choice) -> None:
        policy_in_use(self.run.model.policy).rule(choice.select, choice.threshold)
        if choice.depth is not None and choice.depth > self.max_depth:
            raise UserError(f"the model has at most depth {self.max_depth}: {choice.depth} cannot be forced")

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


def load_runs(places: Sequence[str | Path], step: int | None = None) -> list[ExploredRun]:
    """Load runs of one task, each verified as `anira evaluate` does, and give each its label."""
    if not 1 <= len(places) <= MOST_RUNS:
        raise UserError(f"one to {MOST_RUNS} runs are explored together, not {len(places)}")
    for place in places:
        if not Path(place).is_dir():  # a name on the hub would be fetched, and this asks nobody
            raise UserError(f"{place} is not a run: there is no such folder")
    runs = [load(place, step=step) for place in places]
    for run in runs:
        if run.task.name != runs[0].task.name:
            first = f"{runs[0].source} is of task {runs[0].task.name!r}"
            raise UserError(f"{first} and {run.source} of task {run.task.name!r}: explore runs of one task together")
    configs = [run.config for run in runs if run.config is not None]  # all: one without has no task
    labels = _labels([run.source for run in runs], configs)
    return [
        ExploredRun(label=label, run=run, config=config)
        for label, run, config in zip(labels, runs, configs, strict=True)
    ]


def _labels(folders: Sequence[Path], configs: Sequence[TrainConfig]) -> list[str]:
    """Name runs as reports do."""
    names = experiment_names([config.variant for config in configs], [to_dict(config) for config in configs])
    labels = [
        f"{name}, seed {config.seed}" if names.count(name) > 1 else name
        for name, config in zip(names, configs, strict=True)
    ]
    if len(set(labels)) < len(labels):  # runs that no setting tells apart
        paths = [printable(folder.resolve().name) for folder in folders]
        labels = [f"{label} ({path})" for label, path in zip(labels, paths, strict=True)]
    return labels
