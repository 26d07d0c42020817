"""Estimates over seeds against scipy's t interval."""

import numpy as np
import pytest
from scipy import stats

from anira.measure import over_seeds
from anira.measure.statistics.estimates import Estimate
from anira.measure.tidy import Labels, make_row, make_table


def labels(seed):
    return Labels(
        run_id=f"toy/{seed}", task="toy", subtask="", variant="toy", policy="toy", seed=seed, step=1, select="",
        threshold=None, decode="parallel",
    )  # fmt: skip


def over(values, reason="", name="slope"):
    rows = [make_row(labels(i), name, Estimate(value, reason=reason), n=9) for i, value in enumerate(values)]
    (row,) = over_seeds(make_table(rows)).iter_rows(named=True)
    return row


@pytest.mark.parametrize("values", [(0.1, 0.4), (0.8, 0.9, 1.0), (0.3, 0.1, 0.2, 0.9, -0.5)])
def test_the_interval_is_a_t_interval(values):
    row = over(values)
    low, high = stats.t.interval(0.95, len(values) - 1, loc=np.mean(values), scale=stats.sem(values))
    assert (row["value"], row["low"], row["high"]) == pytest.approx((np.mean(values), low, high))
    assert (row["n"], row["seed"], row["run_id"]) == (len(values), None, None)


@pytest.mark.parametrize(("name", "values", "ends"), [
    ("accuracy", (0.9, 1.0, 1.0), (None, 1.0)),
    ("accuracy", (0.0, 0.1, 0.0), (0.0, None)),
    ("spearman_knob", (0.7, 1.0, 1.0), (None, 1.0)),
    ("spearman_knob", (-0.7, -1.0, -1.0), (-1.0, None)),
    ("slope", (0.7, 1.0, 1.0), (None, None)),
])  # fmt: skip
def test_intervals_end_where_values_do(name, values, ends):
    row = over(values, name=name)
    whole = stats.t.interval(0.95, len(values) - 1, loc=np.mean(values), scale=stats.sem(values))
    wanted = [end if cut is None else cut for end, cut in zip(whole, ends, strict=True)]
    assert (row["low"], row["high"]) == pytest.approx(wanted)


def test_few_seeds_say_so():
    assert over((0.1, 0.4))["reason"] == "fewer than 3 seeds"
    assert over((0.1, 0.2, 0.4))["reason"] == ""
    alone = over((0.1,))
    assert (alone["value"], alone["low"], alone["n"]) == (0.1, None, 1)


def test_one_seed_keeps_its_interval_over_instances():
    table = make_table([make_row(labels(0), "slope", Estimate(0.3, 0.2, 0.4), n=9)])
    (row,) = over_seeds(table).iter_rows(named=True)
    assert (row["value"], row["low"], row["high"], row["reason"]) == (0.3, 0.2, 0.4, "fewer than 3 seeds")


def test_undefined_seeds_are_counted():
    row = over((0.1, None, 0.3, 0.2))
    assert (row["n"], row["value"]) == (3, pytest.approx(0.2))
    assert row["reason"] == "undefined in 1 of 4 seeds"
    none = over((None, None), reason="the depth is constant")
    assert (none["value"], none["n"], none["reason"]) == (None, 0, "the depth is constant")


def test_two_runs_of_one_seed_are_refused():
    rows = [make_row(labels(0), "slope", Estimate(value), n=9) for value in (0.1, 0.2)]
    with pytest.raises(ValueError, match="two runs of one seed"):
        over_seeds(make_table(rows))
