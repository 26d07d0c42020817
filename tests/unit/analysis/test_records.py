import polars as pl
import pytest
from tests.unit.analysis.records_support import Plan, write_evaluation

from anira.analysis.records import RECORDS_VERSION, load_evaluation
from anira.config import UserError

PLAN = Plan(knobs=(1, 2, 3), n=20)


@pytest.fixture
def folder(tmp_path):
    return write_evaluation(tmp_path / "final", PLAN)


def test_a_whole_folder_is_read_without_warnings(folder):
    evaluation = load_evaluation(folder)
    assert evaluation.warnings == ()
    assert evaluation.asked["n"] == 20
    assert evaluation.probes == ["stack_depth"]
    assert evaluation.collect(evaluation.instances.select(pl.len())).item() == 60
    assert sorted(evaluation.collect(evaluation.tokens.select("knob"))["knob"].unique()) == [1, 2, 3]


def test_rows_stay_on_disk_until_they_are_needed(folder):
    evaluation = load_evaluation(folder)
    assert isinstance(evaluation.tokens, pl.LazyFrame)
    (folder / "tokens-k002.parquet").unlink()
    with pytest.raises(UserError, match="cannot read the records in"):
        evaluation.collect(evaluation.tokens)


class TestIncomplete:
    def test_a_knob_that_was_not_reached_is_named(self, folder):
        for table in ("instances", "tokens"):
            (folder / f"{table}-k003.parquet").unlink()
        evaluation = load_evaluation(folder)
        assert evaluation.warnings == ("no records of knob 3: the evaluation was interrupted",)
        assert set(evaluation.collect(evaluation.tokens)["knob"]) == {1, 2}

    def test_half_a_knob_is_left_out_and_named(self, folder):
        (folder / "instances-k002.parquet").unlink()
        evaluation = load_evaluation(folder)
        assert "no records of knob 2" in evaluation.warnings[0]
        assert set(evaluation.collect(evaluation.tokens)["knob"]) == {1, 3}

    def test_half_a_knob_that_nobody_asked_for_is_named_too(self, tmp_path):
        folder = write_evaluation(tmp_path / "final", PLAN, knobs=[1, 2])
        (folder / "tokens-k003.parquet").unlink()
        assert load_evaluation(folder).warnings == ("knob 3 has one of its two tables only and is left out",)

    def test_an_evaluation_that_was_not_finished_says_so(self, tmp_path):
        folder = write_evaluation(tmp_path / "final", PLAN, complete=False)
        assert "not finished" in load_evaluation(folder).warnings[0]

    def test_a_file_that_is_being_written_is_not_read(self, folder):
        (folder / "tokens-k004.part").write_bytes(b"half")
        assert load_evaluation(folder).warnings == ()

    def test_without_a_single_knob_there_is_nothing_to_read(self, folder):
        for path in folder.glob("tokens-*"):
            path.unlink()
        with pytest.raises(UserError, match="no finished knob"):
            load_evaluation(folder)


class TestBroken:
    def test_other_versions_are_refused(self, tmp_path):
        folder = write_evaluation(tmp_path / "final", PLAN, records_version=RECORDS_VERSION + 1)
        with pytest.raises(UserError, match=f"version {RECORDS_VERSION + 1}, and this anira reads"):
            load_evaluation(folder)

    @pytest.mark.parametrize("version", [1, RECORDS_VERSION])
    def test_older_versions_are_read(self, tmp_path, version):
        folder = write_evaluation(tmp_path / "final", PLAN, records_version=version)
        assert not load_evaluation(folder).warnings

    @pytest.mark.parametrize(("text", "complaint"), [("{", "cannot read"), ("[]", "table of keys")])
    def test_a_broken_evaluation_json(self, folder, text, complaint):
        (folder / "evaluation.json").write_text(text)
        with pytest.raises(UserError, match=complaint):
            load_evaluation(folder)

    def test_no_evaluation_json(self, folder):
        (folder / "evaluation.json").unlink()
        with pytest.raises(UserError, match="is no evaluation folder"):
            load_evaluation(folder)

    def test_a_truncated_table_is_named(self, folder):
        path = folder / "tokens-k002.parquet"
        path.write_bytes(path.read_bytes()[:100])
        with pytest.raises(UserError, match=r"tokens-k002\.parquet.*evaluate this knob again"):
            load_evaluation(folder)

    @pytest.mark.parametrize(
        ("table", "column"), [("instances", "full_flops"), ("tokens", "exit_depth"), ("tokens", "knob")]
    )
    def test_a_missing_column_is_named(self, folder, table, column):
        path = folder / f"{table}-k003.parquet"
        pl.read_parquet(path).drop(column).write_parquet(path)
        with pytest.raises(UserError, match=rf"k003\.parquet has no column '{column}'"):
            load_evaluation(folder)

    def test_a_column_of_the_wrong_kind_is_named(self, folder):
        path = folder / "tokens-k001.parquet"
        pl.read_parquet(path).with_columns(pl.col("exit_depth").cast(pl.String)).write_parquet(path)
        with pytest.raises(UserError, match="'exit_depth' must be integer, not String"):
            load_evaluation(folder)


def test_a_policy_without_exit_probs_has_no_expected_depth(tmp_path):
    folder = write_evaluation(tmp_path / "final", Plan(expected=False))
    for path in folder.glob("tokens-*"):
        pl.read_parquet(path).with_columns(pl.lit(None).alias("expected_depth")).write_parquet(path)
    assert load_evaluation(folder).warnings == ()
