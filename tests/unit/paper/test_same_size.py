"""The study of twins on planted runs: depth that follows need, size or neither, and studies that cannot be judged."""

import polars as pl
import pytest
from tests.measure_support import Planted, write_run

from anira.measure.statistics.estimates import Estimate
from anira.measure.tidy import Labels, make_row, make_table
from anira.paper.found import measure_labelled
from anira.paper.same_size.make import compared, label, plan
from anira.paper.same_size.page import make_page
from anira.paper.same_size.verdicts import answer, badge, follows, invalid, verdicts
from anira.site import Badge, render

LETTERS = (1, 2, 4)


def letters(knob, number):
    return knob


def one(knob, number):
    return 1


def needing(seed):
    """Return a depth that rises with letters, in each seed a little otherwise."""
    return lambda knob, number: min(4, knob + ((number + seed) % 5 == 0))


def runs_of(task, required, own, seed):
    sizes = {"knobs": LETTERS, "seed": seed, "count": 5}
    for name, depth in own.items():
        yield name, Planted(own=depth, required=required, variant=name, expects=True, **sizes)
    yield "fixed", Planted(own=lambda knob, number: 4, required=required, variant="fixed", **sizes)
    yield "fixed-1", Planted(own=one, required=required, variant="fixed", **{**sizes, "max_depth": 1})


def planted(root, *, seeds=3):
    """ANIRA-E's depth rises over S3 and not over Z6, ANIRA-O's is 2 everywhere."""
    tables = []
    for task in ("words", "words-z6"):
        folders, labels = {}, {}
        for seed in range(seeds):
            first = needing(seed) if task == "words" else one
            own = {"anira-e": first, "anira-o": lambda knob, number: 2}
            required = letters if task == "words" else one
            for name, run in runs_of(task, required, own, seed):
                forced = ("depth-1",) if name == "fixed-1" else ("depth-1", "depth-4")
                folder = write_run(root / task, run, ("", *forced))
                folders[run.run_id], labels[run.run_id] = sorted((folder / "records").iterdir()), name
        tables.append(measure_labelled(task, folders, labels, draws=20))
    return compared(pl.concat(tables))


@pytest.fixture(scope="module")
def need(tmp_path_factory):
    return planted(tmp_path_factory.mktemp("need"))


def test_depth_that_rises_only_where_it_is_needed_follows_need(need):
    assert [follows(need, name) for name in ("anira-e", "anira-o")] == ["need", "neither"]
    assert not invalid(need)
    assert badge(need) == Badge("1 of 2 follow need", "yes")
    assert answer(need)[:2] == [
        "The depth of ANIRA-E follows need.",
        "The depth of ANIRA-O follows neither need nor size.",
    ]
    assert answer(need)[2].startswith("Over S3, models trained at depth 1 get 0.0% right")
    slopes = need.runs.filter(variant="anira-e", quantity="expected_slope", task="words")["value"]
    assert need.row("slope_above_twin", variant="anira-e")["value"] == pytest.approx(slopes.mean())
    assert "larger by" in verdicts(need)[0].text


def tidy(slopes, losses=(0.5, 0.0), seeds=3):
    """Return a table in which ANIRA-E has these slopes over S3 and Z6, and ANIRA-O almost none."""
    rows = []
    for task, slope, loss in zip(("words", "words-z6"), slopes, losses, strict=True):
        for seed in range(seeds):
            values = {
                ("anira-e", "expected_slope"): slope + 0.01 * seed,
                ("anira-o", "expected_slope"): 0.001 * seed,
                ("fixed", "accuracy_hardest"): 1.0,
                ("fixed-1", "accuracy_hardest"): 1.0 - loss,
            }
            for (variant, name), value in values.items():
                run = {"run_id": f"{task}-{variant}-s{seed}", "task": task, "subtask": "", "policy": variant}
                rule = {"step": 1, "select": "", "threshold": None, "decode": "parallel"}
                labels = Labels(**run, **rule, variant=variant, seed=seed)
                rows.append(make_row(labels, name, Estimate(value), n=10))
    return compared(make_table(rows))


def test_depth_that_rises_alike_over_both_groups_follows_size():
    found = tidy((0.3, 0.3))
    assert follows(found, "anira-e") == "size"
    assert badge(found) == Badge("none of 2 follow need", "no")


def test_depth_may_follow_both():
    assert answer(tidy((0.5, 0.1)))[0] == "The depth of ANIRA-E follows need. It rises with size as well."


def test_a_difference_below_the_smallest_of_interest_is_none():
    assert follows(tidy((0.09, 0.0)), "anira-e") == "neither"


def test_twins_that_both_need_depth_or_neither_cannot_be_judged():
    both, neither = tidy((0.5, 0.0), losses=(0.5, 0.02)), tidy((0.5, 0.0), losses=(0.09, 0.0))
    assert badge(both) == badge(neither) == Badge("no verdict", "open")
    assert "Depth is needed over Z6 too" in answer(both)[-1]
    assert "Depth is not needed over S3" in answer(neither)[-1]


def test_two_seeds_are_too_few():
    found = tidy((0.5, 0.0), seeds=2)
    assert follows(found, "anira-e") == "unknown"
    assert badge(found) == Badge("no verdict yet", "open")


def test_the_page_draws_both_groups(need):
    html = render(make_page(need))
    assert "ANIRA-E, S3" in html and "ANIRA-E, Z6" in html
    assert '"letters-expected_depth"' in html


def test_the_plan_has_five_seeds_of_each_policy_and_three_of_each_baseline():
    names = [label(run) for run in plan("words-z6", "smoke")]
    assert {name: names.count(name) for name in names} == {"anira-e": 5, "anira-o": 5, "fixed": 3, "fixed-1": 3}
    assert plan("words-z6", "smoke")[0].config.task_config["group"] == "Z6"
