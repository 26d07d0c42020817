"""Graphs, searched: breadth first, depth first, and what depth-first search finds out.

Nodes and neighbours are taken in the order of their numbers, so every answer is unique. A node without a parent is its
own parent.
"""

from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from anira.tasks.clrs.sampling import Instances, acyclic, coins, communities, undirected, with_source

Edges = list[list[int]]
Neighbours = list[list[int]]

_SPARSE = 0.2  # squared: the probability of an edge where cuts are asked for


def draw_directed(rng: np.random.Generator, count: int, n: int) -> Instances:
    """Draw directed graphs, with every edge and loop with probability 1/2."""
    return [(graph,) for graph in coins(rng, count, n, 0.5).tolist()]


def draw_acyclic(rng: np.random.Generator, count: int, n: int) -> Instances:
    """Draw directed acyclic graphs."""
    return [(graph,) for graph in acyclic(rng, count, n).tolist()]


def draw_sparse(rng: np.random.Generator, count: int, n: int) -> Instances:
    """Draw undirected graphs with an edge with probability 0.04."""
    return [(graph,) for graph in undirected(rng, count, n, _SPARSE).tolist()]


def draw_communities(rng: np.random.Generator, count: int, n: int) -> Instances:
    """Draw directed graphs of four communities; upstream writes these as reals."""
    return [(graph,) for graph in communities(rng, count, n).astype(np.float64).tolist()]


def draw_rooted(rng: np.random.Generator, count: int, n: int) -> Instances:
    """Draw a source and an undirected graph with an edge with probability 1/4."""
    return with_source(rng, undirected(rng, count, n, 0.5))


def bfs(s: int, graph: Edges) -> tuple[list[int]]:
    """Return every node's parent: of the nodes one step nearer to the source, the one with the lowest number.

    >>> bfs(0, [[0, 1, 1, 0], [1, 0, 0, 1], [1, 0, 0, 1], [0, 1, 1, 0]])
    ([0, 0, 0, 1],)
    """
    after = neighbours(graph)
    parent = list(range(len(graph)))
    met, frontier = {s}, [s]
    while frontier:
        following = []
        for u in sorted(frontier):
            for v in after[u]:
                if v not in met:
                    met.add(v)
                    parent[v] = u
                    following.append(v)
        frontier = following
    return (parent,)


def dfs(graph: Edges) -> tuple[list[int]]:
    """Return every node's parent in the forest of a depth-first search."""
    parent, _ = depth_first(neighbours(graph), range(len(graph)))
    return (parent,)


def topological_sort(graph: Edges) -> tuple[list[int], int]:
    """Return for every node the next one in topological order (the last: itself), and the first node."""
    _, finished = depth_first(neighbours(graph), range(len(graph)))
    following = list(range(len(graph)))
    for earlier, later in pairwise(finished):
        following[later] = earlier
    return following, finished[-1]


def strongly_connected_components(graph: Edges) -> tuple[list[int]]:
    """Return for every node the node of its component that a depth-first search leaves last."""
    _, finished = depth_first(neighbours(graph), range(len(graph)))
    before = neighbours([list(column) for column in zip(*graph, strict=True)])
    component = [-1] * len(graph)
    for root in reversed(finished):
        reached = [root] if component[root] < 0 else []
        while reached:
            u = reached.pop()
            component[u] = root
            reached += [v for v in before[u] if component[v] < 0]
    return (component,)


def articulation_points(graph: Edges) -> tuple[list[int]]:
    """Mark the nodes without which their component falls apart."""
    parent, entered, low = low_links(neighbours(graph))
    marked = [0] * len(graph)
    branches = [0] * len(graph)
    for v, u in enumerate(parent):
        if u != v:
            branches[u] += 1
            if parent[u] != u and low[v] >= entered[u]:
                marked[u] = 1
    for u, number in enumerate(branches):
        if parent[u] == u and number > 1:
            marked[u] = 1
    return (marked,)


def bridges(graph: Edges) -> tuple[Edges]:
    """Return -1 where there is no edge, 1 at edges without which their component falls apart, 0 at others.

    The diagonal is 0.
    """
    parent, entered, low = low_links(neighbours(graph))
    marked = [[0 if edge or u == v else -1 for v, edge in enumerate(row)] for u, row in enumerate(graph)]
    for v, u in enumerate(parent):
        if u != v and low[v] > entered[u]:
            marked[u][v] = marked[v][u] = 1
    return (marked,)


def neighbours(graph: list[list[int]] | list[list[float]]) -> Neighbours:
    """Return the nodes that each node has an edge to."""
    return [[v for v, edge in enumerate(row) if edge] for row in graph]


def depth_first(after: Neighbours, roots: Iterable[int]) -> tuple[list[int], list[int]]:
    """Return every node's parent, and the nodes in the order in which the search left them."""
    parent, finished, met = list(range(len(after))), [], [False] * len(after)

    def visit(u: int) -> None:
        met[u] = True
        for v in after[u]:
            if not met[v]:
                parent[v] = u
                visit(v)
        finished.append(u)

    for root in roots:
        if not met[root]:
            visit(root)
    return parent, finished


def low_links(after: Neighbours) -> tuple[list[int], list[int], list[int]]:
    """Return every node's parent, when it was entered, and the earliest time that its subtree has an edge to."""
    parent, entered, low = list(range(len(after))), [-1] * len(after), [0] * len(after)
    clock = iter(range(len(after)))

    def visit(u: int) -> None:
        entered[u] = low[u] = next(clock)
        for v in after[u]:
            if entered[v] < 0:
                parent[v] = u
                visit(v)
                low[u] = min(low[u], low[v])
            elif v != parent[u]:
                low[u] = min(low[u], entered[v])

    for root in range(len(after)):
        if entered[root] < 0:
            visit(root)
    return parent, entered, low
