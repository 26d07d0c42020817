"""Subtasks are read one at a time, and nothing is pooled over them."""

import pytest
from tests.sealing_support import unlist
from tests.unit.measure.records_support import Plan, write_evaluation, write_subtasks

from anira.config import UserError
from anira.measure.records.loading import find_subtasks, load_evaluation
from anira.measure.subtasks import overview
from anira.measure.summary import summarize
from anira.site.plain import overview_tables

# Two subtasks whose depths move against each other; knob 5 lies beyond what training has seen.
PLANS = {
    "sort": Plan(knobs=(1, 2, 5), n=40, slope=0.5, accuracy=0.9),
    "dag-bfs": Plan(knobs=(1, 2), n=60, slope=-0.6, noise=0.4, accuracy=0.2, draw=1),
}


@pytest.fixture
def folder(tmp_path):
    return write_subtasks(tmp_path / "final", PLANS)


def test_one_subtask_is_read_by_its_name(folder):
    assert find_subtasks(folder) == ["sort", "dag-bfs"]
    for name, plan in PLANS.items():
        evaluation = load_evaluation(folder, name)
        table = evaluation.collect(evaluation.instances)
        assert (evaluation.subtask, evaluation.warnings, len(table)) == (name, (), plan.n * len(plan.knobs))
        assert set(table["subtask"]) == {name}
        assert set(evaluation.collect(evaluation.tokens)["instance_id"]) == set(table["instance_id"])
        assert summarize(evaluation).labels.subtask == name


def test_several_do_not_mix(folder):
    with pytest.raises(UserError, match="has 2 subtasks, which do not mix: choose one with --subtask"):
        load_evaluation(folder)
    with pytest.raises(UserError, match="has no subtask 'srt': did you mean 'sort'"):
        load_evaluation(folder, "srt")


def test_a_single_one_needs_no_choice(tmp_path):
    folder = write_subtasks(tmp_path / "one", {"sort": PLANS["sort"]})
    assert load_evaluation(folder).subtask == "sort"
    plain = write_evaluation(tmp_path / "plain", Plan(n=10))
    assert find_subtasks(plain) == [""]
    with pytest.raises(UserError, match="has no subtask 'sort': its task has none"):
        load_evaluation(plain, "sort")


def test_the_overview_has_the_figures_of_each_subtask_alone(folder):
    shown = overview(folder, seed=3, draws=50)
    assert [one.subtask for one in shown.subtasks] == list(PLANS)
    assert (shown.labels.task, shown.labels.subtask, shown.warnings) == ("clrs", "", ())
    for one in shown.subtasks:
        alone = summarize(load_evaluation(folder, one.subtask), seed=3, draws=50)
        assert one.accuracy == alone.accuracy[:-1]
        assert one.depth == alone.depth
        assert one.alignment == alone.alignment
        assert one.position == alone.position
        assert one.over("seen").exact == alone.seen.exact
    rising, falling = (one.aligned().slope for one in shown.subtasks)
    assert rising.low > 0 > falling.high


def test_accuracy_by_split(folder):
    sort, other = overview(folder, draws=10).subtasks
    assert [row.split for row in sort.splits] == ["seen", "extrapolation"]
    assert sort.over("extrapolation").exact == sort.accuracy[-1].exact
    assert sort.over("seen").instances == 80
    assert sort.over("interpolation") is None
    assert [row.split for row in other.splits] == ["seen"]


def test_what_is_missing_is_said_of_its_subtask(folder):
    unlist(folder, "instances-sort-k002.parquet", "tokens-sort-k002.parquet")
    assert overview(folder, draws=10).warnings == ("sort: no records of knob 2: the evaluation was interrupted",)
    unlist(folder, *(path.name for path in folder.glob("*-dag-bfs-*")))
    with pytest.raises(UserError, match="holds no finished knob of dag-bfs: evaluate again"):
        overview(folder)


def test_tables_have_a_line_for_everything(folder):
    (_, whole), (_, by_knob) = overview_tables(overview(folder, draws=50))
    assert [line.split()[0] for line in whole.splitlines()] == ["subtask", *PLANS]
    assert [line.split()[:3] for line in by_knob.splitlines()[1:]] == [
        ["sort", "1", "seen"],
        ["sort", "2", "seen"],
        ["sort", "5", "extrapolation"],
        ["dag-bfs", "1", "seen"],
        ["dag-bfs", "2", "seen"],
    ]
