"""Where the records of runs are, or are made: in the run, or beside it where the run is published."""

from collections.abc import Callable
from pathlib import Path

import polars as pl

from anira.config import UserError, replacing, write_file
from anira.config.folder import inside
from anira.evaluation import EvaluationConfig
from anira.measure.records.stored import read_asked
from anira.paper.setting import Setting, UsedRun
from anira.training.evaluating import evaluate_run


def evaluated(run: UsedRun, name: str, wanted: EvaluationConfig, setting: Setting) -> Path:
    """Return a folder of records of a run; where it is not complete, evaluate the run's model now."""
    records = records_folder(run, name, setting)
    if not is_complete(records):
        setting.tell(f"{run.preset}: evaluating {run.folder} into {name}")
        evaluate_run(run.folder, wanted, records)
    return records


def records_folder(run: UsedRun, name: str, setting: Setting) -> Path:
    """Return where records of a run are, or are to be made: RUN/records/NAME."""
    return _place(run, name, setting, is_complete)


def file_of_run(run: UsedRun, name: str, setting: Setting) -> Path:
    """Return where a file about a run's records is, or is to be made: RUN/records/NAME."""
    return _place(run, name, setting, Path.is_file)


def _place(run: UsedRun, name: str, setting: Setting, is_there: Callable[[Path], bool]) -> Path:
    """Return a place in a run, or beside it.

    A published run stays as it is: what it lacks is made under its name in the folder of runs.
    """
    own = inside(run.folder, "records", *name.split("/"))
    if is_there(own) or not any(place in run.folder.parents for place in setting.published):
        return own
    beside = setting.runs / run.folder.parent.name / run.folder.name
    made = beside / "records" / name
    made.parent.mkdir(parents=True, exist_ok=True)
    write_file(beside / "config.json", (run.folder / "config.json").read_text())
    return made


def is_complete(records: Path) -> bool:
    """Say whether a folder holds the records of a whole evaluation."""
    try:
        return bool(read_asked(records).get("complete"))
    except UserError:
        return False


def write_table(path: Path, table: pl.DataFrame) -> None:
    """Write a Parquet file."""
    with replacing(path) as part:
        table.write_parquet(part.absolute())  # polars would take a folder called ~ for the user's own
