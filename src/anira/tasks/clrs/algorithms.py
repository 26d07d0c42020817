"""The 30 algorithms of CLRS-Text, and the 23 subtasks that they are without their traces.

Quicksort and heapsort differ in how they sort, not in what they answer: without traces they are one subtask. A subtask
that merges several algorithms answers as the first of them does; this matters only for paths of equal length.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from anira.config import UserError, nearest
from anira.tasks.clrs import divide_and_conquer as divide
from anira.tasks.clrs import dynamic_programming as dynamic
from anira.tasks.clrs import geometry, greedy, sorting, strings
from anira.tasks.clrs import graph_paths as paths
from anira.tasks.clrs import graph_search as search
from anira.tasks.clrs.fields import Field, Value, layout, quoted
from anira.tasks.clrs.sampling import Instances, draw_keys


@dataclass(frozen=True)
class Algorithm:
    """What an algorithm of dm-clrs reads and answers."""

    name: str
    reads: str
    """The inputs as a question writes them, with x for a real and i for an integer."""
    answers: str
    """The outputs, in the same way."""
    draw: Callable[[np.random.Generator, int, int], Instances]
    """(random numbers, how many instances, their size) -> instances."""
    solve: Callable[..., tuple[Value, ...]]
    """The inputs of one instance -> its outputs."""
    extra: int = 0
    """How many entries a list has beyond the input size."""

    @cached_property
    def inputs(self) -> tuple[Field, ...]:
        """Return the fields of a question."""
        return layout(self.reads)

    @cached_property
    def outputs(self) -> tuple[Field, ...]:
        """Return the fields of an answer."""
        return layout(self.answers)

    def size(self, values: tuple[Value, ...]) -> int:
        """Return the input size n: the entries of a list, the nodes of a graph."""
        return max(len(value) for field, value in zip(self.inputs, values, strict=True) if field.dims) - self.extra


_ALGORITHMS: Final = (
    Algorithm("insertion_sort", "key: [x]", "pred: [x]", draw_keys, sorting.sort),
    Algorithm("bubble_sort", "key: [x]", "pred: [x]", draw_keys, sorting.sort),
    Algorithm("heapsort", "key: [x]", "pred: [x]", draw_keys, sorting.sort),
    Algorithm("quicksort", "key: [x]", "pred: [x]", draw_keys, sorting.sort),
    Algorithm("minimum", "key: [x]", "min: i", draw_keys, sorting.minimum),
    Algorithm("quickselect", "key: [x]", "median: i", draw_keys, sorting.quickselect),
    Algorithm("binary_search", "key: [x], target: x", "return: i", sorting.draw_search, sorting.binary_search),
    Algorithm(
        "find_maximum_subarray_kadane", "key: [x]", "start: i, end: i", divide.draw_signed, divide.maximum_subarray
    ),
    Algorithm("matrix_chain_order", "p: [x]", "s: [[i]]", draw_keys, dynamic.matrix_chain_order),
    Algorithm("lcs_length", "string: [i], key: [i]", "b: [[i]]", dynamic.draw_strings, dynamic.lcs_length),
    Algorithm("optimal_bst", "p: [x], q: [x]", "root: [[i]]", dynamic.draw_probabilities, dynamic.optimal_bst, extra=1),
    Algorithm("activity_selector", "s: [x], f: [x]", "selected: [i]", greedy.draw_activities, greedy.activity_selector),
    Algorithm("task_scheduling", "d: [i], w: [x]", "selected: [i]", greedy.draw_tasks, greedy.task_scheduling),
    Algorithm("bfs", "s: i, A: [[i]]", "pi: [i]", search.draw_rooted, search.bfs),
    Algorithm("dfs", "A: [[i]]", "pi: [i]", search.draw_directed, search.dfs),
    Algorithm("topological_sort", "A: [[i]]", "topo: [i], topo_head: i", search.draw_acyclic, search.topological_sort),
    Algorithm("articulation_points", "A: [[i]]", "is_cut: [i]", search.draw_sparse, search.articulation_points),
    Algorithm("bridges", "A: [[i]]", "is_bridge: [[i]]", search.draw_sparse, search.bridges),
    Algorithm(
        "strongly_connected_components",
        "A: [[x]]",
        "scc_id: [i]",
        search.draw_communities,
        search.strongly_connected_components,
    ),
    Algorithm("mst_kruskal", "A: [[x]]", "in_mst: [[i]]", paths.draw_sparse_weights, paths.mst_kruskal),
    Algorithm("mst_prim", "s: i, A: [[x]]", "pi: [i]", paths.draw_rooted_weights, paths.mst_prim),
    Algorithm("bellman_ford", "s: i, A: [[x]]", "pi: [i]", paths.draw_rooted_weights, paths.bellman_ford),
    Algorithm("dijkstra", "s: i, A: [[x]]", "pi: [i]", paths.draw_rooted_weights, paths.dijkstra),
    Algorithm("dag_shortest_paths", "s: i, A: [[x]]", "pi: [i]", paths.draw_rooted_acyclic, paths.dag_shortest_paths),
    Algorithm("floyd_warshall", "A: [[x]]", "Pi: [[i]]", paths.draw_weights, paths.floyd_warshall),
    Algorithm(
        "naive_string_matcher", "string: [i], key: [i]", "match: i", strings.draw_matching, strings.string_matching
    ),
    Algorithm("kmp_matcher", "string: [i], key: [i]", "match: i", strings.draw_matching, strings.string_matching),
    Algorithm("graham_scan", "x: [x], y: [x]", "in_hull: [i]", geometry.draw_points, geometry.convex_hull),
    Algorithm("jarvis_march", "x: [x], y: [x]", "in_hull: [i]", geometry.draw_points, geometry.convex_hull),
    Algorithm(
        "segments_intersect", "x: [x], y: [x]", "intersect: i", geometry.draw_segments, geometry.segments_intersect
    ),
)
ALGORITHMS: Final = {algorithm.name: algorithm for algorithm in _ALGORITHMS}


@dataclass(frozen=True)
class Subtask:
    """One of the 23: how hard it is, what it asks for, and the sizes that training shows."""

    name: str
    largest: int
    """The largest size in the published training set."""
    cost: str
    meaning: str
    algorithms: tuple[str, ...] = ()
    """The algorithms merged in it; by default the one of the same name."""

    @property
    def seen(self) -> tuple[int, ...]:
        """Return the sizes in the published training set."""
        return tuple(size for size in (4, 5, 10, 11, 12, 15, 19, 23, 28, 31) if size <= self.largest)

    @cached_property
    def members(self) -> tuple[Algorithm, ...]:
        """Return the algorithms merged in it."""
        return tuple(ALGORITHMS[name] for name in self.algorithms or (self.name,))


_SUBTASKS: Final = (
    Subtask(
        "sort",
        31,
        "n log n comparisons",
        "the values in ascending order",
        ("insertion_sort", "bubble_sort", "heapsort", "quicksort"),
    ),
    Subtask("minimum", 31, "n comparisons", "where the smallest value stands"),
    Subtask("quickselect", 31, "n comparisons", "where the value of rank n // 2 stands"),
    Subtask("binary_search", 31, "log n comparisons", "the first place whose value is at least the target"),
    Subtask("find_maximum_subarray_kadane", 31, "n additions", "the two ends of a run with the largest sum"),
    Subtask("matrix_chain_order", 10, "n^3 splits", "where to split every product of a chain of matrices"),
    Subtask("lcs_length", 10, "n^2 cells", "the way back to a longest common subsequence"),
    Subtask("optimal_bst", 10, "n^3 roots", "the root of the best search tree over every range of keys"),
    Subtask("activity_selector", 31, "n log n comparisons", "the most activities of which no two overlap"),
    Subtask("task_scheduling", 31, "n log n comparisons", "tasks by weight, as long as they keep their deadlines"),
    Subtask("bfs", 31, "n^2 edges", "parents in breadth-first search"),
    Subtask("dfs", 23, "n^2 edges", "parents in depth-first search"),
    Subtask("topological_sort", 23, "n^2 edges", "the next node in topological order, and the first one"),
    Subtask("articulation_points", 19, "n^2 edges", "nodes without which their component falls apart"),
    Subtask("bridges", 5, "n^2 edges", "edges without which their component falls apart"),
    Subtask("strongly_connected_components", 15, "n^2 edges", "one node of each strongly connected component"),
    Subtask("mst_kruskal", 10, "n^2 log n comparisons", "the edges of a minimum spanning forest"),
    Subtask("mst_prim", 28, "n^2 edges", "parents in a minimum spanning tree"),
    Subtask(
        "shortest_path",
        31,
        "n^2 edges",
        "predecessors on shortest paths from s",
        ("bellman_ford", "dijkstra", "dag_shortest_paths"),
    ),
    Subtask("floyd_warshall", 10, "n^3 sums", "predecessors on shortest paths between all pairs"),
    Subtask(
        "string_matching",
        31,
        "n comparisons",
        "where the second string first occurs in the first one",
        ("naive_string_matcher", "kmp_matcher"),
    ),
    Subtask("convex_hull", 31, "n log n turns", "the corners of the convex hull", ("graham_scan", "jarvis_march")),
    Subtask("segments_intersect", 31, "4 turns at every size", "whether two segments meet"),
)
SUBTASKS: Final = {subtask.name: subtask for subtask in _SUBTASKS}
MERGED: Final = {member.name: subtask for subtask in _SUBTASKS for member in subtask.members}
"""An algorithm's name -> the subtask it belongs to."""


def find_subtask(name: str) -> Subtask:
    """Return the subtask of that name, or the one that the algorithm of that name belongs to.

    >>> find_subtask("quicksort").name, len(SUBTASKS), len(ALGORITHMS)
    ('sort', 23, 30)
    """
    found = SUBTASKS.get(name) or MERGED.get(name)
    if found is None:
        raise UserError(f"unknown algorithm {quoted(name)}: {nearest(name[:100], [*SUBTASKS, *ALGORITHMS])}")
    return found


def find_algorithm(name: str) -> Algorithm:
    """Return the algorithm of that name; a subtask answers as its first member.

    >>> find_algorithm("shortest_path").name
    'bellman_ford'
    """
    return ALGORITHMS[name] if name in ALGORITHMS else find_subtask(name).members[0]
