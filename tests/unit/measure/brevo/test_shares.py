"""The state's share in one run minus that in another: the sign, and how the two are resampled."""

from dataclasses import replace

import numpy as np
from tests.unit.measure.brevo_support import Graphs, read_graphs

from anira.measure.brevo import shares
from anira.measure.brevo.shares import contrast_rows
from anira.measure.statistics.bootstrap import resamples
from anira.measure.tidy import find, make_table

STRUCTURE, STATE = {"out_degree_dep": 0.3}, {"dfs_depth": 0.3, "newly_enabled": -0.2}


def gap(root, early, online, seed=0, **options):
    one = read_graphs(root / "e", Graphs(variant="anira-e", effects=early, seed=seed, draw=2 * seed, **options))
    other = read_graphs(root / "o", Graphs(variant="anira-o", effects=online, seed=seed, draw=2 * seed + 1, **options))
    return make_table(contrast_rows(one, other, draws=100))


def test_the_sign_is_that_of_the_claim(tmp_path):
    found, against = gap(tmp_path / "for", STRUCTURE, STATE), gap(tmp_path / "against", STATE, STRUCTURE)
    assert (found["low"] > 0).all()
    assert (against["high"] < 0).all()
    row = find(found, "state_share_gap", subset="within")
    assert row["null_low"] <= 0 <= row["null_high"]
    assert row["run_id"] == "brevo/anira-o-s0"


def test_equal_laws_have_no_difference(tmp_path):
    both = {**STRUCTURE, **STATE}
    tables = [gap(tmp_path / str(seed), both, both, seed=seed, n=60) for seed in range(6)]
    rows = [find(table, "state_share_gap", subset="within") for table in tables]
    assert sum(row["low"] < 0 < row["high"] for row in rows) >= 4  # by chance once in 400 times
    assert abs(np.mean([row["value"] for row in rows])) < 0.06


def test_instances_that_differ_are_not_taken_for_tokens_that_do(tmp_path):
    """Depth is the same in all tokens of an instance but for noise: nothing within instances to find."""
    row = find(gap(tmp_path, {}, {}, instance_noise=2.0, noise=0.2), "state_share_gap", subset="within")
    assert row["low"] < 0 < row["high"]


def test_a_run_without_a_fit_says_why(tmp_path):
    one = read_graphs(tmp_path / "e", Graphs(effects=STRUCTURE))
    other = read_graphs(tmp_path / "o", Graphs(variant="anira-o", accuracy=0.0))
    row = find(make_table(contrast_rows(one, other)), "state_share_gap", subset="within")
    assert row["value"] is None
    assert row["reason"] == "anira-o: no instance was answered right, and 50 are needed"


def test_each_run_is_resampled_on_its_own(tmp_path, monkeypatch):
    """A size with few right answers lets all sizes of its run be drawn together, and leaves the other run alone."""
    tokens = read_graphs(tmp_path / "e", Graphs(effects=STRUCTURE, sizes=(3, 4, 5), n=30))
    of_size_3 = np.where(tokens.instance < 5, 3, 4)  # five instances are left of it
    few = replace(tokens, size=np.where(tokens.size == 3, of_size_3, tokens.size))
    many = read_graphs(tmp_path / "o", Graphs(variant="anira-o", effects=STATE, n=30))
    drawn = []

    def spy(strata, **options):
        for weights in resamples(strata, **options):
            drawn.append((strata, weights))
            yield weights

    monkeypatch.setattr(shares, "resamples", spy)
    list(contrast_rows(few, many, draws=20))
    (first, of_few), (second, of_many) = drawn
    assert (len(first), len(second)) == (few.instances, many.instances)
    assert (of_few.sum(0) == len(first)).all()
    assert np.ptp(of_few[first == 3].sum(0)) > 0
    for one in np.unique(second):
        assert (of_many[second == one].sum(0) == (second == one).sum()).all()
