"""The paper's figure of CLRS: accuracy and depth against input size for every subtask, for ANIRA-E and ANIRA-O.

Each run is evaluated at its seen sizes, at all between them, and at some beyond. Beside accuracy stands what needs no
algorithm: the commonest answer, and the input copied.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from anira.config import UserError, from_dict, json_text, write_file
from anira.config.sealed import read_json
from anira.evaluation import EvaluationConfig
from anira.measure.claims.subtasks import judge_subtasks
from anira.measure.subtasks import overview
from anira.paper.clrs.page import CellBaselines, ClrsRun, clrs_sheet, size_table
from anira.paper.files import evaluated, file_of_run, make_files
from anira.paper.found_runs import runs_of
from anira.paper.setting import Outcome, Setting, UsedRun
from anira.tasks.clrs import Clrs
from anira.tasks.clrs.baselines import measure_baselines
from anira.training import RunFolder, TrainConfig

VARIANTS: Final = ("anira-e", "anira-o")
WITHOUT_SIZE: Final = ("segments_intersect",)
"""Subtasks whose instances are the same at every size."""


@dataclass(frozen=True)
class Size:
    """How much is evaluated."""

    instances: int
    """A subtask and size."""
    beyond: float
    """Sizes go to the largest seen one times this."""


SIZES: Final = {"smoke": Size(16, 1.25), "cpu": Size(1000, 1.3), "paper": Size(200, 1.3)}


def reproduce(setting: Setting) -> Outcome:
    """Make clrs.json, clrs.csv and clrs.html."""
    used = [run for variant in VARIANTS for run in runs_of(f"clrs-{variant}-{setting.scale}", setting)]
    shown = [_figures(run, SIZES[setting.scale], setting) for run in used]
    claims = judge_subtasks([run.figures for run in shown], WITHOUT_SIZE)
    sheet = clrs_sheet(shown, WITHOUT_SIZE, [claim for judged in claims.values() for claim in judged])
    return make_files(setting, sheet, runs=used, figures=shown, tables={"clrs": size_table(shown)}, claims=claims)


def evaluated_sizes(part: Clrs, size: Size, max_length: int) -> tuple[int, ...]:
    """Return the sizes of one subtask: the seen ones, all between, and beyond as far as rows fit the model."""
    seen = part.knob.seen
    if part.subtask in WITHOUT_SIZE:
        return seen[:1]
    beyond = range(seen[-1] + 1, max(int(seen[-1] * size.beyond), seen[-1] + 1) + 1)
    fitting = [
        knob
        for knob in beyond
        if part.rows(seed=0, stream="eval", start=0, count=size.instances, knob=knob).lengths.max() <= max_length
    ]
    return (*range(seen[0], seen[-1] + 1), *fitting)


def _figures(run: UsedRun, size: Size, setting: Setting) -> ClrsRun:
    """Make the records and baselines that are missing, and compute a run's figures from them."""
    config = RunFolder(run.folder).read_config()
    task = _task(config, run.folder)
    knobs = {part.subtask: evaluated_sizes(part, size, config.max_length) for part in task.parts()}
    wanted = EvaluationConfig(knobs=knobs, count=size.instances)
    name = f"sizes-n{size.instances}"
    figures = overview(evaluated(run, name, wanted, setting))
    baselines = file_of_run(run, f"{name}/baselines.json", setting)
    if not baselines.exists():
        setting.tell(f"{run.preset}: baselines")
        cells = [(part.subtask, row.knob) for part in figures.subtasks for row in part.accuracy]
        measured = _baselines(task, [(name, knob) for name, knob in cells if knob is not None], size.instances)
        write_file(baselines, json_text([asdict(one) for one in measured], indent=1) + "\n")
    return ClrsRun(
        origin=run.origin,
        left_out=tuple(f"{name} {knob}" for name, knob in task.left_out),
        figures=figures,
        baselines=_read_baselines(baselines),
    )


def _read_baselines(path: Path) -> tuple[CellBaselines, ...]:
    try:
        return tuple(from_dict(CellBaselines, one) for one in read_json(path))
    except (UserError, TypeError) as error:
        raise UserError(f"{path} is damaged: {error}; remove it, and it is measured again") from error


def _baselines(task: Clrs, cells: list[tuple[str, int]], count: int) -> list[CellBaselines]:
    parts = {part.subtask: part for part in task.parts()}
    return [
        CellBaselines(subtask=name, size=size, **asdict(measure_baselines(parts[name], size, count=count)))
        for name, size in cells
    ]


def _task(config: TrainConfig, folder: Path) -> Clrs:
    task = config.make_task()
    if not isinstance(task, Clrs):
        raise UserError(f"{folder} is a run of task {task.name!r}, not of clrs")
    return task
