"""Give files that a test has written or edited by hand the check-sums and names that anira would have given them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from anira.config.sealed import SEAL, end_line, facts_of, write_sealed
from anira.config.strict import run_id
from anira.records.checks import LABELS


def seal_run(run: Path) -> Path:
    """Make a run folder agree with itself: its configuration, records and metrics as they stand are its own."""
    stored = plain(run / "config.json")
    write_sealed(run / "config.json", stored)
    for asked in sorted(run.glob("records/*/evaluation.json")):
        seal_evaluation(asked.parent, {**plain(asked), "run_id": run_id(stored["config"])})
    metrics = run / "metrics.jsonl"
    if metrics.exists():
        lines = [line for line in metrics.read_bytes().splitlines(keepends=True) if b'"kind": "end"' not in line]
        metrics.write_bytes(b"".join(lines) + end_line(b"".join(lines), run_id(stored["config"])))
    return run


def seal_evaluation(folder: Path, asked: dict[str, Any] | None = None) -> Path:
    """List the tables of an evaluation as they stand, under what was asked; what is not asked is as the tables say."""
    asked = plain(folder / "evaluation.json") if asked is None else asked
    files = sorted(folder.glob("*.parquet"))
    for file in files:
        table = pl.read_parquet(file, glob=False)
        if "run_id" in asked and "run_id" in table.columns and (table["run_id"] != asked["run_id"]).any():
            table.with_columns(run_id=pl.lit(asked["run_id"])).write_parquet(file)
    instances = [pl.read_parquet(file, glob=False) for file in files if file.name.startswith("instances")]
    told = next((table.row(0, named=True) for table in instances if len(table)), {})
    labels = {name: told[name] for name in LABELS if name in told}
    listed = {file.name: facts_of(file) for file in files}
    write_sealed(folder / "evaluation.json", {"run_id": "run", "n": 0, "knobs": [], **labels, **asked, "files": listed})
    return folder


def edit_json(path: Path, **changes: Any) -> None:
    """Change values of a JSON file; its check-sum is right again."""
    write_sealed(path, {**plain(path), **changes})


def plain(path: Path) -> dict[str, Any]:
    """Return the values of a JSON file without its check-sum."""
    return {name: value for name, value in json.loads(path.read_text()).items() if name != SEAL}


def edit_table(path: Path, change: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
    """Change a table of an evaluation; its check-sum is right again."""
    change(pl.read_parquet(path, glob=False)).write_parquet(path)
    seal_evaluation(path.parent)


def unlist(folder: Path, *names: str) -> None:
    """Take files out of an evaluation, as if an interrupt had come before them."""
    listed = plain(folder / "evaluation.json")["files"]
    edit_json(folder / "evaluation.json", files={name: facts for name, facts in listed.items() if name not in names})
