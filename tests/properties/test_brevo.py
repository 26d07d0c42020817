"""BREVO on graphs that hypothesis draws: solvers against brute force, probes against their definitions, grading."""

import random
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anira.tasks.brevo import Brevo, BrevoConfig
from anira.tasks.brevo.graph import Graphs, search
from anira.tasks.brevo.probes import Search
from benchmarks.plain import brevo as plain

Edges = list[tuple[int, int]]
Parents = dict[int, set[int]]

NAMES = 20
TASK = Brevo(BrevoConfig(max_nodes=NAMES))
EOS = TASK.vocab.id("<eos>")
untimed = settings(deadline=None)  # a slow machine is not a wrong answer


@st.composite
def problems(draw: st.DrawFn) -> tuple[Edges, int]:
    """Draw a graph with in-degree at most 4 in shuffled order of edges, and any node with a dependency as the query."""
    nodes = draw(st.lists(st.integers(1, NAMES), min_size=2, max_size=12, unique=True))
    edges = []
    for i, node in enumerate(nodes[1:], 1):
        chosen = draw(st.sets(st.sampled_from(nodes[:i]), min_size=i == 1, max_size=4))
        edges += [(parent, node) for parent in chosen]
    query = draw(st.sampled_from(sorted({child for _, child in edges})))
    return draw(st.permutations(edges)), query


def parents_of(edges: Edges) -> Parents:
    out: Parents = {node: set() for edge in edges for node in edge}
    for parent, child in edges:
        out[child].add(parent)
    return out


def brute_force(edges: Edges, query: int) -> list[int]:
    """Unroll the graph below the query into a tree, write its postorder down, keep first occurrences."""
    parents = parents_of(edges)

    @cache
    def unrolled(node: int) -> tuple[int, ...]:
        below = [name for parent in sorted(parents[node]) for name in unrolled(parent)]
        return (*dict.fromkeys(below), node)

    return list(unrolled(query)[:-1])


def question(edges: Edges, query: int) -> str:
    return " ".join(f"n{a:02d} n{b:02d}" for a, b in edges) + f" <query> n{query:02d}"


@untimed
@given(problems())
def test_every_solver_agrees_with_brute_force(problem: tuple[Edges, int]) -> None:
    wanted = brute_force(*problem)
    assert Search(*problem).order == wanted
    assert plain.solve(*problem) == wanted
    rows = TASK.read(question(*problem))
    assert rows.answer(0) == [*(name + 4 for name in wanted), EOS]
    assert (rows.ids(0), rows.labels[0].tolist()) == plain.write(*problem, wanted)


@untimed
@given(st.lists(problems(), min_size=1, max_size=6))
def test_a_batch_is_searched_as_its_rows_are(batch: list[tuple[Edges, int]]) -> None:
    flat = [(row, *edge) for row, (edges, _) in enumerate(batch) for edge in edges]
    row, parent, child = np.array(flat).T
    answers = search(Graphs(row, parent, child, np.array([query for _, query in batch])), NAMES)
    for i, problem in enumerate(batch):
        assert answers.names[i, : answers.lengths[i]].tolist() == brute_force(*problem)


@untimed
@given(seed=st.integers(0, 2**32), nodes=st.integers(2, NAMES))
def test_generated_rows_carry_the_answer_of_the_plain_solver(seed: int, nodes: int) -> None:
    rows = TASK.generate(np.random.default_rng(seed), np.arange(5), nodes)
    for i in range(len(rows)):
        ids = rows.ids(i)
        marker = ids.index(TASK.vocab.id("<query>"))
        names = [token - 4 for token in ids[1:marker]]
        edges, query = list(zip(names[::2], names[1::2], strict=True)), ids[marker + 1] - 4
        assert (ids, rows.labels[i, : len(ids)].tolist()) == plain.write(edges, query, brute_force(edges, query))
        assert not rows.input_ids[i, len(ids) :].any()
        assert (rows.labels[i, len(ids) :] == -100).all()


@untimed
@given(problems())
def test_probes_follow_their_definitions(problem: tuple[Edges, int]) -> None:
    edges, query = problem
    parents, answer = parents_of(edges), brute_force(edges, query)
    rows = TASK.read(question(*problem))
    probes, first = TASK.probes(rows, 0), rows.answer_positions(0)[0]
    for k, node in enumerate(answer):
        done = set(answer[:k])
        # The search stands at the end of the path that always goes to the smallest node not yet output.
        path = [query]
        while open_parents := parents[path[-1]] - done:
            path.append(min(open_parents))
        known = set().union(*(parents[name] for name in (*path, *done)))
        ready = {name for name in answer if name not in done and parents[name] <= done}
        after = {name for name in answer if name not in done and parents[name] <= done | {node}}
        wanted = {
            "num_nodes": len(parents),
            "out_degree_dep": sum(node in parents[name] for name in answer),
            "out_degree_with_query": sum(node in parents[name] for name in (*answer, query)),
            "in_degree": len(parents[node]),
            "remaining": len(answer) - k - 1,
            "dfs_depth": len(path) - 1,
            "frontier_ready": len(ready),
            "frontier_stack": len(known - done),
            "newly_enabled": len(after - ready),
            "distance_to_query": distance(parents, query, node),
        }
        assert {name: probes[name][first + k] for name in wanted} == wanted
        positions = probes["predecessor_positions"][first + k]
        assert {answer[int(p) - first] for p in positions[~np.isnan(positions)]} == parents[node]


def distance(parents: Parents, query: int, node: int) -> int:
    reached, edges = {query}, 0
    while node not in reached:
        reached, edges = set().union(*(parents[name] for name in reached)), edges + 1
    return edges


@untimed
@given(problems(), st.randoms(use_true_random=False))
def test_any_topological_order_is_accepted_leniently(problem: tuple[Edges, int], rng: random.Random) -> None:
    edges, query = problem
    parents, answer = parents_of(edges), brute_force(edges, query)
    order: list[int] = []
    while len(order) < len(answer):  # Kahn's algorithm with a random choice
        ready = [name for name in answer if name not in order and parents[name] <= set(order)]
        order.append(rng.choice(ready))
    grade = TASK.grade(TASK.read(question(*problem)), 0, [*(name + 4 for name in order), EOS])
    assert grade.lenient
    assert grade.exact == (order == answer)


@untimed
@given(problems(), st.data())
def test_orders_that_are_not_topological_are_refused(problem: tuple[Edges, int], data: st.DataObject) -> None:
    edges, query = problem
    parents, answer = parents_of(edges), brute_force(edges, query)
    order = data.draw(st.permutations(answer))
    valid = all(parents[name] <= set(order[:k]) for k, name in enumerate(order))
    grade = TASK.grade(TASK.read(question(*problem)), 0, [*(name + 4 for name in order), EOS])
    assert grade.lenient == valid


@untimed
@given(problems(), st.data())
def test_incomplete_or_foreign_answers_are_refused(problem: tuple[Edges, int], data: st.DataObject) -> None:
    rows = TASK.read(question(*problem))
    truth = rows.answer(0)
    place = data.draw(st.integers(0, len(truth) - 1))
    other = data.draw(st.integers(0, len(TASK.vocab) - 1).filter(lambda token: token != truth[place]))
    replaced = [*truth[:place], other, *truth[place + 1 :]]
    missing = [*truth[:place], *truth[place + 1 :]]
    doubled = [*truth[:place], truth[0], *truth[place:]]
    for given_ids in (replaced, missing, doubled):
        grade = TASK.grade(rows, 0, given_ids)
        assert not grade.exact
        assert not grade.lenient


@untimed
@given(problems(), st.lists(st.integers(-5, 300), max_size=40))
def test_nonsense_is_graded_without_complaint(problem: tuple[Edges, int], nonsense: list[int]) -> None:
    rows = TASK.read(question(*problem))
    truth = rows.answer(0)
    assert TASK.grade(rows, 0, nonsense).exact == (nonsense[: len(truth)] == truth)
    assert TASK.grade(rows, 0, truth + nonsense).exact


@untimed
@given(start=st.integers(0, 9000), count=st.integers(1, 30), knob=st.sampled_from([None, 2, 9]))
def test_a_row_is_the_same_alone_and_in_any_slice(start: int, count: int, knob: int | None) -> None:
    part = TASK.rows(seed=3, stream="valid", start=start, count=count, knob=knob)
    for i in range(count):
        alone = TASK.rows(seed=3, stream="valid", start=start + i, count=1, knob=knob)
        assert alone.ids(0) == part.ids(i)
        assert alone.answer(0) == part.answer(i)
        assert alone.knob[0] == part.knob[i]


@pytest.mark.parametrize("knob", [None, 7])
def test_slices_join_across_blocks_in_a_new_task(knob: int | None) -> None:
    whole = TASK.rows(seed=5, stream="eval", start=4090, count=12, knob=knob)
    left = Brevo(BrevoConfig(max_nodes=NAMES)).rows(seed=5, stream="eval", start=4090, count=6, knob=knob)
    right = Brevo(BrevoConfig(max_nodes=NAMES)).rows(seed=5, stream="eval", start=4096, count=6, knob=knob)
    assert [whole.ids(i) for i in range(12)] == [part.ids(i) for part in (left, right) for i in range(6)]
