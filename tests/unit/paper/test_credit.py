"""The study of credit on planted estimates: ways that differ or do not, and hypotheses that hold, fail or stay open."""

import pytest

from anira.measure.statistics.estimates import Estimate
from anira.measure.tidy import Labels, make_row, make_table
from anira.paper.credit.make import plan
from anira.paper.credit.page import make_page
from anira.paper.credit.pairs import ALONE, CREDIT, GAMMAS, WAYS, compared, label, priced
from anira.paper.credit.verdicts import answer, badge, differ, difference, exact_is_as_good, gap_closes, verdicts
from anira.site import Badge, render

DEPTHS = {"anira-o full": 3.0, "anira-o one": 2.5, "anira-e full": 2.0, "anira-e one": 2.4, "pondernet": 3.05}
SUBSETS = {"accuracy": "all", "expected_depth": "answer", "expected_slope": "all"}


def planted(*, seeds=3, lost=0.0, spread=0.0, depths=DEPTHS):
    """Return runs with these depths; PonderNet loses `lost` of accuracy, by `spread` more in every other seed."""
    rows = []
    for way in (*WAYS, ALONE):
        for gamma in GAMMAS if way in WAYS else (None,):
            for seed in range(seeds):
                miss = (lost + spread * (-1) ** seed) * (way == "pondernet")
                values = {"accuracy": 0.9 - miss + 0.01 * seed, "expected_depth": depths.get(way, 3.0) + 0.1 * seed}
                variant = way if gamma is None else priced(way, gamma)
                run = {"run_id": f"{variant}-s{seed}", "task": "words", "subtask": "", "policy": way.split()[0]}
                rule = {"step": 1, "select": "", "threshold": None, "decode": "parallel"}
                labels = Labels(**run, **rule, variant=variant, seed=seed)
                for name, value in {**values, "expected_slope": 0.2}.items():
                    rows.append(make_row(labels, name, Estimate(value), n=10, subset=SUBSETS[name]))
    return compared(make_table(rows))


def test_ways_differ_where_the_difference_is_sure_and_large_enough():
    found = planted()
    one_less_full, _, exact = CREDIT
    row = difference(found, one_less_full, 0.1, "depth_difference")
    assert (row["value"], row["n"]) == (pytest.approx(-0.5), 3)
    assert differ(found, one_less_full, 0.1, "depth_difference") is True
    assert differ(found, exact, 0.1, "depth_difference") is False  # sure, and a quarter of the smallest of interest
    assert differ(found, one_less_full, 0.1, "accuracy_difference") is False
    # Of 27 comparisons, one-step lookahead changes depth for both variants at all three prices.
    assert answer(found)[0].startswith("The way of credit changes what is learned in 6 of 27 comparisons")
    assert "differ in expected depth" in verdicts(found)[2].text


def test_a_difference_that_seeds_do_not_share_is_none():
    found = planted(spread=0.05)
    assert differ(found, CREDIT[-1], 0.1, "accuracy_difference") is False


def test_both_hypotheses_hold():
    found = planted()
    assert (gap_closes(found), exact_is_as_good(found)) == ("holds", "holds")
    assert badge(found) == Badge("2 of 2 hypotheses hold", "yes")


def test_a_gap_that_stays_and_an_exact_loss():
    apart = planted(lost=0.05, depths={**DEPTHS, "anira-e one": 1.0})
    assert (gap_closes(apart), exact_is_as_good(apart)) == ("does not hold", "does not hold")
    assert badge(apart) == Badge("none of 2 hypotheses hold", "no")
    assert exact_is_as_good(planted(spread=0.05)) == "open"


def test_two_seeds_are_too_few():
    found = planted(seeds=2)
    assert badge(found) == Badge("no verdict yet", "open")
    assert answer(found) == ["No verdict yet: it takes 3 seeds of each way of credit."]
    assert "no verdict yet" in verdicts(found)[2].text


def test_the_page_shows_every_pair_and_every_line():
    html = render(make_page(planted()))
    assert all(pair.name in html for pair in CREDIT)
    assert all(words in html for words in WAYS.values())
    assert '"depth"' in html


def test_the_plan_names_every_line_three_times():
    names = [label(run) for run in plan("smoke")]
    lines = {priced(way, gamma) for way in WAYS for gamma in GAMMAS} | {ALONE}
    assert {name: names.count(name) for name in names} == dict.fromkeys(lines, 3)
