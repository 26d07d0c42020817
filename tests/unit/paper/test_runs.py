"""Planned runs: a run that was published without its records serves, and they are made again beside it."""

from pathlib import Path

import polars as pl
from polars.testing import assert_frame_equal
from tests.training_support import train_tiny

from anira.paper.policies.runs import own_evaluation
from anira.paper.runs import runs_of, unfinished, used_run
from anira.paper.setting import Setting
from anira.sweeps.plan import PlannedRun
from anira.training import RunFolder
from anira.training.publish import publish_run


def read(folder: Path, kind: str) -> pl.DataFrame:
    """Read records; which instances training has seen is marked afterwards, where that is asked for."""
    return pl.read_parquet(folder / f"{kind}-*.parquet").drop("seen_in_training", strict=False)


def test_a_run_without_records_is_evaluated_beside_the_published_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = train_tiny(tmp_path / "first", "mano-anira-o-smoke", steps=3)
    config = RunFolder(path).read_config()
    planned = PlannedRun(id="", config=config, changes={})
    where = Setting(scale="smoke", out=Path("out"), runs=Path("runs"), published=(Path("results"),), train=None)
    assert unfinished([planned], where) == [planned]
    publish_run(path, Path("results"), keep_records=False)
    assert unfinished([planned], where) == []
    run = used_run(planned, where)
    records = own_evaluation(run, where)
    assert records.parents[3] == Path("runs")
    assert not (run.folder / "records").exists()
    for kind in ("instances", "tokens"):
        assert_frame_equal(read(records, kind), read(path / "records" / "final", kind))
    before = {file: file.stat().st_mtime_ns for file in records.iterdir()}
    assert own_evaluation(run, where) == records
    assert before == {file: file.stat().st_mtime_ns for file in records.iterdir()}


def test_runs_of_another_setting_are_named_and_not_mixed_in(tmp_path):
    own = [train_tiny(tmp_path / "runs", "mano-anira-o-smoke", steps=2, seed=seed) for seed in (0, 1)]
    other = train_tiny(tmp_path / "runs", "mano-anira-o-smoke", steps=3)
    said = []
    where = Setting(scale="smoke", out=tmp_path, runs=own[0].parents[1], train=None, tell=said.append)
    assert [run.folder for run in runs_of("mano-anira-o-smoke", where)] == own
    assert said[0] == f"mano-anira-o-smoke: of another setting, so not a seed of this one: {other}"
