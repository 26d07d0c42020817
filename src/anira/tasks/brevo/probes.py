"""The reference solver of one BREVO instance, and its state at every node that it outputs.

The graph 12 <- 5 18, 5 <- 8 19, 18 <- 8 with the query 12 (`a <- b c`: a depends on b and c):

    output            8   19   5   18
    in_degree         0    0   2    1
    dfs_depth         2    2   1    1
    frontier_ready    2    2   2    1    8 19 | 19 18 | 5 18 | 18
    frontier_stack    4    3   2    1    5 8 18 19 | 5 18 19 | 5 18 | 18
    newly_enabled     1    1   0    0    8 enables 18, 19 enables 5
"""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Final

from anira.tasks.base import Probe

PROBES: Final = tuple(
    Probe(name=name, anchor="target", meaning=meaning)
    for name, meaning in {
        "num_nodes": "nodes of the graph",
        "out_degree_dep": "nodes of the answer that depend on this one directly",
        "out_degree_with_query": "the same, with the query",
        "in_degree": "nodes this one depends on directly",
        "remaining": "nodes still to output after this one",
        "dfs_depth": "depth in the tree of the depth-first search; the query has 0",
        "frontier_ready": "nodes of the answer that could be output now, this one included",
        "frontier_stack": "nodes that the search has met but not output, this one included",
        "newly_enabled": "nodes of the answer that only waited for this one",
        "distance_to_query": "fewest edges from this node to the query",
        "predecessor_positions": "positions in the row of the up to 4 nodes this one depends on",
    }.items()
)


class Search:
    """A depth-first search from the query against the edges (dependency, dependent), smaller names first.

    >>> Search([(19, 5), (8, 5), (5, 12), (18, 12), (8, 18)], query=12).order
    [8, 19, 5, 18]
    """

    def __init__(self, edges: Iterable[tuple[int, int]], query: int) -> None:
        self.query = query
        self._parents: dict[int, list[int]] = {}
        for parent, child in sorted(edges):
            self._parents.setdefault(child, []).append(parent)
        self.tree_depth: dict[int, int] = {}  # of every reached node; the query has 0
        self._met: dict[int, int] = {}  # nodes known and not yet output, just before a node's own output
        self._enter(query, 0, frontier=set())
        self.order = list(self._met)[:-1]  # the answer: postorder without the query

    def _enter(self, node: int, depth: int, *, frontier: set[int]) -> None:
        self.tree_depth[node] = depth
        frontier |= set(self.parents(node)) - self._met.keys()
        for parent in self.parents(node):
            if parent not in self.tree_depth:
                self._enter(parent, depth + 1, frontier=frontier)
        self._met[node] = len(frontier)
        frontier.discard(node)

    def parents(self, node: int) -> Sequence[int]:
        """Return what a node depends on directly, ascending."""
        return self._parents.get(node, ())

    @cached_property
    def children(self) -> dict[int, list[int]]:
        """The reached nodes that depend directly on a node."""
        out: dict[int, list[int]] = {node: [] for node in self.tree_depth}
        for child in self.tree_depth:
            for parent in self.parents(child):
                out[parent].append(child)
        return out

    @cached_property
    def distance(self) -> dict[int, int]:
        """The fewest edges from a node to the query: breadth first, one ring of nodes after the other."""
        out, ring = {self.query: 0}, [self.query]
        while ring:
            new = {parent for node in ring for parent in self.parents(node)} - out.keys()
            out.update(dict.fromkeys(new, out[ring[0]] + 1))
            ring = list(new)
        return out

    @property
    def num_edges(self) -> int:
        """Edges between reached nodes."""
        return sum(len(children) for children in self.children.values())

    @property
    def longest_chain(self) -> int:
        """Edges on the longest path that ends in the query."""
        length: dict[int, int] = {}
        for node in [*self.order, self.query]:
            length[node] = max((1 + length[parent] for parent in self.parents(node)), default=0)
        return length[self.query]

    def accepts(self, nodes: Sequence[int]) -> bool:
        """Say whether these are the nodes of the answer in any order in which dependencies come first."""
        if sorted(nodes) != sorted(self.order):
            return False
        place = {node: i for i, node in enumerate(nodes)}
        return all(place[parent] < place[node] for node in nodes for parent in self.parents(node))

    def states(self) -> list[dict[str, int]]:
        """Return the scalar probes of every node of the answer, except `num_nodes`."""
        missing = {node: len(self.parents(node)) for node in self.order}
        ready = sum(count == 0 for count in missing.values())
        out = []
        for i, node in enumerate(self.order):
            children = [child for child in self.children[node] if child != self.query]
            for child in children:
                missing[child] -= 1
            enabled = sum(missing[child] == 0 for child in children)
            state = {
                "out_degree_dep": len(children),
                "out_degree_with_query": len(self.children[node]),
                "in_degree": len(self.parents(node)),
                "remaining": len(self.order) - 1 - i,
                "dfs_depth": self.tree_depth[node],
                "frontier_ready": ready,
                "frontier_stack": self._met[node],
                "newly_enabled": enabled,
                "distance_to_query": self.distance[node],
            }
            out.append(state)
            ready += enabled - 1
        return out
