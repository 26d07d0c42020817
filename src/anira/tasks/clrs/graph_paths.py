"""Graphs with weights: shortest paths and spanning trees. Weight 0 is no edge.

Lengths of paths are floats, added from the source on, as upstream adds them. Of paths that are equally long the one
found first stays, and the three algorithms for one source find them in different orders:

    bellman_ford        the fewest edges, then the lowest number of the node before
    dijkstra            the node before that is nearer to the source, then the lowest number
    dag_shortest_paths  the node before that comes first in the order of a depth-first search
"""

import numpy as np

from anira.tasks.base import Floats
from anira.tasks.clrs.graph_search import depth_first, neighbours
from anira.tasks.clrs.sampling import Instances, acyclic, cut, undirected_weights, with_source

Weights = list[list[float]]
_SPARSE = 0.2  # squared: the probability of an edge in Kruskal's graphs


def draw_rooted_weights(rng: np.random.Generator, count: int, n: int) -> Instances:
    """Draw a source and an undirected graph with an edge with probability 1/4."""
    return with_source(rng, undirected_weights(rng, count, n, 0.5))


def draw_rooted_acyclic(rng: np.random.Generator, count: int, n: int) -> Instances:
    """Draw a source and a directed acyclic graph; a weight below 0.001 is no edge."""
    graph = acyclic(rng, count, n)
    return with_source(rng, cut(graph * rng.random((count, n, n))))


def draw_weights(rng: np.random.Generator, count: int, n: int) -> Instances:
    """Draw undirected graphs with an edge with probability 1/4."""
    return [(graph,) for graph in undirected_weights(rng, count, n, 0.5).tolist()]


def draw_sparse_weights(rng: np.random.Generator, count: int, n: int) -> Instances:
    """Draw undirected graphs with an edge with probability 0.04."""
    return [(graph,) for graph in undirected_weights(rng, count, n, _SPARSE).tolist()]


def bellman_ford(s: int, graph: Weights) -> tuple[list[int]]:
    """Return every node's predecessor on a shortest path, by rounds over all edges at once.

    >>> bellman_ford(1, [[0, 0, 0.3], [0, 0, 0.4], [0.3, 0.4, 0]])
    ([2, 1, 1],)
    """
    weights = _infinite_where_no_edge(np.array(graph, dtype=np.float64))
    distance = np.full(len(graph), np.inf)
    distance[s] = 0
    before = np.arange(len(graph))
    while True:
        lengths = distance[:, None] + weights
        last = lengths.argmin(axis=0)
        length = lengths[last, np.arange(len(graph))]
        better = length < distance
        if not better.any():
            return (before.tolist(),)
        distance[better], before[better] = length[better], last[better]


def dijkstra(s: int, graph: Weights) -> tuple[list[int]]:
    """Return every node's predecessor on a shortest path, nearest nodes first."""
    return (_nearest_first(s, graph, add=True),)


def mst_prim(s: int, graph: Weights) -> tuple[list[int]]:
    """Return every node's parent in a minimum spanning tree of the source's component."""
    return (_nearest_first(s, graph, add=False),)


def _nearest_first(s: int, graph: Weights, *, add: bool) -> list[int]:
    """Settle nodes by rising cost; a node costs its edge, plus the cost of the node before if `add`."""
    before, cost, open_nodes, settled = list(range(len(graph))), {s: 0.0}, {s}, set()
    while open_nodes:
        u = min(open_nodes, key=lambda node: (cost[node], node))
        open_nodes.remove(u)
        settled.add(u)
        start = cost[u] if add else 0.0
        for v, weight in enumerate(graph[u]):
            if weight and v not in settled and (v not in cost or start + weight < cost[v]):
                before[v], cost[v] = u, start + weight
                open_nodes.add(v)
    return before


def dag_shortest_paths(s: int, graph: Weights) -> tuple[list[int]]:
    """Return every node's predecessor on a shortest path, in topological order."""
    after = neighbours(graph)
    _, finished = depth_first(after, [s])
    before, distance = list(range(len(graph))), {s: 0.0}
    for u in reversed(finished):
        for v in after[u]:
            length = distance[u] + graph[u][v]
            if v not in distance or length < distance[v]:
                before[v], distance[v] = u, length
    return (before,)


def floyd_warshall(graph: Weights) -> tuple[list[list[int]]]:
    """Return for every pair (i, j) the node before j on a shortest path from i; i where there is none.

    A node's way to itself starts as its loop, if there is one: a shorter way round changes its predecessor too.
    """
    weights = np.array(graph, dtype=np.float64)
    distance = _infinite_where_no_edge(weights)
    each = np.arange(len(graph))
    distance[each, each] = weights[each, each]
    before = np.repeat(each[:, None], len(graph), axis=1)
    for k in range(len(graph)):
        length = distance[:, k, None] + distance[k]
        better = length < distance
        distance = np.where(better, length, distance)
        before = np.where(better, before[k], before)
    return (before.tolist(),)


def mst_kruskal(graph: Weights) -> tuple[list[list[int]]]:
    """Mark the edges of a minimum spanning forest; of equal weights the edge with the lower numbers goes first."""
    n = len(graph)
    edges = sorted((graph[u][v], u, v) for u in range(n) for v in range(u + 1, n) if graph[u][v])
    marked = [[0] * n for _ in range(n)]
    tree = list(range(n))
    for _, u, v in edges:
        if tree[u] != tree[v]:
            marked[u][v] = marked[v][u] = 1
            tree = [tree[u] if name == tree[v] else name for name in tree]
    return (marked,)


def _infinite_where_no_edge(graph: Floats) -> Floats:
    return np.where(graph == 0, np.inf, graph)
