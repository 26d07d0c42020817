"""The comparison of policies on planted runs: who is above trained fixed depths, who is not, and who collapsed."""

import re

import pytest
from tests.measure_support import Planted, write_run

from anira.config import UserError
from anira.models.policies import AniraO, Fixed, ThresholdRange
from anira.paper.policies.measure import compared, is_shallow, policies, row
from anira.paper.policies.page import make_page
from anira.paper.policies.runs import Comparison, _policy, check, label, plan, swept
from anira.paper.policies.verdicts import answer, collapsed_seeds, earned, verdicts
from anira.site import render
from anira.training.overrides import override
from anira.training.presets import preset


def required(knob, number):
    return knob


def half(seed):
    """Right in half of the instances, a few more in some seeds than in others."""
    return lambda knob, number: 1 if number % 40 < 20 + seed else 4


def runs_of(seed):
    """An aligned policy, one that is as good as fixed depth, one that never leaves depth 1, and the fixed depths."""
    yield "aligned", Planted(own=required, required=required, variant="aligned", seed=seed)
    yield "level", Planted(own=lambda k, i: 2, required=half(seed), variant="level", seed=seed, prompt=2)
    yield "stuck", Planted(own=lambda k, i: 1, required=required, variant="stuck", seed=seed)
    for depth in (1, 2, 3, 4):
        needs = half(2 - seed) if depth < 4 else (lambda k, i: 1)
        fixed = Planted(
            own=lambda k, i, d=depth: d, required=needs, variant="fixed", seed=seed, max_depth=depth, prompt=depth
        )
        yield "fixed" if depth == 4 else f"fixed-{depth}", fixed


def planted(root, seeds):
    folders, labels = {}, {}
    for seed in range(seeds):
        for name, run in runs_of(seed):
            overrides = ("", *(f"depth-{d}" for d in (1, 2, 3, 4) if not is_shallow(name)))
            folder = write_run(root, run, overrides)
            folders[run.run_id], labels[run.run_id] = sorted((folder / "records").iterdir()), name
    return compared("toy", folders, labels, draws=50)


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    return planted(tmp_path_factory.mktemp("three"), 3)


def test_who_has_earned_its_depth(three):
    assert policies(three) == ["aligned", "level", "stuck", "fixed"]
    assert [earned(three, name) for name in ("aligned", "level")] == ["above", "level"]
    said = {note.head: note.text for note in verdicts(three)}
    assert "it has earned its depth" in said["aligned"]
    assert "answer depth rises with the knob (Spearman 1.00)" in said["aligned"]
    assert "Open: at equal iterations it is" in said["level"]
    assert "above the trained fixed depths at equal iterations: aligned." in answer(three)[0]


def test_the_gap_is_that_to_the_straight_line_between_fixed_depths(three):
    gap = row(three, "aligned", "above_fixed", "iterations")
    assert row(three, "aligned", "iterations")["value"] == pytest.approx(1.5)
    curve = [row(three, name, "accuracy")["value"] for name in ("fixed-1", "fixed-2")]
    assert gap["value"] == pytest.approx(1 - sum(curve) / 2)
    assert gap["n"] == 3


def test_a_constant_policy_is_called_collapsed(three):
    assert collapsed_seeds(three, "stuck") == (3, 3)
    assert collapsed_seeds(three, "aligned") == (0, 3)
    said = {note.head: note.text for note in verdicts(three)}
    assert said["stuck"].startswith("Collapsed: at least 99% of tokens have the same depth")


def test_two_seeds_give_no_verdict(tmp_path):
    two = planted(tmp_path, 2)
    assert {earned(two, name) for name in policies(two)} == {"unknown"}
    assert answer(two)[0].startswith("No verdict on toy yet")
    assert "2 of the 3 seeds that a verdict takes" in verdicts(two)[0].text


def test_the_page_has_the_leaderboard_and_its_reasons(three):
    page = make_page(three, knob="K: a number", command="anira compare", twin=three)
    cells: dict[str, dict[str, str]] = {}
    for board in page.sections[0].parts:
        head, *rows = ([cell.text for cell in row] for row in (board.head, *board.rows))
        assert [line[0] for line in rows][-1] == "stuck"
        for line in rows:
            cells.setdefault(line[0], {}).update(zip(head, line, strict=True))
    assert cells["aligned"]["Spearman with oracle depth"] == "1.00"
    assert cells["aligned"]["regret"] == "0.000"
    assert (cells["stuck"]["slope over knob"], cells["stuck"]["seeds"]) == ("undefined", "3")
    html = render(page)
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html.split("<script")[0]))
    assert "constant by design" in text
    assert "Undefined for level, stuck: slope over knob, Spearman with knob" in text
    assert "The abelian twin" in text
    assert "nan" not in text.lower().split()


def test_what_cannot_be_compared_is_refused():
    good = {"task": "words", "policies": ("anira-o", "fixed"), "scale": "smoke"}
    check(Comparison(**good))
    for change, message in (
        ({"task": "wrds"}, "unknown task 'wrds': did you mean 'words'"),
        ({"policies": ("anira-x",)}, "unknown policy 'anira-x'"),
        ({"policies": ("fixed", "fixed")}, "policies must be distinct"),
        ({"task": "clrs"}, "task 'clrs' is several in one"),
        ({"seeds": 0}, "at least 1"),
    ):
        with pytest.raises(UserError, match=message):
            check(Comparison(**{**good, **change}))


def test_fixed_depth_is_trained_at_every_depth():
    runs = plan(Comparison(task="words", policies=("anira-o", "fixed"), seeds=2, scale="smoke"))
    depths = [run.config.model["max_depth"] for run in runs if run.config.variant == "fixed"]
    assert sorted(depths) == sorted([1, 2, 3, 4, 5] * 2)
    assert len(runs) == 12
    few = plan(Comparison(task="words", policies=("fixed",), seeds=1, scale="smoke", set={"model.max_depth": 2}))
    assert [run.config.model["max_depth"] for run in few] == [1, 2]


def test_a_second_stage_is_trained_from_the_first_and_has_a_line_of_its_own():
    runs = plan(Comparison(task="words", policies=("ouro", "anira-o"), seeds=2, scale="smoke"))
    assert [label(run, 5) for run in runs] == ["ouro"] * 2 + ["ouro, stage 2"] * 2 + ["anira-o"] * 2
    for first, second in zip(runs[:2], runs[2:4], strict=True):
        assert (second.config.init_from, second.config.frozen) == (first.id, "backbone")
        assert second.after == {run.id for run in runs[:2]}


def test_thresholds_lie_in_the_range_of_the_rule():
    assert swept(Fixed.rules, "") == []
    assert [threshold for _, threshold in swept(AniraO.rules, "median")] == [0.1, 0.3, 0.5, 0.7, 0.9]
    settling = {"kl": ThresholdRange(low=0.0, high=10.0, default=0.0005)}
    assert [threshold for _, threshold in swept(settling, "kl")] == [3.125e-05, 0.000125, 0.002, 0.008]


def test_the_options_of_a_policy_decide_which_rule_is_swept():
    calm = [_policy(override(preset("words-calm-smoke"), {"policy.confidence": kind})) for kind in ("margin", "cosine")]
    assert [{select for select, _ in swept(one.rules, one.rule().select)} for one in calm] == [{"margin"}, {"cosine"}]
