import numpy as np
import polars as pl
import pytest
from tests.unit.measure.records_support import Plan, write_evaluation

from anira.measure.position import position_control
from anira.measure.records.loading import Evaluation, load_evaluation


def control(position, knob, depth, kind="answer"):
    tokens = pl.DataFrame(
        {"target_kind": kind, "position": position, "knob": knob, "exit_depth": pl.Series(depth, dtype=pl.Int16)}
    )
    (found,) = position_control(Evaluation(None, {}, None, tokens.lazy(), ()))
    return found


def explained(groups, depth):
    """R2 of group means, the long way."""
    fitted = np.array([depth[groups == group].mean() for group in groups])
    return 1 - ((depth - fitted) ** 2).sum() / ((depth - depth.mean()) ** 2).sum()


def test_shares_are_those_of_the_means():
    rng = np.random.default_rng(0)
    position, knob, depth = rng.integers(5, 9, 300), rng.integers(1, 4, 300), rng.integers(1, 7, 300)
    found = control(position, knob, depth + knob)
    assert found.by_position == pytest.approx(explained(position, depth + knob))
    assert found.by_knob == pytest.approx(explained(knob, depth + knob))
    assert found.by_both == pytest.approx(explained(10 * position + knob, depth + knob))
    assert (found.tokens, found.positions, found.separable) == (300, 4, True)
    assert found.knobs == 3


def test_depth_that_counts_positions_is_explained_by_position():
    position = np.arange(200) % 8
    knob = np.arange(200) % 3
    found = control(position, knob, position + 1)
    assert found.by_position == found.by_both == pytest.approx(1)
    assert found.by_knob < 0.1


def test_depth_that_follows_the_knob_is_not():
    rng = np.random.default_rng(0)
    position, knob = rng.integers(0, 8, 500), rng.integers(1, 5, 500)
    found = control(position, knob, knob)
    assert found.by_knob == found.by_both == pytest.approx(1)
    assert found.by_position < 0.1


def test_not_separable_where_position_determines_the_knob(tmp_path):
    evaluation = load_evaluation(write_evaluation(tmp_path / "mano", Plan(slope=0.5)))
    answer, prompt = position_control(evaluation)
    assert (answer.kind, answer.positions, answer.separable) == ("answer", 4, False)
    assert answer.by_position == pytest.approx(answer.by_knob)
    assert (prompt.kind, prompt.separable) == ("prompt", True)


def test_constant_depth_has_no_variance_to_explain():
    found = control([1, 2, 3], [1, 1, 2], [4, 4, 4])
    assert found.by_position is found.by_knob is found.by_both is None
