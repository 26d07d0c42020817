import numpy as np
import polars as pl
import pytest
from scipy import stats
from tests.unit.measure.records_support import Plan, write_evaluation

from anira.measure.allocation import alignment, depth_by_knob
from anira.measure.records.instances import instance_table
from anira.measure.records.loading import load_evaluation


def table_of(folder, plan):
    return instance_table(load_evaluation(write_evaluation(folder, plan)))


def aligned(folder, plan, *, seed=0, draws=400):
    rows = alignment(table_of(folder, plan), rng=np.random.default_rng(seed), draws=draws)
    return {(row.measure, row.subset): row for row in rows}


class TestDepthByKnob:
    def test_values_are_means_over_tokens(self, tmp_path):
        folder = write_evaluation(tmp_path / "e", Plan(answers=4, slope=0.5))
        evaluation = load_evaluation(folder)
        rows = depth_by_knob(instance_table(evaluation), rng=np.random.default_rng(0), draws=200)
        tokens = pl.read_parquet(folder / "tokens-k*.parquet")
        correct = pl.read_parquet(folder / "instances-k*.parquet").filter("correct")["instance_id"]
        assert [row.knob for row in rows] == [1, 2, 3, 4, None]
        for row in rows:
            own = tokens if row.knob is None else tokens.filter(pl.col("knob") == row.knob)
            answers = own.filter(pl.col("target_kind") == "answer")
            assert row.answer.value == pytest.approx(answers["exit_depth"].mean())
            assert row.expected.value == pytest.approx(answers["expected_depth"].mean())
            right = answers.filter(pl.col("instance_id").is_in(correct.implode()))
            assert row.answer_correct.value == pytest.approx(right["exit_depth"].mean())
            assert row.prompt.value == pytest.approx(own.filter(pl.col("target_kind") == "prompt")["exit_depth"].mean())
            for estimate in (row.answer, row.answer_correct, row.expected, row.prompt):
                assert estimate.low < estimate.value < estimate.high

    def test_without_exit_probs_there_is_no_expected_depth(self, tmp_path):
        rows = depth_by_knob(table_of(tmp_path / "e", Plan(expected=False)), rng=np.random.default_rng(0), draws=50)
        assert {row.expected.value for row in rows} == {None}
        assert {row.expected.reason for row in rows} == {"no such tokens"}

    def test_correct_answers_where_there_are_none_or_almost_none(self, tmp_path):
        table = table_of(tmp_path / "e", Plan(accuracy=0)).with_columns((pl.col("instance_id") == 0).alias("correct"))
        first, second, *_ = depth_by_knob(table, rng=np.random.default_rng(0), draws=200)
        assert first.answer_correct.value is not None
        assert first.answer_correct.low is None  # a third of the resamples miss the one instance
        assert second.answer_correct.value is None


class TestAlignment:
    def test_a_planted_rise_is_found_in_every_measure_and_subset(self, tmp_path):
        found = aligned(tmp_path / "e", Plan(slope=0.5, answers=3))
        assert found.keys() == {(m, s) for m in ("exit_depth", "expected_depth") for s in ("all", "correct")}
        for row in found.values():
            assert row.slope.low < 0.5 < row.slope.high
            assert row.slope.direction == row.spearman.direction == 1
            assert row.null_slope.covers_zero
            assert row.null_spearman.covers_zero
            assert row.slope.value > row.null_slope.high

    def test_a_planted_fall_is_found(self, tmp_path):
        row = aligned(tmp_path / "e", Plan(slope=-0.3, max_depth=9))["exit_depth", "all"]
        assert row.slope.direction == row.spearman.direction == -1

    @pytest.mark.slow
    def test_nothing_is_found_where_nothing_is_more_often_than_promised(self, tmp_path):
        """Of 60 worlds without an effect about 3 show one; more than 8 would be a wrong interval (p < 0.01)."""
        wrong = 0
        for world in range(60):
            found = aligned(tmp_path / str(world), Plan(slope=0, n=40, draw=world), seed=world, draws=200)
            wrong += found["exit_depth", "all"].slope.direction != 0
        assert stats.binom.sf(8, 60, 0.05) < 0.01
        assert wrong <= 8

    def test_values_agree_with_scipy(self, tmp_path):
        table = table_of(tmp_path / "e", Plan(slope=0.3, answers=3))
        means = (table["answer_depth"] / table["answer_tokens"]).to_numpy()
        row = alignment(table, rng=np.random.default_rng(0), draws=50)[0]
        assert row.slope.value == pytest.approx(stats.linregress(table["knob"], means).slope)
        assert row.spearman.value == pytest.approx(stats.spearmanr(table["knob"], means).statistic)

    def test_unseen_knobs_bring_a_subset_without_them(self, tmp_path):
        found = aligned(tmp_path / "e", Plan(knobs=(1, 2, 3, 8), seen=(1, 2, 3)))
        assert found["exit_depth", "seen"].instances == 300
        assert found["exit_depth", "all"].instances == 400

    def test_constant_depth_and_a_single_knob_are_undefined_not_zero(self, tmp_path):
        flat = aligned(tmp_path / "flat", Plan(max_depth=1, expected=False))["exit_depth", "all"]
        assert flat.slope.value is flat.spearman.value is None
        assert flat.slope.reason == flat.spearman.reason == "the depth is constant"
        assert flat.null_slope is flat.null_spearman is None
        single = aligned(tmp_path / "single", Plan(knobs=(3,)))["exit_depth", "all"]
        assert single.slope.value is single.spearman.value is None
        assert single.slope.reason == "the knob is constant"
        assert single.null_slope is single.null_spearman is None
