"""Batches of BREVO graphs: drawing them, and searching all of them at once.

Nodes are known by their names, the integers 1 .. max_nodes; name 0 means "none". An edge points from a dependency
(parent) to its dependent (child). Nothing here knows about tokens.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from anira.tasks.base import Ints
from anira.tasks.sampling import random_order

DEGREE: Final = 4  # most dependencies of a node, and most dependents
LARGEST: Final = 255  # most nodes, so that a name fits into 8 bits
_BEYOND: Final = 256  # sorts behind every name


class Graphs(NamedTuple):
    """The edges of a batch of graphs, row after row in the order of the text, and the node that each row asks for."""

    row: Ints
    parent: Ints
    child: Ints
    query: Ints


class Answers(NamedTuple):
    """The names to output for every row: row r holds lengths[r] of them, then anything."""

    names: Ints
    lengths: Ints


def draw_graphs(rng: np.random.Generator, sizes: Ints, max_nodes: int) -> Graphs:
    """Draw one graph of each size; the query is the last node, which always has a dependency and no dependent."""
    # A node is drawn for all rows together. With the largest graphs first, the rows that have a node are a prefix.
    order = np.argsort(-sizes, kind="stable")
    sizes, width = sizes[order], int(sizes.max())
    names = 1 + random_order(rng, np.full(len(sizes), max_nodes), max_nodes)[:, :width]
    rank, parent, child = (np.concatenate(part) for part in zip(*_draw_edges(rng, sizes), strict=True))
    start = rank * width
    edges = _shuffle(rng, order[rank], names.take(start + parent), names.take(start + child), count=len(sizes))
    query = np.empty_like(sizes)
    query[order] = names[np.arange(len(sizes)), sizes - 1]
    return Graphs(*edges, query)


def _draw_edges(rng: np.random.Generator, sizes: Ints) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Yield (row, parent, child) of the edges into node 1, 2, ...; a node's number is its place in topological order.

    Of n nodes the first few are leaves, uniformly 1 .. (n - 1) // 4 + 1 of them. Every later node takes 1 .. 4 parents
    (or as many as there are) among the earlier nodes that have fewer than 4 dependents. `sizes` must descend.
    """
    leaves = 1 + _below(rng, (sizes - 1) // 4 + 1)
    pools = _Pools(len(sizes), int(sizes[0]))
    for node in range(int(sizes[0])):
        rows = int(np.count_nonzero(sizes > node))
        num_parents = 1 + _below(rng, np.minimum(DEGREE, pools.sizes[:rows]))
        num_parents[leaves[:rows] > node] = 0
        for row, parent in pools.draw(rng, num_parents):
            yield row, parent, np.full_like(row, node)
        pools.add(node, rows)


class _Pools:
    """The nodes of every row that may get another dependent, in no order: the first sizes[r] entries of row r."""

    def __init__(self, count: int, width: int) -> None:
        self._start = np.arange(count) * width  # rows are laid end to end: one index is quicker than two
        self._nodes = np.zeros(count * width, dtype=np.int64)
        self._dependents = np.zeros(count * width, dtype=np.int8)
        self.sizes = np.zeros(count, dtype=np.int64)

    def add(self, node: int, rows: int) -> None:
        """Put a node into the pools of the first `rows` rows."""
        self._nodes[self._start[:rows] + self.sizes[:rows]] = node
        self.sizes[:rows] += 1

    def draw(self, rng: np.random.Generator, counts: Ints) -> list[tuple[Ints, Ints]]:
        """Draw counts[r] different nodes of row r, uniformly; return (rows, nodes) of the first draws, the second, ...

        Every node drawn has one more dependent, and leaves the pool with the fourth.
        """
        out: list[tuple[Ints, Ints]] = []
        sizes = self.sizes.copy()
        for k in range(DEGREE):
            row = np.flatnonzero(counts > k)
            start, left = self._start[row], sizes[row] - k
            place, last = start + _below(rng, left), start + left - 1
            node = self._nodes[place]
            self._nodes[place] = self._nodes[last]
            self._nodes[last] = node  # behind all that can be drawn next
            self._dependents[start + node] += 1
            full = self._dependents[start + node] == DEGREE
            self.sizes[row[full]] -= 1  # and the last node of the pool takes the place of the one that leaves
            self._nodes[last[full]] = self._nodes[start[full] + self.sizes[row[full]]]
            out.append((row, node))
        return out


def _below(rng: np.random.Generator, limits: Ints) -> Ints:
    """Return one uniform integer in 0 .. limit - 1 for every limit."""
    return (rng.random(len(limits)) * limits).astype(np.int64)


def _shuffle(rng: np.random.Generator, row: Ints, parent: Ints, child: Ints, *, count: int) -> tuple[Ints, Ints, Ints]:
    """Order the edges by row and at random within a row, with one sort of packed (row, random bits, parent, child)."""
    shift = 63 - count.bit_length()
    keys = rng.integers(0, 2**shift, size=len(row)) & ~0xFFFF | row << shift | parent << 8 | child
    keys.sort()
    return keys >> shift, keys >> 8 & 255, keys & 255


def search(graphs: Graphs, max_nodes: int) -> Answers:
    """Return all that the query depends on, in depth-first postorder with smaller names first.

    For the edges 2 -> 5, 9 -> 5, 5 -> 7, 9 -> 7 and the query 7 that is 2 9 5. One pass of the loop moves the search of
    every row: on to the smallest dependency of the current node that was not entered before, or, where there is none,
    back to the node it was entered from.
    """
    count, names = len(graphs.query), max_nodes + 1
    parents = _parents(graphs, names)
    # Where each node was entered from, 0 if it was not. "None" counts as entered, so that nobody goes there.
    origin = np.zeros(count * names, dtype=np.int16)
    origin[::names] = 1
    order, lengths = np.zeros((count, names), dtype=np.int16), np.zeros(count, dtype=np.int64)
    row, current = np.arange(count), graphs.query
    while len(row):
        base = row * names
        options = parents.take(base + current, axis=1)
        options[origin.take(base + options) > 0] = _BEYOND
        onward = options.min(axis=0)
        back = onward == _BEYOND
        order[row, lengths[row]] = current  # for good where the search goes back, else until the next pass
        lengths[row] += back
        onward[back] = 0
        origin[base + onward] = current
        current = np.where(back, origin.take(base + current), onward)
        searching = current > 0  # the query was entered from "none"
        row, current = row[searching], current[searching]
    return Answers(order, lengths - 1)  # the query, written last, is not part of the answer


def _parents(graphs: Graphs, names: int) -> Ints:
    """Return the dependencies of every node as (4, rows * names), filled up with 0."""
    edges = (graphs.row * names + graphs.child) << 8 | graphs.parent
    edges.sort()
    node, each = edges >> 8, np.arange(len(edges))
    first = np.maximum.accumulate(np.where(np.diff(node, prepend=-1) > 0, each, 0))  # the first edge of the same node
    parents = np.zeros((DEGREE, len(graphs.query) * names), dtype=np.int16)
    parents[each - first, node] = edges & 255
    return parents
