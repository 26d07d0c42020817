"""`check_task`: does a task keep the contract? Rows by address, answers that its grader accepts, probes per token."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from anira.tasks.base import IGNORE, STREAMS, BlockTask, Rows
from anira.testing.report import Report

COUNT = 24


def check_task(task: BlockTask) -> Report:
    """Check a task; the report says what failed, and why."""
    report = Report(f"task {task.name!r}")
    checks: dict[str, Callable[[BlockTask], str]] = {
        "rows are the same however they are reached": _addresses,
        "streams and seeds differ": _streams,
        "rows are well formed": _well_formed,
        "true answers are right, others are wrong": _grades,
        "probes have one value per token": _probes,
        "questions can be read back": _reads,
        "knobs are honoured": _knobs,
    }
    for part in task.parts():
        for name, check in checks.items():
            report.add(f"{part.subtask}: {name}" if part.subtask else name, lambda check=check, part=part: check(part))  # type: ignore[misc]
    return report


def _rows(task: BlockTask, *, start: int = 0, count: int = COUNT, seed: int = 0, stream: str = "train") -> Rows:
    return task.rows(seed=seed, stream=stream, start=start, count=count)


def _addresses(task: BlockTask) -> str:
    near = task.block - COUNT // 2  # over the end of a block
    whole = _rows(task, start=near)
    for i in (0, 1, COUNT - 1):
        if _rows(task, start=near + i, count=1).ids(0) != whole.ids(i):
            return f"row {near + i} alone is not the row {i} of a slice: let all randomness come from the given rng"
    again = type(task)(task.config)
    return "" if _rows(again, start=near).ids(0) == whole.ids(0) else "another object of the same task has other rows"


def _streams(task: BlockTask) -> str:
    seen = {
        (seed, stream): [_rows(task, seed=seed, stream=stream).ids(i) for i in range(COUNT)]
        for seed, stream in [(0, "train"), (1, "train"), *((0, stream) for stream in STREAMS[1:])]
    }
    kinds = list(seen)
    for one, other in pairwise(kinds):
        if seen[one] == seen[other]:
            return f"seed and stream {one} and {other} have the same rows"
    return ""


def _well_formed(task: BlockTask) -> str:
    rows = _rows(task)
    size = len(task.vocab)
    if rows.input_ids.min() < 0 or rows.input_ids.max() >= size:
        return f"tokens must lie between 0 and {size - 1}"
    for i in range(len(rows)):
        if not rows.answer_positions(i):
            return f"row {i} has no answer"
        if (rows.labels[i, rows.lengths[i] :] != IGNORE).any():
            return f"row {i} has labels in its padding"
    return ""


def _grades(task: BlockTask) -> str:
    rows = _rows(task)
    for i in range(len(rows)):
        truth = rows.answer(i)
        if not task.grade(rows, i, truth).exact:
            return f"the true answer of row {i} is graded wrong"
        if task.grade(rows, i, [(token + 1) % len(task.vocab) for token in truth]).exact:
            return f"a wrong answer to row {i} is graded exact"
    return ""


def _probes(task: BlockTask) -> str:
    rows = _rows(task)
    for i in range(4):
        found = task.probes(rows, i)
        missing = [probe.name for probe in task.probe_specs if probe.name not in found]
        if missing:
            return f"probe_specs names {missing[0]!r}, and probes has no such key"
        for name, values in found.items():
            if len(values) != rows.lengths[i]:
                return f"probe {name!r} has {len(values)} values for {rows.lengths[i]} tokens of row {i}"
            if np.isnan(values.astype(float)).all() and name in {probe.name for probe in task.probe_specs}:
                continue
    return ""


def _reads(task: BlockTask) -> str:
    rows = _rows(task)
    question = task.instance(rows, 0).question
    back = task.read(question)
    if not back.answer(0):
        return f"the question {question!r} read back has no answer"
    return ""


def _knobs(task: BlockTask) -> str:
    for knob in (task.knob.seen[0], task.knob.seen[-1]):
        rows = task.rows(seed=0, stream="eval", start=0, count=8, knob=knob)
        if not (rows.knob == knob).all():
            return f"rows(knob={knob}) have knobs {sorted(set(rows.knob.tolist()))}"
    return ""
