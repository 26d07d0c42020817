"""The files of an experiment: its page, its tables, its figures as JSON; and the records of its runs."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from anira.config import UserError, json_text, replacing, to_dict, write_file, write_files
from anira.config.folder import inside
from anira.evaluation import EvaluationConfig
from anira.measure.claims.knob import Claim
from anira.measure.csv import csv_text
from anira.measure.records.stored import read_asked
from anira.paper.setting import Outcome, Setting, UsedRun
from anira.site.sheet.sheet import Sheet, sheet_page, sheet_text
from anira.training.evaluating import evaluate_run


def make_files(
    setting: Setting,
    sheet: Sheet,
    *,
    runs: Sequence[UsedRun],
    figures: Sequence[Any],
    tables: Mapping[str, pl.DataFrame],
    claims: Mapping[str, Sequence[Claim]] | None = None,
    beside: Mapping[str, Any] | None = None,
) -> Outcome:
    """Write NAME.json, a CSV for each table by its name, and NAME.html; return what was made.

    `figures` has a dataclass for each of the runs, in their order; `beside` is what else the JSON says.
    """
    used = [
        {
            "preset": run.preset,
            "found": run.found,
            "differs": list(run.differs),
            "shrunk": list(run.shrunk),
            **to_dict(one),
        }
        for run, one in zip(runs, figures, strict=True)
    ]
    judged = {key: [to_dict(claim) for claim in found] for key, found in (claims or {}).items()}
    found = {"experiment": sheet.name, "scale": setting.scale, **(beside or {}), "runs": used, "claims": judged}
    contents = {
        f"{sheet.name}.json": json_text(found, indent=2) + "\n",
        **{f"{name}.csv": csv_text(table) for name, table in tables.items()},
        f"{sheet.name}.html": sheet_page(sheet),
    }
    write_files({setting.out / name: text for name, text in contents.items()})
    files = tuple(setting.out / name for name in contents)
    return Outcome(files=files, runs=tuple(runs), text=sheet_text(sheet), claims=claims or {})


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
