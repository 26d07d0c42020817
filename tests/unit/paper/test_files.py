"""Where records of runs are made: in the run, or beside it where the run is published."""

import shutil

import polars as pl
import pytest
from tests.training_support import train_tiny

from anira.config import UserError
from anira.evaluation import EvaluationConfig
from anira.measure.records.loading import load_evaluation
from anira.measure.records.reading import read_records
from anira.measure.records.stored import run_config
from anira.paper.files import evaluated, write_table
from anira.paper.outcome import write_figure
from anira.paper.runs import runs_of
from anira.paper.setting import Setting
from anira.site import Badge, Page

PRESET = "mano-anira-o-smoke"


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return train_tiny(tmp_path_factory.mktemp("runs"), PRESET)


def setting(root, *published):
    return Setting(scale="smoke", out=root, runs=root / "runs", published=published, train=lambda *_: pytest.fail())


def test_a_full_disk_leaves_no_part_of_a_figure(tmp_path, file_limit):
    page = Page(title="x", badge=Badge("open", "open"), answer=["y"], sections=[])
    tables = {"lano.csv": pl.DataFrame({"knob": [1]})}
    for limit in (0, 20, 1000):
        with file_limit(limit), pytest.raises(UserError, match="cannot write"):
            write_figure(setting(tmp_path / "new"), "lano", page, tables, runs=[])
        assert not list(tmp_path.iterdir())
    made = write_figure(setting(tmp_path / "new"), "lano", page, tables, runs=[])
    assert {path.name for path in made.files} == {path.name for path in (tmp_path / "new").iterdir()}


def test_a_table_that_cannot_be_written_is_not_there(tmp_path, file_limit):
    with file_limit(20), pytest.raises(UserError, match="cannot write"):
        write_table(tmp_path / "a.parquet", pl.DataFrame({"knob": [1]}))
    assert not list(tmp_path.iterdir())


def files(folder):
    return {path.relative_to(folder) for path in folder.rglob("*")}


def test_records_of_an_own_run_lie_in_it(trained, tmp_path):
    shutil.copytree(trained, tmp_path / "runs" / PRESET / trained.name)
    (run,) = runs_of(PRESET, setting(tmp_path))
    records = evaluated(run, "more", EvaluationConfig(knobs=(1,), count=12), setting(tmp_path))
    assert records == run.folder / "records" / "more"
    assert len(read_records(load_evaluation(records)).instances) == 12


def test_a_published_run_stays_as_it_is(trained, tmp_path):
    shutil.copytree(trained, tmp_path / "results" / PRESET / trained.name)
    where = setting(tmp_path, tmp_path / "results")
    before = files(tmp_path / "results")
    (run,) = runs_of(PRESET, where)
    wanted = EvaluationConfig(knobs=(1,), count=12)
    records = evaluated(run, "more", wanted, where)
    assert files(tmp_path / "results") == before
    assert records == tmp_path / "runs" / PRESET / trained.name / "records" / "more"
    assert run_config(records)["preset"] == PRESET
    assert [one.folder for one in runs_of(PRESET, where)] == [run.folder], "records alone are no run"
    assert evaluated(run, "final", wanted, where) == run.folder / "records" / "final", "what is there is used"
