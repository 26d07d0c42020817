"""From runs of CLRS to the page: accuracy and depth against input size for every subtask, ANIRA-E and ANIRA-O.

Each run is evaluated at its seen sizes, at all between them, and at some beyond. Beside accuracy stands what needs no
algorithm: the commonest answer, and the input copied.
"""

from dataclasses import asdict
from pathlib import Path
from typing import Final, NamedTuple

from anira.config import UserError, from_dict, json_text, write_file
from anira.config.sealed import read_json
from anira.evaluation import EvaluationConfig
from anira.measure.records.stored import read_asked
from anira.paper.clrs.measure import NAMES, WITHOUT_SIZE, CellBaselines, measured
from anira.paper.clrs.page import make_page
from anira.paper.files import evaluated, file_of_run
from anira.paper.found_runs import runs_of
from anira.paper.outcome import write_outcome
from anira.paper.runs import forced_evaluations
from anira.paper.setting import Outcome, Setting, UsedRun
from anira.tasks.clrs import Clrs
from anira.tasks.clrs.baselines import measure_baselines
from anira.training import RunFolder

NAME: Final = "clrs"


class Size(NamedTuple):
    """How much is evaluated."""

    instances: int
    """Per subtask and size."""
    beyond: float
    """Sizes go to the largest seen one times this."""


SIZES: Final = {"smoke": Size(16, 1.25), "cpu": Size(1000, 1.3), "paper": Size(200, 1.3)}


def reproduce(setting: Setting) -> Outcome:
    """Make clrs.html, .csv and .json."""
    used = [run for variant in NAMES for run in runs_of(f"clrs-{variant}-{setting.scale}", setting)]
    tasks = [_task(run.folder) for run in used]
    folders, baselines = [], {}
    for run, task in zip(used, tasks, strict=True):
        made = _evaluations(run, task, SIZES[setting.scale], setting)
        folders += made
        baselines[read_asked(made[-1])["run_id"]] = _baselines(run, task, made[-1], setting)
    left_out = dict.fromkeys(f"{name} {size}" for task in tasks for name, size in task.left_out)
    setting.tell(f"measuring {len(used)} runs")
    found = measured(folders, baselines, left_out=list(left_out))
    return write_outcome(
        setting,
        NAME,
        {f"{NAME}.csv": found.runs, f"{NAME}-seeds.csv": found.seeds},
        lambda files: make_page(found, scale=setting.scale, files=files),
        runs=used,
        claims={"follows-complexity": found.follows, "no-generalisation": found.drops},
    )


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


def _evaluations(run: UsedRun, task: Clrs, size: Size, setting: Setting) -> list[Path]:
    """Return an evaluation at seen sizes for each forced depth, and last that of all sizes."""
    longest = RunFolder(run.folder).read_config().max_length
    knobs = {part.subtask: evaluated_sizes(part, size, longest) for part in task.parts()}
    wanted = EvaluationConfig(knobs=knobs, count=size.instances)
    *forced, _ = forced_evaluations(run, setting, size.instances)
    return [*forced, evaluated(run, f"sizes-n{size.instances}", wanted, setting)]


def _baselines(run: UsedRun, task: Clrs, sizes: Path, setting: Setting) -> list[CellBaselines]:
    """Return the baselines of all sizes; what is missing is measured now."""
    path = file_of_run(run, f"{sizes.name}/baselines.json", setting)
    if not path.exists():
        setting.tell(f"{run.preset}: baselines")
        asked = read_asked(sizes)
        cells = [(part, size) for part in task.parts() for size in asked["knobs"][part.subtask]]
        made = [(part.subtask, size, measure_baselines(part, size, count=asked["n"])) for part, size in cells]
        found = [{"subtask": name, "size": size, **asdict(one)} for name, size, one in made]
        write_file(path, json_text(found, indent=1) + "\n")
    try:
        return [from_dict(CellBaselines, one) for one in read_json(path)]
    except (UserError, TypeError) as error:
        raise UserError(f"{path} is damaged: {error}; remove it, and it is measured again") from error


def _task(folder: Path) -> Clrs:
    task = RunFolder(folder).read_config().make_task()
    if not isinstance(task, Clrs):
        raise UserError(f"{folder} is a run of task {task.name!r}, not of clrs")
    return task
