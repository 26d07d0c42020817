"""Word problems on planted runs: whose depth follows the clauses, where depth is needed, and what the page says."""

import pytest
from tests.measure_support import Planted, write_run

from anira.paper.found import trained_need
from anira.paper.wordmath.make import measured
from anira.paper.wordmath.page import make_page, paper_table
from anira.paper.wordmath.runs import label, plan
from anira.paper.wordmath.verdicts import answer, badge, follows, hardest, needed, verdicts
from anira.site import Badge, render


def runs_of(seed, *, needed):
    """ANIRA-E spends about an iteration per clause, ANIRA-O two everywhere; depth 1 is enough or is not."""
    sizes = {"knobs": (1, 2, 3, 4, 5, 6), "trained": 4, "seed": seed, "max_depth": 4, "count": 20}
    wanted = (lambda c, i: min(c, 4)) if needed else (lambda c, i: 1)
    yield "anira-e", Planted(own=lambda c, i: min(c + (i + seed) % 2, 4), required=wanted, variant="anira-e", **sizes)
    yield "anira-o", Planted(own=lambda c, i: 2, required=wanted, variant="anira-o", **sizes)
    yield "fixed", Planted(own=lambda c, i: 4, required=wanted, variant="fixed", **sizes)
    yield "fixed-1", Planted(own=lambda c, i: 1, required=wanted, variant="fixed", **{**sizes, "max_depth": 1})


def planted(root, *, seeds=3, needed=True):
    folders, labels = {}, {}
    for seed in range(seeds):
        for name, run in runs_of(seed, needed=needed):
            folder = write_run(root, run, ("", "depth-1"))
            folders[run.run_id], labels[run.run_id] = sorted((folder / "records").iterdir()), name
    return measured("wordmath-final", folders, labels, draws=50)


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    return planted(tmp_path_factory.mktemp("three"))


def test_depth_that_grows_with_clauses_follows_them_and_constant_depth_does_not(three):
    assert [follows(three, name) for name in ("anira-e", "anira-o")] == ["follows", "does not follow"]
    assert (hardest(three), trained_need(three)[0], needed(three)) == (4, 1.0, True)
    assert answer(three) == [
        "Where the answer is given as one number, depth follows the number of clauses in ANIRA-E.",
        "Depth is needed there: at 4 clauses models trained at depth 1 get 0.0% right, and models trained at full "
        "depth 100.0%.",
    ]
    said = {note.head.partition(",")[0]: note.text for note in verdicts(three)}
    assert said["ANIRA-E"].endswith("iterations per clause: it follows the number of clauses.")
    assert said["ANIRA-O"].startswith("Mean answer depth is 2.00")


def test_the_slope_is_that_of_training_alone(three):
    """Beyond four clauses depth is level: with them the slope would be smaller."""
    assert three.runs.filter(variant="anira-e", quantity="slope", split="seen")["value"].min() > 0.8


def test_two_seeds_give_no_verdict_and_where_depth_1_is_enough_it_is_not_needed(tmp_path):
    found = planted(tmp_path, seeds=2, needed=False)
    assert follows(found, "anira-e") == "unknown"
    assert not needed(found)
    assert answer(found) == ["Where the answer is given as one number: no verdict yet, it takes three seeds."]
    assert "a verdict takes three seeds" in verdicts(found)[0].text
    assert badge([found]) == Badge("no verdict yet", "open")


def test_where_depth_is_not_needed_a_flat_curve_is_right(tmp_path):
    found = planted(tmp_path, needed=False)
    assert "Depth is not needed there, so that a flat curve is right: at 4 clauses" in answer(found)[1]


def test_the_table_has_the_columns_of_the_paper_and_names_its_splits(three):
    table = paper_table(three)
    assert [f"{cell.text} {cell.small}".strip() for cell in table.head] == [
        "clauses",
        "trained at depth 1 accuracy",
        "fixed depth accuracy",
        "ANIRA-E accuracy",
        "ANIRA-E depth",
        "ANIRA-O accuracy",
        "ANIRA-O depth",
    ]
    assert [row[0].text for row in table.rows] == ["1", "2", "3", "4 (Main)", "5 (P1)", "6 (P2)"]
    assert [cell.text for cell in paper_table(three).rows[3][1:]] == [
        "0.0%",
        "100.0%",
        "100.0%",
        "4.00",
        "0.0%",
        "2.00",
    ]


def test_the_page_says_its_answer_and_shows_both_charts(three):
    html = render(make_page([three]))
    assert "depth follows the number of clauses in ANIRA-E" in html
    assert '<p class="badge yes">1 of 2 follow</p>' in html
    assert all(f'"wordmath-final-{name}"' in html for name in ("depth", "accuracy"))


def test_the_runs_are_three_seeds_of_each_variant_and_of_depth_1():
    runs = plan("wordmath", "smoke")
    names = [label(run) for run in runs]
    assert {name: names.count(name) for name in names} == {"anira-e": 3, "anira-o": 3, "fixed": 3, "fixed-1": 3}
    assert plan("wordmath-final", "smoke")[0].config.task_config["answer"] == "final"
