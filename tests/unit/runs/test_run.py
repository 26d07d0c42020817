"""Records, measures, evaluations and comparisons of a loaded run."""

import shutil

import polars as pl
import pytest
from tests.unit.runs.runs_support import MANO, RESULTS, loaded

import anira
from anira.config import UserError
from anira.measure.paired import paired_table
from anira.measure.records.reading import read_runs

OTHER = RESULTS / "mano-anira-e-cpu" / "99197f5c-s1"


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A run that may be written in."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    shutil.copytree(MANO, folder)
    return anira.load(str(folder))


def test_records_are_two_tables_of_the_same_instances():
    run = loaded(MANO)
    found = run.records()
    assert found.asked["n"] == 1000
    assert set(found.tokens["instance_id"]) == set(found.instances["instance_id"])
    assert run.evaluations == ["final"]
    assert found.instances.to_pandas().shape == found.instances.shape
    with pytest.raises(UserError, match="no evaluation 'finale': did you mean 'final'"):
        run.records("finale")


def test_metrics_are_lines_of_training_and_evaluation():
    found = loaded(MANO).metrics()
    assert set(found["kind"]) == {"train", "eval"}
    assert found.filter(kind="eval", step=9000)["knob"].to_list() == [1, 2, 3]


def test_an_evaluation_is_kept_with_the_run(copy):
    forced = copy.evaluate([1, 2], count=12, exit_depth=1)
    assert forced.path.name == "step-009000-n12-1_2-depth-1"
    assert forced.tokens["exit_depth"].unique().to_list() == [1]
    assert copy.evaluations == ["step-009000-n12-1_2-depth-1", "final"]
    named = copy.evaluate("3", count=5, select="quantile", threshold=0.9, generate=True, name="own")
    assert (named.asked["select"], named.asked["decode"], len(named.instances)) == ("quantile", "generated", 5)


def test_measure_is_the_tidy_table_of_the_run(copy):
    table = copy.measure()
    own = table.filter(quantity="accuracy", knob=3, decode="parallel")
    assert own["value"][0] == pytest.approx(copy.records().instances.filter(knob=3)["correct"].mean())


def test_two_runs_are_compared_on_the_same_instances():
    run = loaded(MANO)
    found = run.compare(str(OTHER))
    assert found.names == ("anira-o, seed 1", "anira-e, seed 1")
    assert found.table["paired"].all()
    row = found.table.filter(knob=3, quantity="accuracy").row(0, named=True)
    first, second = (one.records().instances.filter(knob=3).sort("instance_id") for one in (run, loaded(OTHER)))
    differences = second["correct"].cast(pl.Int64) - first["correct"].cast(pl.Int64)
    assert row["difference"] == pytest.approx(differences.mean())
    half = 1.96 * differences.std() / len(differences) ** 0.5
    assert (row["low"], row["high"]) == pytest.approx((row["difference"] - half, row["difference"] + half), abs=1e-4)
    assert row["low"] < row["second"] - row["first"] < row["high"]
    html = found._repr_html_()
    assert html.count("<svg") == 2
    assert "anira-e, seed 1" in html and "anira-e, seed 1" in repr(found)


def test_a_run_does_not_differ_from_itself():
    found = loaded(MANO).compare(MANO)
    assert found.table["difference"].unique().to_list() == [0.0]
    assert found.table["low"].null_count() == len(found.table)


def test_other_instances_of_a_knob_are_compared_unpaired():
    first = [one.main for one in read_runs(MANO)]
    second = [one.main for one in read_runs(OTHER)]
    moved = [
        type(one)(one.evaluation, one.labels, one.max_depth, one.instances.with_columns(question=pl.lit("other")))
        for one in second
    ]
    paired, apart = paired_table(first, second), paired_table(first, moved)
    assert not apart["paired"].any()
    assert apart["difference"].to_list() == pytest.approx(paired["difference"].to_list())
    width = pl.col("high") - pl.col("low")
    assert (apart.select(width) > paired.select(width)).to_series().drop_nulls().any()


def test_runs_of_different_tasks_have_nothing_in_common():
    with pytest.raises(UserError, match="no knob in common"):
        loaded(MANO).compare(RESULTS / "brevo-anira-e-cpu" / "616778cf-s0")


def test_a_model_without_a_run_has_no_records():
    with pytest.raises(UserError, match="model without a run"):
        anira.load(MANO / "checkpoints" / "step-9000").records()
