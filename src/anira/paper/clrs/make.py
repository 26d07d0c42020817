"""From runs of CLRS to the page: accuracy and depth against input size for every subtask, ANIRA-E and ANIRA-O.

Each run is evaluated at its seen sizes, at all between them, and at some beyond. Beside accuracy stands what needs no
algorithm: the commonest answer, and the input copied.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

import polars as pl

from anira.config import UserError, from_dict, json_text, write_file
from anira.config.sealed import read_json
from anira.evaluation import EvaluationConfig
from anira.measure import DRAWS, measure
from anira.measure.claims.alignment import judge_follows
from anira.measure.claims.extrapolation import judge_drops
from anira.measure.records.stored import read_asked
from anira.measure.sizes import unseen_rows
from anira.measure.statistics.estimates import Estimate
from anira.measure.tidy import Row, labels_of, make_row, make_table
from anira.paper.clrs.page import WITHOUT_SIZE, make_page
from anira.paper.files import evaluated, file_of_run
from anira.paper.found import Found, found_in
from anira.paper.outcome import write_figure
from anira.paper.runs import figure_runs, forced_evaluations
from anira.paper.setting import Outcome, Setting, UsedRun
from anira.tasks.clrs import Clrs
from anira.tasks.clrs.baselines import Baselines, measure_baselines
from anira.training import RunFolder

NAME: Final = "clrs"


INSTANCES: Final = {"smoke": 16, "cpu": 1000, "paper": 200}
"""Per subtask and size."""
BEYOND: Final = {"smoke": 1.25, "cpu": 1.3, "paper": 1.3}
"""Sizes go to the largest seen one times this."""
Cells = Mapping[tuple[str, int], Baselines]
"""What needs no algorithm, by subtask and size."""


def reproduce(setting: Setting) -> Outcome:
    """Make clrs.html, .csv and .json."""
    runs = figure_runs(NAME, setting)
    folders, baselines = [], {}
    left_out: dict[str, None] = {}
    for run in runs:
        task = cast("Clrs", RunFolder(run.folder).read_config().make_task())
        made = _evaluations(run, task, setting)
        folders += made
        baselines[str(read_asked(made[-1])["run_id"])] = _baselines(run, task, made[-1], setting)
        left_out |= dict.fromkeys(f"{name} {size}" for name, size in task.left_out)
    setting.tell(f"measuring {len(runs)} runs")
    found = measured(folders, baselines, left_out=", ".join(left_out))
    return write_figure(setting, NAME, make_page(found), found.tables(NAME), runs=runs, claims=found.claims)


def measured(
    folders: Sequence[Path], baselines: Mapping[str, Cells], *, left_out: str = "", draws: int = DRAWS
) -> Found:
    """Measure evaluation folders of runs that differ in variant and seed; `baselines` has those of each run id.

    `left_out` names subtasks and sizes that were asked for and are too long to be trained.
    """
    table = measure(folders, draws=draws)
    table = pl.concat([table, make_table(unseen_rows(table)), make_table(_baseline_rows(table, baselines))])
    judged = table.filter(~pl.col("subtask").is_in(WITHOUT_SIZE))
    claims = {"follows-complexity": judge_follows(judged), "no-generalisation": judge_drops(judged)}
    return found_in(table, claims, left_out=left_out)


def _baseline_rows(table: pl.DataFrame, baselines: Mapping[str, Cells]) -> Iterator[Row]:
    """Yield what needs no algorithm, at each size."""
    for row in table.filter(quantity="accuracy").drop_nulls("knob").iter_rows(named=True):
        one = baselines[row["run_id"]][row["subtask"], row["knob"]]
        for name, value in (("usual_answer", one.majority), ("copied_input", one.copy)):
            if value is not None:
                place = {"n": row["n"], "split": row["split"], "knob": row["knob"]}
                yield make_row(labels_of(row), name, Estimate(value), **place)


def evaluated_sizes(part: Clrs, max_length: int, *, count: int, beyond: float) -> tuple[int, ...]:
    """Return the sizes of one subtask: the seen ones, all between, and beyond as far as rows fit the model."""
    seen = part.knob.seen
    if part.subtask in WITHOUT_SIZE:
        return seen[:1]
    larger = range(seen[-1] + 1, max(int(seen[-1] * beyond), seen[-1] + 1) + 1)
    rows = partial(part.rows, seed=0, stream="eval", start=0, count=count)
    fitting = [knob for knob in larger if rows(knob=knob).lengths.max() <= max_length]
    return (*range(seen[0], seen[-1] + 1), *fitting)


def _evaluations(run: UsedRun, task: Clrs, setting: Setting) -> list[Path]:
    """Return an evaluation at seen sizes for each forced depth, and last that of all sizes."""
    longest = RunFolder(run.folder).read_config().max_length
    size: dict[str, Any] = {"count": INSTANCES[setting.scale], "beyond": BEYOND[setting.scale]}
    knobs = {part.subtask: evaluated_sizes(part, longest, **size) for part in task.parts()}
    wanted = EvaluationConfig(knobs=knobs, count=size["count"])
    *forced, _ = forced_evaluations(run, setting, wanted.count)
    return [*forced, evaluated(run, f"sizes-n{wanted.count}", wanted, setting)]


def _baselines(run: UsedRun, task: Clrs, sizes: Path, setting: Setting) -> Cells:
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
        stored = {(one.pop("subtask"), one.pop("size")): one for one in read_json(path)}
        return {place: from_dict(Baselines, one) for place, one in stored.items()}
    except (UserError, TypeError, KeyError, AttributeError) as error:
        raise UserError(f"{path} is damaged: {error}; remove it, and it is measured again") from error
