"""Claims about subtasks: each judged on its own, over the seeds of the same experiment."""

from dataclasses import replace

import pytest
from tests.unit.measure.records_support import Plan, write_subtasks

from anira.measure.accuracy import accuracy_drop
from anira.measure.claims.subtasks import judge_subtasks
from anira.measure.statistics.nulls import Null
from anira.measure.subtasks import overview

# Depth rises in one and falls in the other; 5 and 6 lie beyond what training has seen.
PLANS = {
    "sort": Plan(knobs=(1, 2, 5), n=60, slope=0.5, noise=0.4, accuracy=0.9),
    "bfs": Plan(knobs=(1, 2), n=60, slope=-0.6, noise=0.4, accuracy=0.9),
    "guess": Plan(knobs=(1, 2), n=60, slope=0.5, accuracy=0.2),
    "segments_intersect": Plan(knobs=(1,), n=60),
}


def made(folder, seed, **changes):
    plans = {
        name: replace(plan, seed=seed, draw=10 * seed + i, **changes) for i, (name, plan) in enumerate(PLANS.items())
    }
    return overview(write_subtasks(folder, plans), draws=100)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    root = tmp_path_factory.mktemp("subtasks")
    return [made(root / str(seed), seed) for seed in range(3)]


def words(claims):
    return {claim.experiment: claim.verdict.word for claim in claims}


def test_planted_directions_are_judged(runs):
    found = judge_subtasks(runs, ["segments_intersect"])
    assert words(found["follows-complexity"]) == {
        "clrs sort anira-o, select median": "supported",
        "clrs bfs anira-o, select median": "contradicted",
        "clrs guess anira-o, select median": "not testable",
    }
    assert found["follows-complexity"][0].seeds == (0, 1, 2)
    assert "not above the majority baseline" in found["follows-complexity"][2].verdict.reason


def test_depth_is_judged_at_seen_sizes(runs):
    """`sort` was evaluated beyond the seen sizes, too."""
    claim = judge_subtasks(runs, [])["follows-complexity"][0]
    parts = [run.subtasks[0] for run in runs]
    assert claim.estimates == tuple(part.aligned(subset="seen").slope for part in parts)
    assert claim.estimates != tuple(part.aligned().slope for part in parts)


def test_what_keeps_a_run_from_speaking(runs):
    off = Null(0.5, 0.4, 0.6, covers_zero=False)
    broken = [
        replace(run, subtasks=tuple(replace(part, alignment=_with_null(part.alignment, off)) for part in run.subtasks))
        for run in runs
    ]
    slope, drop = (found[0] for found in judge_subtasks(broken, []).values())
    assert (slope.verdict.word, slope.verdict.reason) == ("not testable", "a null does not cover zero")
    assert drop.verdict == judge_subtasks(runs, [])["no-generalisation"][0].verdict, "accuracy has no null"
    permuted = [replace(run, labels=replace(run.labels, override="permuted")) for run in runs]
    found = judge_subtasks(permuted, [])["follows-complexity"][0]
    assert found.verdict.reason == "depths were not chosen by the policy"


def _with_null(rows, null):
    return tuple(replace(row, null_slope=null) for row in rows)


def test_a_drop_is_judged_where_the_split_was_evaluated(runs):
    between, beyond = judge_subtasks(runs, ["segments_intersect"])["no-generalisation"][:2]
    assert (between.verdict.word, beyond.verdict.word) == ("not testable", "inconclusive")
    part = runs[0].subtasks[0]
    assert beyond.estimates[0] == accuracy_drop(part.over("seen"), part.over("extrapolation"))
    assert beyond.estimates[0].value == pytest.approx(part.over("seen").exact.value - part.accuracy[-1].exact.value)


def test_other_experiments_are_judged_apart(runs, tmp_path):
    other = made(tmp_path / "e", 0, variant="anira-e")
    found = judge_subtasks([*runs, other], [])["follows-complexity"]
    assert [claim.seeds for claim in found if claim.experiment.startswith("clrs sort")] == [(0, 1, 2), (0,)]
