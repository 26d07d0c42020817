"""Laws of the instances that are drawn many at a time (one at a time they are upstream's, see the golden tests)."""

import numpy as np
import pytest

from anira.tasks.clrs.algorithms import ALGORITHMS
from anira.tasks.clrs.geometry import _any_three_on_a_line

COUNT, SIZE = 400, 9


@pytest.fixture(scope="module")
def drawn():
    return {name: a.draw(np.random.default_rng(7), COUNT, SIZE) for name, a in ALGORITHMS.items()}


def graphs(instances):
    return np.array([values[-1] for values in instances])


@pytest.mark.parametrize("name", ALGORITHMS)
def test_instances_are_many_and_different(drawn, name):
    instances = drawn[name]
    assert len(instances) == COUNT
    sparse = name in ("articulation_points", "bridges", "mst_kruskal")
    assert len({str(values) for values in instances}) > COUNT * (0.5 if sparse else 0.98)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_reals_have_three_decimals(drawn, name):
    for field, column in zip(ALGORITHMS[name].inputs, zip(*drawn[name], strict=True), strict=True):
        if field.real:
            values = np.array(column)
            assert (values == np.rint(values * 1000) / 1000).all()


def share(values):
    """The share of ones, with five standard errors to spare."""
    return pytest.approx(float(np.mean(values)), abs=5 * (0.25 / np.size(values)) ** 0.5)


@pytest.mark.parametrize(
    ("name", "edge", "loop"),
    [
        ("bfs", 0.25, 0.5),
        ("bellman_ford", 0.25, 0.5),
        ("dijkstra", 0.25, 0.5),
        ("mst_prim", 0.25, 0.5),
        ("floyd_warshall", 0.25, 0.5),
        ("mst_kruskal", 0.04, 0.2),
        ("bridges", 0.04, 0.2),
        ("articulation_points", 0.04, 0.2),
        ("dfs", 0.5, 0.5),
        ("topological_sort", 0.25, 0.0),
        ("dag_shortest_paths", 0.25, 0.0),
    ],
)
def test_edges_and_loops_are_as_frequent_as_the_law_says(drawn, name, edge, loop):
    adjacency = graphs(drawn[name]) > 0
    diagonal = np.eye(SIZE, dtype=bool)
    assert edge == share(adjacency[:, ~diagonal][:, ::2])
    assert loop == share(adjacency[:, diagonal])
    symmetric = (adjacency == adjacency.swapaxes(1, 2)).all(axis=(1, 2))
    assert symmetric.all() == (name not in ("dfs", "topological_sort", "dag_shortest_paths"))


@pytest.mark.parametrize("name", ["topological_sort", "dag_shortest_paths"])
def test_acyclic_graphs_are(drawn, name):
    adjacency = (graphs(drawn[name]) > 0).astype(int)
    assert not np.linalg.matrix_power(adjacency, SIZE).any()
    assert np.tril(adjacency).any()  # and not only in the order of the numbers


def test_sources_are_uniform(drawn):
    sources = np.array([values[0] for values in drawn["bfs"]])
    assert set(sources) == set(range(SIZE))


def test_weights_of_undirected_graphs_are_roots_of_products(drawn):
    weights = graphs(drawn["bellman_ford"])
    weights = weights[weights > 0]
    assert weights.min() >= 0.031
    assert weights.max() <= 1.0
    assert weights.mean() == pytest.approx(4 / 9, abs=0.02)  # the mean of sqrt(u v), loops aside


def test_communities_hold_most_edges_and_no_cycle_leaves_them(drawn):
    adjacency = graphs(drawn["strongly_connected_components"]) > 0
    assert set(np.unique(graphs(drawn["strongly_connected_components"]))) == {0.0, 1.0}
    inside = 3 * 2**2 + 3**2  # 9 nodes: 2, 2, 2 and 3
    outside = (SIZE**2 - inside) / 2
    assert adjacency.sum(axis=(1, 2)).mean() == pytest.approx(inside / 2 + 0.01 * outside, rel=0.03)
    reach = np.linalg.matrix_power((adjacency | np.eye(SIZE, dtype=bool)).astype(np.int64), SIZE) > 0
    together = (reach & reach.swapaxes(1, 2)).sum(axis=2)
    assert together.max() <= 3


def test_half_of_the_segments_meet(drawn):
    algorithm = ALGORITHMS["segments_intersect"]
    assert share([algorithm.solve(*values)[0] for values in drawn["segments_intersect"]]) == 0.5
    assert {len(x) for x, _ in drawn["segments_intersect"]} == {4}


def test_points_fill_a_disc_and_no_three_are_on_a_line(drawn):
    x, y = (np.array(side) for side in zip(*drawn["graham_scan"], strict=True))
    radius = np.hypot(x, y)
    assert radius.max() <= 2
    assert share(radius < np.sqrt(2)) == 0.5  # half of the area
    assert not _any_three_on_a_line(x, y).any()


@pytest.mark.parametrize(
    ("x", "y", "found"),
    [
        ([0, 0.001, 0.002, 1], [0, 0.001, 0.002, 0], True),
        ([0.5, 0.5, 0.5], [0.1, 0.9, 0.3], True),
        ([0.1, 0.2, 0.9], [0.4, 0.4, 0.4], True),
        ([0.3, 0.3, 0.9], [0.4, 0.4, 0.1], True),  # two points coincide
        ([0, 0.001, 0.003], [0, 0.001, 0.002], False),
        ([-1.999, 1.999, 1.998], [-2.0, 1.999, 1.998], False),
    ],
)
def test_three_on_a_line_are_noticed(x, y, found):
    assert _any_three_on_a_line(np.array([x]), np.array([y])).tolist() == [found]


def test_patterns_are_planted_everywhere_but_at_the_end(drawn):
    places = np.array([ALGORITHMS["kmp_matcher"].solve(*values)[0] for values in drawn["kmp_matcher"]])
    assert set(places) == set(range(SIZE - 2))  # text 8, pattern 1: the last of 8 places is never the first one
    assert {string.count(1) for string, _ in drawn["kmp_matcher"]} == {1}
    longer = ALGORITHMS["kmp_matcher"].draw(np.random.default_rng(0), 5, 23)
    assert {string.count(1) for string, _ in longer} == {4}


def test_lists_of_the_other_subtasks(drawn):
    assert {(string.count(0), string.count(1)) for string, _ in drawn["lcs_length"]} == {(5, 4)}
    assert all(key == sorted(key) for key, _ in drawn["binary_search"])
    assert all(s <= f for start, finish in drawn["activity_selector"] for s, f in zip(start, finish, strict=True))
    assert {d for deadlines, _ in drawn["task_scheduling"] for d in deadlines} == set(range(1, SIZE + 1))
    p, q = (np.array(side) for side in zip(*drawn["optimal_bst"], strict=True))
    assert (p[:, -1] == 0).all()
    assert (np.abs(p.sum(axis=1) + q.sum(axis=1) - 1) < 0.02).all()
    signed = np.array([values[0] for values in drawn["find_maximum_subarray_kadane"]])
    assert share(signed < 0) == 0.5
    assert signed.min() < -0.99


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_smallest_sizes_can_be_drawn_and_solved(name, size):
    algorithm = ALGORITHMS[name]
    for values in algorithm.draw(np.random.default_rng(0), 20, size):
        assert algorithm.size(values) == (4 if name == "segments_intersect" else size)
        algorithm.solve(*values)
