"""CLRS on instances that hypothesis draws: texts that are read back, and solvers against slower, independent ones."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.spatial import ConvexHull, QhullError
from tests.clrs_support import answer

from anira.tasks.clrs import Clrs, solve
from anira.tasks.clrs.algorithms import ALGORITHMS
from anira.tasks.clrs.baselines import copied_answer
from anira.tasks.clrs.fields import Field
from anira.tasks.clrs.strings import join
from anira.tasks.clrs.text import parse, read_answer, write_answer, write_question

thousandths = st.integers(0, 999).map(lambda value: value / 1000)
signed = st.integers(-999, 999).map(lambda value: value / 1000)
keys = st.lists(thousandths, min_size=1, max_size=12)
quick = settings(max_examples=60)


# Texts


@pytest.mark.parametrize("style", ["anira", "upstream"])
@pytest.mark.parametrize("name", ALGORITHMS)
@settings(max_examples=15)
@given(seed=st.integers(0, 2**32), size=st.integers(2, 20))
def test_what_is_drawn_and_written_is_read_back(name: str, style: Any, seed: int, size: int) -> None:
    algorithm = ALGORITHMS[name]
    (values,) = algorithm.draw(np.random.default_rng(seed), 1, size)
    question = write_question(algorithm, values, style)
    problem = parse(question)
    assert problem.values == values
    assert problem.size == (4 if name == "segments_intersect" else size)
    text = write_answer(problem.algorithm, values, style)
    assert solve(question, style) == text
    read = read_answer(algorithm, text, problem.size)
    assert read == problem.algorithm.solve(*values)
    copy = copied_answer(question, style)
    assert copy is None or len(read_answer(algorithm, copy, problem.size)) == 1


@pytest.mark.parametrize("style", ["anira", "upstream"])
@given(values=st.lists(st.floats(0, 1e6, allow_nan=False)))
def test_any_reals_are_read_back(style: Any, values: list[float]) -> None:
    field = Field("key", 1, True)
    assert field.read(field.write(values, style)) == values


@given(values=st.lists(st.lists(st.integers(-99, 99), min_size=1), min_size=1))
def test_any_matrix_is_read_back(values: list[list[int]]) -> None:
    field = Field("b", 2, False)
    assert field.read(field.write(values, "anira")) == values


@settings(max_examples=10)
@given(seed=st.integers(0, 2**32), size=st.integers(2, 12))
def test_a_row_read_from_its_question_is_the_row(seed: int, size: int) -> None:
    task = Clrs()
    rows = task.rows(seed=seed, stream="eval", start=0, count=23, knob=size)
    for i in range(23):
        assert task.read(task.instance(rows, i).question).ids(0) == rows.ids(i)


# Sorting and searching, divide and conquer


@quick
@given(keys)
def test_sort_is_the_only_ascending_order(key: list[float]) -> None:
    (found,) = answer("quicksort", key)
    assert all(a <= b for a, b in itertools.pairwise(found))
    assert all(found.count(value) == key.count(value) for value in found + key)


@quick
@given(keys)
def test_minimum_and_quickselect_point_at_the_right_values(key: list[float]) -> None:
    (smallest,), (middle,) = answer("minimum", key), answer("quickselect", key)
    assert key[smallest] == np.sort(key)[0]
    assert min(key) not in key[:smallest]
    assert key[middle] == np.partition(key, len(key) // 2)[len(key) // 2]


@quick
@given(keys, thousandths)
def test_binary_search_is_a_search_from_the_left(key: list[float], target: float) -> None:
    key = sorted(key)
    places = [i for i, value in enumerate(key) if value >= target]
    assert answer("binary_search", key, target) == (min(places, default=len(key) - 1),)


@quick
@given(st.lists(st.integers(-64, 64).map(lambda value: value / 64), min_size=1, max_size=10))
def test_no_run_has_a_larger_sum(key: list[float]) -> None:
    """Sixty-fourths add up without rounding, so sums can be compared."""
    start, end = answer("find_maximum_subarray_kadane", key)
    runs = itertools.combinations(range(len(key) + 1), 2)
    assert sum(key[start : end + 1]) == max(sum(key[low:high]) for low, high in runs)


# Dynamic programming


@quick
@given(st.lists(st.integers(1, 30).map(float), min_size=2, max_size=8))
def test_matrix_chain_splits_cost_the_least(p: list[float]) -> None:
    (chosen,) = answer("matrix_chain_order", p)

    def cost(i: int, j: int, k: int, every: bool) -> float:
        """Return the cost of matrices i .. j split at k."""
        return product(i, k, every) + product(k + 1, j, every) + p[i - 1] * p[k] * p[j]

    def product(i: int, j: int, every: bool) -> float:
        """Return the cost of matrices i .. j with the best of all splits, or with the chosen ones."""
        return 0 if i == j else min(cost(i, j, k, every) for k in (range(i, j) if every else [chosen[i][j]]))

    for i, j in itertools.combinations(range(1, len(p)), 2):
        costs = {k: cost(i, j, k, every=True) for k in range(i, j)}
        assert product(i, j, every=False) == min(costs.values())
        assert chosen[i][j] == min(k for k, value in costs.items() if value == min(costs.values()))


symbols = st.lists(st.integers(0, 3), min_size=1, max_size=6)


@quick
@given(symbols, symbols)
def test_the_way_back_spells_a_longest_common_subsequence(x: list[int], y: list[int]) -> None:
    (table,) = answer("lcs_length", *join(x, y))
    i, j, spelled = len(x) - 1, len(y) - 1, []
    while i >= 0 and j >= 0:
        way = table[i][len(x) + j]
        assert (way == 0) == (x[i] == y[j])
        spelled += [x[i]] if way == 0 else []
        i, j = i - (way != 2), j - (way != 1)
    subsequences = [{*itertools.chain(*(itertools.combinations(z, k) for k in range(len(z) + 1)))} for z in (x, y)]
    assert tuple(reversed(spelled)) in subsequences[0] & subsequences[1]
    assert len(spelled) == max(map(len, subsequences[0] & subsequences[1]))
    inside = {(a, len(x) + b) for a in range(len(x)) for b in range(len(y))}
    assert all((table[a][b] == -1) == ((a, b) not in inside) for a in range(len(table)) for b in range(len(table)))


@quick
@given(st.data(), st.integers(1, 5))
def test_roots_make_the_best_search_trees(data: Any, n: int) -> None:
    eighths = st.integers(0, 16).map(lambda value: value / 8)
    p, q = (data.draw(st.lists(eighths, min_size=k, max_size=k)) for k in (n, n + 1))
    (root,) = answer("optimal_bst", [*p, 0.0], q)

    def cost(i: int, j: int, depth: int, every: bool) -> float:
        """Return the expected comparisons over keys i .. j - 1, whose subtree hangs at a depth."""
        if i == j:
            return q[i] * (depth + 1)
        roots = range(i, j) if every else [root[i][j]]
        return min(cost(i, r, depth + 1, every) + p[r] * (depth + 1) + cost(r + 1, j, depth + 1, every) for r in roots)

    for i, j in itertools.combinations(range(n + 1), 2):
        assert cost(i, j, 0, every=False) == cost(i, j, 0, every=True)


# Greedy


@quick
@given(st.lists(st.tuples(thousandths, thousandths).map(sorted), min_size=1, max_size=8))
def test_no_more_activities_go_together(activities: list[list[float]]) -> None:
    """Half-open times: one may start when another ends. An activity that takes no time is left out, it may tie."""
    activities = [(start, finish) for start, finish in activities if start < finish]
    assume(activities)
    start, finish = (list(side) for side in zip(*activities, strict=True))
    (selected,) = answer("activity_selector", start, finish)

    def go_together(chosen: list[tuple[float, float]]) -> bool:
        return all(one[1] <= other[0] for one, other in itertools.pairwise(sorted(chosen)))

    taken = [activity for activity, mark in zip(activities, selected, strict=True) if mark]
    assert go_together(taken)
    sizes = [
        k
        for k in range(len(activities) + 1)
        if any(go_together(list(c)) for c in itertools.combinations(activities, k))
    ]
    assert len(taken) == max(sizes)


@quick
@given(st.lists(st.tuples(st.integers(1, 8), thousandths), min_size=1, max_size=8))
def test_every_task_taken_is_heavier_than_what_it_pushed_out(tasks: list[tuple[int, float]]) -> None:
    deadlines, weights = (list(side) for side in zip(*tasks, strict=True))
    (selected,) = answer("task_scheduling", deadlines, weights)
    for i, (deadline, weight) in enumerate(tasks):
        heavier = [j for j, other in enumerate(weights) if (-other, j) < (-weight, i)]
        before = sum(selected[j] for j in heavier)
        assert selected[i] == (before < deadline)


# Strings and geometry


@quick
@given(symbols, symbols, st.data())
def test_a_pattern_is_found_where_it_occurs_first(head: list[int], pattern: list[int], data: Any) -> None:
    text = head + pattern + data.draw(symbols)
    places = [i for i in range(len(text)) if text[i:][: len(pattern)] == pattern]
    assert answer("kmp_matcher", *join(text, pattern)) == (places[0],)


points = st.lists(st.tuples(signed, signed), min_size=3, max_size=10, unique=True)


@quick
@given(points)
def test_the_hull_is_that_of_scipy(where: list[tuple[float, float]]) -> None:
    (marked,) = answer("graham_scan", *(list(side) for side in zip(*where, strict=True)))
    try:
        hull = ConvexHull(np.array(where))
    except QhullError:  # all on a line: the two ends are left
        assert sum(marked) == 2
        return
    assert {node for node, mark in enumerate(marked) if mark} == set(hull.vertices.tolist())


@quick
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=4, max_size=4))
def test_segments_meet_where_some_point_lies_on_both(ends: list[tuple[int, int]]) -> None:
    a, b, c, d = (np.array(end) for end in ends)
    assume(not (a == b).all() and not (c == d).all())
    x, y = ([float(end[axis]) for end in ends] for axis in (0, 1))
    assert answer("segments_intersect", x, y) == (int(meet(a, b, c, d)),)


def meet(a: Any, b: Any, c: Any, d: Any) -> bool:
    """Solve a + s (b - a) = c + t (d - c) for s and t in 0 .. 1."""
    sides = np.column_stack([b - a, c - d])
    if abs(np.linalg.det(sides)) > 1e-9:
        return bool(((share := np.linalg.solve(sides, c - a)) >= -1e-9).all() and (share <= 1 + 1e-9).all())
    if abs(np.linalg.det(np.column_stack([b - a, c - a]))) > 1e-9:
        return False  # parallel
    along = [float((point - a) @ (b - a)) for point in (a, b, c, d)]
    return max(min(along[:2]), min(along[2:])) <= min(max(along[:2]), max(along[2:]))
