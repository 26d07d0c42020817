"""Structure in one run against state in another: the sign, the verdict, and what keeps runs from speaking."""

from dataclasses import replace

import numpy as np
import pytest
from tests.unit.measure.brevo_support import Graphs, write_graphs

from anira.measure.brevo.contrast import contrast, judge_contrasts, match_runs
from anira.measure.brevo.regression import brevo_regression
from anira.measure.brevo.tokens import read_answer_tokens
from anira.measure.records.loading import load_evaluation
from anira.measure.statistics.bootstrap import resamples

DRAWS = 100
STRUCTURE, STATE = {"out_degree_dep": 0.3}, {"dfs_depth": 0.3, "newly_enabled": -0.2}


def run(folder, variant, effects=None, **options):
    write_graphs(folder, Graphs(variant=variant, effects=effects or {}, **options))
    tokens = read_answer_tokens(load_evaluation(folder))
    return tokens, brevo_regression(tokens, draws=20)


def pair(root, early, online, seed=0, **options):
    one = run(root / f"e{seed}", "anira-e", early, seed=seed, draw=2 * seed, **options)
    other = run(root / f"o{seed}", "anira-o", online, seed=seed, draw=2 * seed + 1, **options)
    return contrast(one, other, draws=DRAWS)


def test_the_sign_is_that_of_the_claim(tmp_path):
    found = pair(tmp_path / "for", STRUCTURE, STATE)
    against = pair(tmp_path / "against", STATE, STRUCTURE)
    assert (found.difference.direction, found.given_position.direction) == (1, 1)
    assert (against.difference.direction, against.given_position.direction) == (-1, -1)
    assert found.null.covers_zero
    assert found.obstacle == against.obstacle == ""
    assert found.runs == "brevo/anira-e-s0 and brevo/anira-o-s0"


def test_equal_laws_have_no_difference(tmp_path):
    both = {**STRUCTURE, **STATE}
    found = [pair(tmp_path / str(seed), both, both, seed=seed, n=60) for seed in range(6)]
    assert sum(one.difference.low < 0 < one.difference.high for one in found) >= 4  # by chance once in 400 times
    assert abs(np.mean([one.difference.value for one in found])) < 0.06


def test_instances_that_differ_are_not_taken_for_tokens_that_do(tmp_path):
    """Depth is the same in all tokens of an instance but for noise: nothing within instances to find."""
    found = pair(tmp_path, {}, {}, instance_noise=2.0, noise=0.2)
    assert found.difference.low < 0 < found.difference.high


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    """Three seeds in which the claim is true."""
    root = tmp_path_factory.mktemp("three")
    return [pair(root / str(seed), STRUCTURE, STATE, seed=seed) for seed in range(3)]


def test_three_seeds_settle_it(three):
    (claim,) = judge_contrasts(three[::-1])
    assert (claim.verdict.word, claim.seeds) == ("supported", (0, 1, 2))
    assert (claim.experiment, claim.runs[1]) == ("brevo anira-e and anira-o", "brevo/anira-e-s1 and brevo/anira-o-s1")
    assert judge_contrasts(three[:2])[0].verdict.word == "inconclusive"
    assert judge_contrasts([]) == []


@pytest.mark.parametrize("which", [0, 1])
def test_what_differs_in_more_than_the_seed_is_another_experiment(three, which):
    early, online = (
        replace(one, config={"learning_rate": 0.1}) if i == which else one for i, one in enumerate(three[2].labels)
    )
    claims = judge_contrasts([*three[:2], replace(three[2], labels=(early, online))])
    assert [claim.seeds for claim in claims] == [(0, 1), (2,)]
    assert {claim.verdict.word for claim in claims} == {"inconclusive"}


def test_runs_are_matched_by_their_seed(tmp_path):
    early = [run(tmp_path / f"e{seed}", "anira-e", STRUCTURE, seed=seed, n=20) for seed in (2, 0, 1)]
    online = [run(tmp_path / f"o{seed}", "anira-o", STATE, seed=seed, n=20) for seed in (0, 2)]
    assert [(one[0].labels.seed, other[0].labels.seed) for one, other in match_runs(early, online)] == [(0, 0), (2, 2)]


def test_each_run_is_resampled_on_its_own(tmp_path, monkeypatch):
    """A size with few right answers lets all sizes of its run be drawn together, and leaves the other run alone."""
    tokens, figures = run(tmp_path / "e", "anira-e", STRUCTURE, sizes=(3, 4, 5), n=30)
    of_size_3 = np.where(tokens.instance < 5, 3, 4)  # five instances are left of it
    few = replace(tokens, size=np.where(tokens.size == 3, of_size_3, tokens.size)), figures
    many = run(tmp_path / "o", "anira-o", STATE, n=30)
    drawn = []

    def spy(strata, **options):
        for weights in resamples(strata, **options):
            drawn.append((strata, weights))
            yield weights

    monkeypatch.setattr("anira.measure.brevo.contrast.resamples", spy)
    contrast(few, many, draws=20)
    (first, of_few), (second, of_many) = drawn
    assert (len(first), len(second)) == (few[0].instances, many[0].instances)
    assert (of_few.sum(0) == len(first)).all()
    assert np.ptp(of_few[first == 3].sum(0)) > 0
    for one in np.unique(second):
        assert (of_many[second == one].sum(0) == (second == one).sum()).all()


def test_runs_that_have_not_learned_cannot_speak(tmp_path):
    early, online = run(tmp_path / "e", "anira-e", STRUCTURE), run(tmp_path / "o", "anira-o", STATE, accuracy=0.0)
    found = contrast(early, online, draws=DRAWS)
    assert found.difference.value is None
    assert found.obstacle == found.difference.reason == "anira-o: no instance was answered right, and 50 are needed"
    assert judge_contrasts([found])[0].verdict.word == "not testable"
    poor = run(tmp_path / "p", "anira-o", STATE, accuracy=0.03, n=500)
    obstacle = contrast(early, poor, draws=DRAWS).obstacle
    assert obstacle == "anira-o: accuracy is not above the majority baseline"
