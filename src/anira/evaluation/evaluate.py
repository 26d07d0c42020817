"""A model over a knob grid: records for analysis, and the few figures that training logs."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import polars as pl
import torch
from transformers import PreTrainedModel

from anira.config import UserError, nearest
from anira.config.ranges import parse_integers
from anira.evaluation.lens import with_lens
from anira.evaluation.overlap import Overlap
from anira.evaluation.port import DepthModel, check_depths, depth_model, reading
from anira.evaluation.predict import Prediction, Settings
from anira.evaluation.records import RecordFolder
from anira.evaluation.tables import Labels, instance_table, token_table
from anira.evaluation.written import check_one_answer, generate_rows
from anira.records.overrides import attached_policy, forced_depth, is_override
from anira.tasks import Rows, Task

TOKENS = 256 * 1024  # in a batch, padding included: what longer rows than usual are split by
EVAL_SEED = 0  # all evaluations of a task read the same rows, so that variants are compared on the same instances


@dataclass(frozen=True, kw_only=True)
class EvaluationConfig:
    """What to evaluate."""

    knobs: tuple[int, ...] | Mapping[str, tuple[int, ...]] | None = None
    """Of every part of the task, or by subtask; None: for each part those that it is trained on."""
    count: int = 1000
    """Instances per knob."""
    batch_size: int = 256
    select: str | None = None
    threshold: float | None = None
    decode: Literal["parallel", "generated"] = "parallel"
    """generated: decode freely, for lenient grades and the depths of wrong answers."""
    override: str = ""
    """permuted: every token gets the depth of another one, at random: accuracy at equal compute. depth-3: every token
    is forced to depth 3. virtual: all iterations run for everyone, and the state at the exit is picked. max-depth-8: up
    to eight iterations are on offer. policy-huginn: the model's policy was replaced by this one (`attach_policy`)."""

    def __post_init__(self) -> None:
        if self.override and self.decode == "generated":
            raise UserError("depths are overridden in parallel evaluation: leave out --generate")
        if not is_override(self.override):
            known = "permuted, virtual, depth-3, max-depth-8 or policy-huginn"
            raise UserError(f"an override is {known}, not {self.override!r}")


@dataclass(frozen=True, kw_only=True)
class Subject:
    """Whose records they are."""

    run_id: str
    step: int
    variant: str
    seed: int


Progress = Callable[[int], None]


@torch.no_grad()
def evaluate(
    model: PreTrainedModel | DepthModel,
    task: Task,
    config: EvaluationConfig,
    subject: Subject,
    folder: str | Path,
    *,
    overlap: Overlap | None = None,
    progress: Progress | None = None,
) -> list[dict[str, Any]]:
    """Write the records of the knobs that are still missing; return one line of figures for every knob.

    A task that is several in one is evaluated part by part, each over its own knobs. `progress` is told how many
    instances are done, after each knob.
    """
    cells = evaluated_cells(task, config.knobs)
    records = RecordFolder(Path(folder))
    labels = make_labels(depth_model(model), config, subject)
    if config.decode == "generated":
        # Before anything is written; rows of a task are alike, so one tells.
        part, knob = cells[0]
        check_one_answer(part, part.rows(seed=EVAL_SEED, stream="eval", start=0, count=1, knob=knob))
    records.open(_asked(config, cells, subject, labels))
    figures = []
    with reading(model) as read:
        for number, (part, knob) in enumerate(cells):
            if records.missing([knob], part.subtask):
                rows = part.rows(seed=EVAL_SEED, stream="eval", start=0, count=config.count, knob=knob)
                made = _tables(read, part, rows, config, labels, number * config.count, overlap)
                records.write(knob, *made, part.subtask)
            else:
                made = records.read(knob, part.subtask)
            if progress is not None:
                progress((number + 1) * config.count)
            figures.append(_figures(part.subtask, knob, *made))
    records.close()
    return figures


def evaluated_cells(
    task: Task, knobs: tuple[int, ...] | Mapping[str, tuple[int, ...]] | None
) -> list[tuple[Task, int]]:
    """Return the parts and knobs that an evaluation goes over; a subtask or knob that does not exist is refused.

    >>> from anira.tasks import make_task
    >>> cells = evaluated_cells(make_task("clrs"), {"bridges": (4, 6), "sort": (9,)})
    >>> [(part.subtask, knob, part.knob.split(knob)) for part, knob in cells]
    [('bridges', 4, 'seen'), ('bridges', 6, 'extrapolation'), ('sort', 9, 'interpolation')]
    """
    parts = {part.subtask: part for part in task.parts()}
    if not isinstance(knobs, Mapping):
        knobs = {name: part.knob.seen if knobs is None else knobs for name, part in parts.items()}
    for name in knobs:
        if name not in parts:
            raise UserError(f"task {task.name!r} has no subtask {name!r} here: {nearest(name, parts)}")
    cells = [(parts[name], knob) for name, values in knobs.items() for knob in values]
    for part, knob in cells:
        part.knob.check(knob)
    return cells


def _asked(config: EvaluationConfig, cells: list[tuple[Task, int]], subject: Subject, labels: Labels) -> dict[str, Any]:
    """Return what evaluation.json says; another request in the same folder differs in it."""
    by_subtask: dict[str, list[int]] = {}
    for part, knob in cells:
        by_subtask.setdefault(part.subtask, []).append(knob)
    # Only tasks that have subtasks have them in the file.
    knobs = by_subtask[""] if set(by_subtask) == {""} else by_subtask
    asked = {
        **asdict(subject),
        **asdict(config),
        "knobs": knobs,
        "select": labels.select,
        "threshold": labels.threshold,
    }
    return {"n" if name == "count" else name: value for name, value in asked.items()}


def make_labels(model: DepthModel, config: EvaluationConfig, subject: Subject) -> Labels:
    """Return what all records of an evaluation share; a rule that the model's policy cannot follow is refused."""
    check_depths(model, forced_depth(config.override))
    if attached_policy(config.override) not in (None, model.policy):
        raise UserError(f"the model's policy is {model.policy!r}: attach the other one first")
    rule = model.rule(config.select, config.threshold)
    return Labels(
        **asdict(subject), select=rule.select, threshold=rule.threshold, decode=config.decode, override=config.override
    )


def _tables(
    model: DepthModel,
    task: Task,
    rows: Rows,
    config: EvaluationConfig,
    labels: Labels,
    first: int,
    overlap: Overlap | None,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    settings = Settings(select=config.select, threshold=config.threshold, override=config.override)
    truth = rows
    parts: list[tuple[Rows, Prediction]] = []
    size = max(1, min(config.batch_size, TOKENS // truth.input_ids.shape[1]))
    for start in range(0, len(truth), size):
        batch = truth.take(slice(start, start + size))
        if config.decode == "generated":
            parts.append(generate_rows(model, task, batch, settings))
        else:
            parts.append((batch, model.read(batch, settings)))
    rows = Rows.concat([part for part, _ in parts])
    prediction = Prediction.concat([part for _, part in parts])
    seen = None if overlap is None else overlap.seen(truth)
    instances = instance_table(task, model, truth, rows, prediction, labels, first, seen)
    tokens = token_table(task, truth, rows, prediction, labels, first)
    if not config.override:
        tokens = with_lens(tokens, instances, model, task, rows, prediction)
    return instances, tokens


def _figures(subtask: str, knob: int, instances: pl.DataFrame, tokens: pl.DataFrame) -> dict[str, Any]:
    """Return what training logs of one knob."""
    answers = tokens.filter(pl.col("target_kind") == "answer")
    figures = {
        "subtask": subtask or None,
        "knob": knob,
        "n": len(instances),
        "accuracy": instances["correct"].mean(),
        "depth_answer": answers["exit_depth"].mean(),
        "depth_prompt": tokens.filter(pl.col("target_kind") == "prompt")["exit_depth"].mean(),
        "expected_depth_answer": answers["expected_depth"].mean(),
    }
    return {name: value for name, value in figures.items() if value is not None}


def choose_knobs(
    task: Task, knobs: str | None, subtasks: str | None
) -> tuple[int, ...] | dict[str, tuple[int, ...]] | None:
    """Return the knobs of all parts, or by subtask where some were chosen; None: those that were trained.

    >>> from anira.tasks import make_task
    >>> choose_knobs(make_task("clrs"), "4,5", "sort,bfs")
    {'sort': (4, 5), 'bfs': (4, 5)}
    """
    wanted = None if knobs is None else parse_knobs(knobs, task)
    if subtasks is None:
        return wanted
    seen = {part.subtask: part.knob.seen for part in task.parts()}
    return {name: wanted or seen[name] for name in parse_subtasks(subtasks, task)}


def parse_subtasks(text: str, task: Task) -> tuple[str, ...]:
    """Return the subtasks that a text such as `sort,bfs` names.

    >>> from anira.tasks import make_task
    >>> parse_subtasks("sort, bfs", make_task("clrs"))
    ('sort', 'bfs')
    """
    names = [name.strip() for name in text.split(",")]
    known = [part.subtask for part in task.parts() if part.subtask]
    if not known:
        raise UserError(f"task {task.name!r} has no subtasks: leave out --subtasks")
    for name in names:
        if name not in known:
            raise UserError(f"task {task.name!r} has no subtask {name!r} here: {nearest(name, known)}")
    if len(set(names)) < len(names):
        raise UserError(f"subtasks must be distinct: {text!r}")
    return tuple(names)


def parse_knobs(text: str | None, task: Task) -> tuple[int, ...]:
    """Return the knobs that a text such as `3:16` or `10,20,50` names; all trained ones by default.

    >>> from anira.tasks import make_task
    >>> parse_knobs("3:5,9", make_task("mano"))
    (3, 4, 5, 9)
    """
    if text is None:
        return task.knob.seen
    knobs = parse_integers(text, "knobs")
    for knob in (min(knobs), max(knobs)) if knobs else ():
        task.knob.check(knob)
    if not knobs or len(set(knobs)) < len(knobs):
        raise UserError(f"knobs must be distinct, and at least one: {text!r}")
    return tuple(knobs)
