import polars as pl
import pytest
from tests.sealing_support import edit_json, edit_table, plain, unlist
from tests.unit.measure.records_support import Plan, write_evaluation, write_run

from anira.config import UserError
from anira.config.sealed import facts_of
from anira.measure.records.loading import load_evaluation
from anira.records import RECORDS_VERSION

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
        unlist(folder, "instances-k003.parquet", "tokens-k003.parquet")
        evaluation = load_evaluation(folder)
        assert evaluation.warnings == ("no records of knob 3: the evaluation was interrupted",)
        assert set(evaluation.collect(evaluation.tokens)["knob"]) == {1, 2}

    def test_half_a_knob_is_left_out_and_named(self, folder):
        unlist(folder, "instances-k002.parquet")
        evaluation = load_evaluation(folder)
        assert "no records of knob 2" in evaluation.warnings[0]
        assert set(evaluation.collect(evaluation.tokens)["knob"]) == {1, 3}

    def test_half_a_knob_that_nobody_asked_for_is_named_too(self, tmp_path):
        folder = write_evaluation(tmp_path / "final", PLAN, knobs=[1, 2])
        unlist(folder, "tokens-k003.parquet")
        assert load_evaluation(folder).warnings == ("knob 3 has one of its two tables only and is left out",)

    def test_an_evaluation_that_was_not_finished_says_so(self, tmp_path):
        folder = write_evaluation(tmp_path / "final", PLAN, complete=False)
        assert "not finished" in load_evaluation(folder).warnings[0]

    def test_a_file_that_is_not_listed_is_not_read(self, folder):
        (folder / "tokens-k002.part").write_bytes(b"half")
        (folder / "tokens-k004.parquet").write_bytes(b"not ours")
        assert load_evaluation(folder).warnings == ()

    def test_without_a_single_knob_there_is_nothing_to_read(self, folder):
        unlist(folder, *(path.name for path in folder.glob("tokens-*")))
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

    @pytest.mark.parametrize(
        ("text", "complaint"),
        [
            ("{", "cannot read"),
            ("[]", "table of keys"),
            ("[" * 10_000, "nested more than"),
            ('{"n": NaN}', "NaN is not JSON"),
            ('{"n": 3}', "has no check-sum"),
        ],
    )
    def test_a_broken_evaluation_json(self, folder, text, complaint):
        (folder / "evaluation.json").write_text(text)
        with pytest.raises(UserError, match=complaint):
            load_evaluation(folder)

    @pytest.mark.parametrize(
        "change", [{"n": "20"}, {"step": None}, {"complete": 1}, {"knobs": {"a": 3}}, {"files": []}]
    )
    def test_a_value_of_the_wrong_kind_is_named(self, folder, change):
        edit_json(folder / "evaluation.json", **change)
        with pytest.raises(UserError, match=rf"evaluation\.json: {next(iter(change))} must be"):
            load_evaluation(folder)

    def test_no_evaluation_json(self, folder):
        (folder / "evaluation.json").unlink()
        with pytest.raises(UserError, match="is no evaluation folder"):
            load_evaluation(folder)

    def test_a_changed_value_is_found(self, folder):
        path = folder / "evaluation.json"
        path.write_text(path.read_text().replace('"n": 20', '"n": 21'))
        with pytest.raises(UserError, match=r"evaluation\.json is damaged: it has changed"):
            load_evaluation(folder)

    @pytest.mark.parametrize("damage", [lambda data: data[:100], lambda data: data + b"x", lambda data: b""])
    def test_a_damaged_table_is_named(self, folder, damage):
        path = folder / "tokens-k002.parquet"
        path.write_bytes(damage(path.read_bytes()))
        with pytest.raises(UserError, match=r"content of tokens-k002\.parquet has changed; remove .* evaluate again"):
            load_evaluation(folder)

    def test_a_lost_table_is_named(self, folder):
        (folder / "tokens-k002.parquet").unlink()
        with pytest.raises(UserError, match=r"tokens-k002\.parquet is missing"):
            load_evaluation(folder)

    def test_a_table_that_is_none_is_named(self, folder):
        (folder / "tokens-k002.parquet").write_bytes(b"PAR1 or so")
        listed = {path.name: facts_of(path) for path in folder.glob("*.parquet")}
        edit_json(folder / "evaluation.json", files=listed)
        with pytest.raises(UserError, match=r"cannot read .*tokens-k002\.parquet.*evaluate this knob again"):
            load_evaluation(folder)

    def test_a_link_is_not_followed(self, folder, tmp_path):
        path = (folder / "tokens-k002.parquet").rename(tmp_path / "elsewhere.parquet")
        (folder / "tokens-k002.parquet").symlink_to(path)
        with pytest.raises(UserError, match=r"tokens-k002\.parquet is a symbolic link"):
            load_evaluation(folder)

    @pytest.mark.parametrize(
        ("table", "column"), [("instances", "full_flops"), ("tokens", "exit_depth"), ("tokens", "knob")]
    )
    def test_a_missing_column_is_named(self, folder, table, column):
        edit_table(folder / f"{table}-k003.parquet", lambda frame: frame.drop(column))
        with pytest.raises(UserError, match=rf"k003\.parquet has no column '{column}'"):
            load_evaluation(folder)

    @pytest.mark.parametrize(("column", "kind"), [("exit_depth", "integer"), ("exit_probs", "lists of floats")])
    def test_a_column_of_the_wrong_kind_is_named(self, folder, column, kind):
        edit_table(folder / "tokens-k001.parquet", lambda frame: frame.with_columns(pl.lit("2").alias(column)))
        with pytest.raises(UserError, match=f"'{column}' must be {kind}, not String"):
            load_evaluation(folder)


FIRST = pl.int_range(pl.len()) == 0


def first(value):
    """Put a value in the first row of a column."""
    return lambda column: pl.when(FIRST).then(pl.lit(value)).otherwise(pl.col(column)).cast(pl.Float64).alias(column)


class TestImpossible:
    """Tables that are as they were written, but that no evaluation can have written."""

    @pytest.mark.parametrize(
        ("column", "value", "complaint"),
        [
            ("exit_depth", 999, "exit_depth must lie between 1 and 6"),
            ("exit_depth", -5, "exit_depth must lie between 1 and 6"),
            ("exit_depth", 0, "exit_depth must lie between 1 and 6"),
            ("executed", 7, "executed must lie between exit_depth and 6"),
            ("executed", 0, "executed must lie between exit_depth and 6"),
            ("expected_depth", 6.5, "expected_depth must lie between 1 and 6"),
            ("expected_depth", float("nan"), "expected_depth is not a finite number"),
            ("expected_depth", float("inf"), "expected_depth is not a finite number"),
            ("probe_stack_depth", float("nan"), "probe_stack_depth is not a finite number"),
            ("position", 99, "a token row for each of its positions"),
            ("position", 1, "same instance_id and position"),
            ("instance_id", 777, "a token row for each of its positions"),
            ("knob", 3, "some knob is not 2"),
            ("position", None, "position is missing"),
        ],
    )
    def test_a_token_that_cannot_be_is_refused(self, folder, column, value, complaint):
        kind = pl.read_parquet_schema(folder / "tokens-k002.parquet")[column]
        edit_table(folder / "tokens-k002.parquet", lambda frame: frame.with_columns(first(value)(column).cast(kind)))
        with pytest.raises(UserError, match=rf"records that cannot be, knob 2: .*{complaint}.*evaluate again"):
            load_evaluation(folder)

    @pytest.mark.parametrize("table", ["instances", "tokens"])
    @pytest.mark.parametrize(
        "change", [lambda frame: pl.concat([frame, frame[:1]]), lambda frame: frame[1:], lambda frame: frame[:0]]
    )
    def test_a_row_too_many_or_too_few_is_refused(self, folder, table, change):
        edit_table(folder / f"{table}-k002.parquet", change)
        with pytest.raises(UserError, match="records that cannot be, knob 2"):
            load_evaluation(folder)

    @pytest.mark.parametrize("column", ["num_tokens", "full_iterations", "iterations"])
    def test_counts_that_contradict_each_other_are_refused(self, folder, column):
        edit_table(folder / "instances-k002.parquet", lambda frame: frame.with_columns(pl.col(column) + 10**6))
        with pytest.raises(UserError, match="records that cannot be, knob 2"):
            load_evaluation(folder)

    @pytest.mark.parametrize(
        "probs",
        [[0.5] * 6, [1.0], [2.0, -1.0, 0.0, 0.0, 0.0, 0.0], [float("nan")] * 6, [None, 1.0, 0.0, 0.0, 0.0, 0.0]],
    )
    def test_what_is_no_distribution_is_refused(self, folder, probs):
        good = pl.Series("exit_probs", [[1.0, 0.0, 0.0, 0.0, 0.0, 0.0]], dtype=pl.List(pl.Float32))
        bad = pl.Series("exit_probs", [probs], dtype=pl.List(pl.Float32))
        for values in (good, bad):
            edit_table(
                folder / "tokens-k002.parquet",
                lambda frame, values=values: frame.with_columns(
                    pl.concat([values, *[good] * (len(frame) - 1)]).alias("exit_probs")
                ),
            )
            if values is good:
                load_evaluation(folder)
        with pytest.raises(UserError, match="exit_probs must be 6 probabilities"):
            load_evaluation(folder)

    def test_labels_that_are_not_what_was_asked_are_refused(self, folder):
        edit_json(folder / "evaluation.json", seed=7)
        with pytest.raises(UserError, match=r"seed is not 7, as evaluation\.json says"):
            load_evaluation(folder)


def test_records_of_another_run_are_refused(tmp_path):
    run = write_run(tmp_path / "run", PLAN)
    edit_json(run / "config.json", config={**plain(run / "config.json")["config"], "seed": 1})
    with pytest.raises(
        UserError, match=r"has records of another run: of mano-test/.*-s0, and .* is that of mano-test/"
    ):
        load_evaluation(run / "records" / "final")


def test_a_policy_without_exit_probs_has_no_expected_depth(tmp_path):
    folder = write_evaluation(tmp_path / "final", Plan(expected=False))
    for path in folder.glob("tokens-*"):
        edit_table(folder / path.name, lambda frame: frame.with_columns(pl.lit(None).alias("expected_depth")))
    assert load_evaluation(folder).warnings == ()
