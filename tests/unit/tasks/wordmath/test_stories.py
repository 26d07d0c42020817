"""Numbers of stories: always within bounds, and as often as the exact law says, in both generators."""

import random
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from anira.tasks.wordmath import Wordmath, WordmathConfig
from anira.tasks.wordmath.stories import apply, clause_law, count_amounts, draw_stories, value_law
from benchmarks.plain import wordmath as plain

# The rows are fixed, so a test passes always or never; a law that holds does not give less than this.
CHANCE = 1e-5


@pytest.mark.parametrize("limit", [10, 20, 37])
def test_every_number_leads_on_and_stays_within_bounds(limit: int) -> None:
    stories = draw_stories(np.random.default_rng(0), np.full(3000, 11), limit=limit, comparison_share=0.5)
    assert (stories.values >= 1).all() and (stories.values <= limit).all()
    assert (stories.amounts >= 2).all() and (stories.amounts <= 9).all()
    assert (count_amounts(limit)[:, 1:].sum(axis=0) > 0).all()
    after = apply(stories.operations, stories.values[:, :-1], stories.amounts)
    assert (after == stories.values[:, 1:]).all()
    halved = stories.operations == 3
    assert (stories.values[:, :-1][halved] % 2 == 0).all()
    assert (stories.amounts[stories.operations >= 2] == 2).all()
    assert all(len(set(row)) == 12 for row in stories.people[:50].tolist())


def test_the_law_of_a_clause_is_one_of_probabilities() -> None:
    law = clause_law(20)
    assert law[1:].sum(axis=(1, 2, 3)) == pytest.approx(np.ones(20))
    # 7 can grow by 2 .. 9, shrink by 2 .. 6, or be doubled: thirds.
    assert law[7, 0, 0, 9] == pytest.approx(1 / 24)
    assert law[7, 1, 4, 1] == pytest.approx(1 / 15)
    assert law[7, 2, 0, 14] == pytest.approx(1 / 3)
    assert law[7, 3].sum() == 0


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("generator", ["vectorised", "plain"])
def test_results_follow_the_exact_law(generator: str, size: int) -> None:
    task = Wordmath(WordmathConfig(answer="final"))
    if generator == "vectorised":
        rows = task.rows(seed=1, stream="train", start=0, count=4096, knob=size)
        found = [task.vocab.tokens[rows.answer(i)[0]] for i in range(4096)]
    else:
        rng = random.Random(1)
        found = [task.vocab.tokens[plain.generate(rng, task.config, size)[0][-2]] for _ in range(3000)]
    counts, law = Counter(map(int, found)), task.law(size)
    assert law[0] == 0 and law.sum() == pytest.approx(1)
    expected = law[1:] * counts.total()
    assert stats.chisquare([counts[value] for value in range(1, 21)], expected).pvalue > CHANCE


def test_baselines_are_those_of_the_best_guesses() -> None:
    task = Wordmath()
    rows = task.rows(seed=0, stream="eval", start=0, count=4096, knob=2)
    last = [tuple(rows.answer(i)[-8:-5]) for i in range(4096)]  # sign and amount of the last step, and `=`
    results = [rows.answer(i)[-2] for i in range(4096)]
    best = {
        clause: Counter(r for c, r in zip(last, results, strict=True) if c == clause).most_common(1)[0][1]
        for clause in set(last)
    }
    majority, last_clause = task.baselines(2)
    assert Counter(results).most_common(1)[0][1] / 4096 == pytest.approx(majority, abs=0.015)
    assert sum(best.values()) / 4096 == pytest.approx(last_clause, abs=0.03)
    assert majority < last_clause < 0.2
    assert task.law(1).max() == pytest.approx(task.baselines(1).majority)
    assert value_law(0, 20)[2:] == pytest.approx(np.full(19, 1 / 19))
