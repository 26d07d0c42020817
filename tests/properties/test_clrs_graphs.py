"""CLRS on graphs that hypothesis draws: solvers against networkx and scipy."""

import itertools
import math
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import minimum_spanning_tree, shortest_path
from tests.clrs_support import answer

from anira.tasks.clrs import solve
from anira.tasks.clrs.algorithms import ALGORITHMS, SUBTASKS
from anira.tasks.clrs.text import write_question

quick = settings(max_examples=60)


@st.composite
def undirected(draw: st.DrawFn, weights: st.SearchStrategy[Any], *, loops: bool = True) -> list[list[Any]]:
    """Draw a symmetric matrix; weights are drawn where a coin shows an edge."""
    n = draw(st.integers(1, 7))
    graph = [[0 * draw(weights)] * n for _ in range(n)]
    for u in range(n):
        for v in range(u, n):
            if draw(st.booleans()) and (loops or u != v):
                graph[u][v] = graph[v][u] = draw(weights)
    return graph


@st.composite
def directed(draw: st.DrawFn, weights: st.SearchStrategy[Any], *, acyclic: bool = False) -> list[list[Any]]:
    n = draw(st.integers(1, 7))
    order = draw(st.permutations(range(n)))
    graph = [[0 * draw(weights)] * n for _ in range(n)]
    for u, v in itertools.product(range(n), repeat=2):
        if draw(st.booleans()) and (not acyclic or order[u] < order[v]):
            graph[u][v] = draw(weights)
    return graph


ones = st.just(1)
positive = st.integers(1, 999).map(lambda value: value / 1000)
powers = st.integers(0, 20).map(lambda value: 2.0**value)
"""Weights of which hardly two sums are equal: paths are unique far more often than with small numbers."""


@quick
@given(st.data(), undirected(ones))
def test_bfs_parents_are_the_lowest_on_a_shortest_way(data: Any, graph: list[list[int]]) -> None:
    source = data.draw(st.integers(0, len(graph) - 1))
    (parent,) = answer("bfs", source, graph)
    net = nx.from_numpy_array(np.array(graph))
    depth = nx.single_source_shortest_path_length(net, source)
    for v in range(len(graph)):
        nearer = [u for u in net[v] if v in depth and depth[u] == depth[v] - 1]
        assert parent[v] == min(nearer, default=v)


@quick
@given(directed(ones))
def test_dfs_parents_are_those_of_networkx(graph: list[list[int]]) -> None:
    (parent,) = answer("dfs", graph)
    net = nx.from_numpy_array(np.array(graph), create_using=nx.DiGraph)
    expected = list(range(len(graph)))
    for u, v in nx.dfs_edges(net, sort_neighbors=sorted):
        expected[v] = u
    assert parent == expected


@quick
@given(directed(ones, acyclic=True))
def test_topological_order_leads_along_every_edge(graph: list[list[int]]) -> None:
    following, node = answer("topological_sort", graph)
    order = [node]
    while following[order[-1]] != order[-1]:
        order.append(following[order[-1]])
    assert sorted(order) == list(range(len(graph)))
    net = nx.from_numpy_array(np.array(graph), create_using=nx.DiGraph)
    assert all(order.index(u) < order.index(v) for u, v in net.edges)
    assert order == list(nx.dfs_postorder_nodes(net, sort_neighbors=sorted))[::-1]


@quick
@given(directed(st.just(1.0)))
def test_components_are_those_of_networkx_named_after_the_node_left_last(graph: list[list[float]]) -> None:
    (component,) = answer("strongly_connected_components", graph)
    net = nx.from_numpy_array(np.array(graph), create_using=nx.DiGraph)
    left = list(nx.dfs_postorder_nodes(net, sort_neighbors=sorted))
    for members in nx.strongly_connected_components(net):
        assert {component[node] for node in members} == {max(members, key=left.index)}


@quick
@given(undirected(ones))
def test_cuts_are_those_of_networkx(graph: list[list[int]]) -> None:
    (is_cut,), (is_bridge,) = answer("articulation_points", graph), answer("bridges", graph)
    net = nx.from_numpy_array(np.array(graph))
    net.remove_edges_from(list(nx.selfloop_edges(net)))
    assert {node for node, mark in enumerate(is_cut) if mark} == set(nx.articulation_points(net))
    bridges = set(nx.bridges(net)) | {(v, u) for u, v in nx.bridges(net)}
    for u, v in itertools.product(range(len(graph)), repeat=2):
        assert is_bridge[u][v] == (0 if u == v else 1 if (u, v) in bridges else 0 if graph[u][v] else -1)


@quick
@given(st.data(), undirected(positive, loops=False))
def test_spanning_trees_weigh_the_least(data: Any, graph: list[list[float]]) -> None:
    source = data.draw(st.integers(0, len(graph) - 1))
    (marked,), (parent,) = answer("mst_kruskal", graph), answer("mst_prim", source, graph)
    array = np.array(graph)
    least = minimum_spanning_tree(array).toarray()
    assert (np.array(marked) * array).sum() / 2 == pytest.approx(least.sum())
    assert nx.is_forest(nx.from_numpy_array(np.array(marked)))
    reached = nx.node_connected_component(nx.from_numpy_array(array), source)
    edges = {(u, v) for v, u in enumerate(parent) if u != v}
    assert {v for _, v in edges} == reached - {source}
    assert sum(graph[u][v] for u, v in edges) == pytest.approx(least[np.ix_(sorted(reached), sorted(reached))].sum())
    assert not edges or nx.is_forest(nx.Graph(edges))


def check_predecessors(before: list[int], graph: list[list[float]], source: int) -> None:
    """Every way back from a node that can be reached is a path as short as scipy's."""
    distance = shortest_path(np.array(graph), indices=source)
    for v, u in enumerate(before):
        if v == source or math.isinf(distance[v]):
            assert u == v
        else:
            assert graph[u][v] > 0
            assert distance[u] + graph[u][v] == pytest.approx(distance[v])


@quick
@given(st.data(), directed(positive))
def test_bellman_ford_and_dijkstra_find_shortest_paths(data: Any, graph: list[list[float]]) -> None:
    source = data.draw(st.integers(0, len(graph) - 1))
    check_predecessors(answer("bellman_ford", source, graph)[0], graph, source)
    check_predecessors(answer("dijkstra", source, graph)[0], graph, source)


@quick
@given(st.data(), directed(powers, acyclic=True))
def test_three_algorithms_for_one_source_agree_where_paths_are_unique(data: Any, graph: list[list[float]]) -> None:
    source = data.draw(st.integers(0, len(graph) - 1))
    net = nx.from_numpy_array(np.array(graph), create_using=nx.DiGraph)
    for node in nx.descendants(net, source):
        assume(len(list(nx.all_shortest_paths(net, source, node, weight="weight"))) == 1)
    found = {name: answer(name, source, graph) for name in SUBTASKS["shortest_path"].algorithms}
    check_predecessors(found["dag_shortest_paths"][0], graph, source)
    assert len({str(one) for one in found.values()}) == 1
    assert solve(write_question(ALGORITHMS["dijkstra"], (source, graph), "anira")) == solve(
        write_question(ALGORITHMS["dijkstra"], (source, graph), "upstream")
    )


def test_at_paths_of_equal_length_each_algorithm_has_its_own_rule() -> None:
    """From 0 to 1 there are the edge (0.5) and the way over 2 (0.25 + 0.25)."""
    graph = [[0, 0.5, 0.25], [0, 0, 0], [0, 0.25, 0]]
    assert answer("bellman_ford", 0, graph) == ([0, 0, 0],)  # fewer edges
    assert answer("dijkstra", 0, graph) == ([0, 0, 0],)  # found while 0 was settled
    assert answer("dag_shortest_paths", 0, graph) == ([0, 0, 0],)  # 0 comes before 2
    # 3 is reached over 1 and over 2, both 0.75 long; 2 is nearer to 0.
    graph = [[0, 0.5, 0.25, 0], [0, 0, 0, 0.25], [0, 0, 0, 0.5], [0, 0, 0, 0]]
    assert answer("bellman_ford", 0, graph) == ([0, 0, 0, 1],)  # the lower number
    assert answer("dijkstra", 0, graph) == ([0, 0, 0, 2],)  # the nearer node
    assert answer("dag_shortest_paths", 0, graph) == ([0, 0, 0, 2],)  # 2 is left last, so it comes first


@quick
@given(undirected(positive))
def test_floyd_warshall_finds_shortest_paths_between_all_pairs(graph: list[list[float]]) -> None:
    (before,) = answer("floyd_warshall", graph)
    distance = shortest_path(np.array(graph))
    for i, j in itertools.product(range(len(graph)), repeat=2):
        if i == j or math.isinf(distance[i, j]):
            continue
        u = before[i][j]
        assert graph[u][j] > 0
        assert distance[i, u] + graph[u][j] == pytest.approx(distance[i, j])
    for i in range(len(graph)):
        around = [graph[i][v] + graph[v][i] for v in range(len(graph)) if v != i and graph[i][v]]
        shorter = bool(graph[i][i]) and min(around, default=math.inf) < graph[i][i]
        assert (before[i][i] != i) == shorter
    assert all(before[i][j] == i for i, j in zip(*np.nonzero(np.isinf(distance)), strict=True))
