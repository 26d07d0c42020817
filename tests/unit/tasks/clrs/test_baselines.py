import pytest

from anira.config import UserError
from anira.tasks.clrs import Clrs, ClrsConfig, solve
from anira.tasks.clrs.algorithms import SUBTASKS
from anira.tasks.clrs.baselines import commonest, copied_answer, measure_baselines


def part(name):
    return Clrs(ClrsConfig(tasks=(name,)))


@pytest.mark.parametrize(
    ("name", "size", "least"),
    [
        ("strongly_connected_components", 4, 0.9),
        ("articulation_points", 4, 0.9),
        ("bridges", 4, 0.65),
        ("mst_kruskal", 4, 0.65),
        ("segments_intersect", 10, 0.4),
    ],
)
def test_at_small_sizes_the_commonest_answer_goes_far(name, size, least):
    assert least < measure_baselines(part(name), size, count=256).majority


def test_at_larger_sizes_it_does_not():
    assert measure_baselines(part("sort"), 10, count=256).majority == 0
    assert measure_baselines(part("articulation_points"), 19, count=256).majority < 0.3


def test_copying_edges_solves_small_bridges_and_trees_and_sorts_nothing():
    for name in ("bridges", "mst_kruskal"):
        copy = [measure_baselines(part(name), size, count=256).copy for size in (4, 20)]
        assert copy[0] > 0.97
        assert copy[1] < 0.9
    assert measure_baselines(part("sort"), 4, count=256).copy < 0.15


def test_only_three_subtasks_have_an_input_in_the_form_of_the_answer():
    copies = {name: measure_baselines(part(name), 4, count=8).copy for name in SUBTASKS}
    assert {name for name, copy in copies.items() if copy is not None} == {"sort", "bridges", "mst_kruskal"}


def test_copies():
    assert copied_answer("heapsort:\nkey: [0.3 0.0]\npred:\n", "upstream") == "[0.3 0.0]"
    tree = "mst_kruskal:\nA: [[0.5 0.2], [0.2 0]]\nin_mst:\n"
    assert copied_answer(tree, "anira") == solve(tree) == "[[0 1], [1 0]]"
    assert copied_answer("dfs:\nA: [[0 1], [1 0]]\npi:\n", "anira") is None


def test_the_commonest_of_several():
    assert commonest(["a", "b", "b"]) == "b"


def test_a_mixture_has_no_baseline():
    with pytest.raises(UserError, match="belong to one subtask"):
        measure_baselines(Clrs(), 4)
