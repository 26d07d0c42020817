"""DEPO on cycles that hypothesis draws: answers against a brute-force walk, and questions in every form."""

import random
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from anira.config import UserError
from anira.tasks.base import Rows
from anira.tasks.depo import Depo, DepoConfig
from benchmarks.plain import depo as plain

Words = list[str]

TASK = Depo(DepoConfig(max_nodes=20, max_hops=9))
DEFAULT = Depo()
quick = settings(deadline=None)


class Problem(NamedTuple):
    """Edges as pairs in written order, and queries (hops, start)."""

    edges: list[tuple[str, str]]
    queries: list[tuple[int, str]]

    def answer(self, hops: int, start: str) -> str:
        """Follow one edge after the other."""
        for _ in range(hops):
            (start,) = [target for source, target in self.edges if source == start]
        return start

    def words(self) -> Words:
        """Return the whole row without <bos>, answers included."""
        out = [name for edge in self.edges for name in edge]
        for hops, start in self.queries:
            out += [f"<query-{hops:02d}>", start, "<ans>", self.answer(hops, start), "<eoa>"]
        return out


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Draw a cycle in any written order with any queries; hops may exceed the number of nodes."""
    nodes = draw(st.lists(st.integers(1, 20), min_size=1, max_size=20, unique=True))
    names = [f"v{node:02d}" for node in nodes]
    edges = draw(st.permutations(list(zip(names, [*names[1:], names[0]], strict=True))))
    queries = draw(st.lists(st.tuples(st.integers(1, 9), st.sampled_from(names)), min_size=1, max_size=6))
    return Problem(edges, queries)


def parse(task: Depo, rows: Rows, i: int) -> Problem:
    words = task.vocab.decode(rows.ids(i)).split()
    head = next(p for p, word in enumerate(words) if word.startswith("<query"))
    edges = list(zip(words[1:head:2], words[2:head:2], strict=True))
    return Problem(edges, [(int(words[p][7:9]), words[p + 1]) for p in range(head, len(words), 5)])


@quick
@given(problems())
def test_answers_agree_with_a_walk_along_the_edges(problem: Problem) -> None:
    rows = TASK.read(" ".join(problem.words()))
    answers = [problem.answer(*query) for query in problem.queries]
    assert TASK.vocab.decode(rows.ids(0)).split() == ["<bos>", *problem.words()]
    assert TASK.vocab.decode(rows.answer(0)).split() == answers
    assert TASK.instance(rows, 0).answer.split() == answers
    assert rows.knob[0] == max(hops for hops, _ in problem.queries)


@quick
@given(problems(), st.data())
def test_answers_may_be_shown_or_hidden_or_left_out(problem: Problem, data: st.DataObject) -> None:
    words = [name for edge in problem.edges for name in edge]
    for hops, start in problem.queries:
        answer = problem.answer(hops, start)
        endings = ["", "<ans>", "<ans> ?", f"<ans> {answer}", "<ans> ? <eoa>", f"<ans> {answer} <eoa>", "<ans> <eoa>"]
        words += [f"<query-{hops:02d}>", start, data.draw(st.sampled_from(endings))]
    prefix = data.draw(st.sampled_from(["", "<bos> "]))
    whole = TASK.read(" ".join(problem.words()))
    assert TASK.read(prefix + " ".join(words)).ids(0) == whole.ids(0)


@quick
@given(problems(), st.data())
def test_a_wrong_answer_is_refused(problem: Problem, data: st.DataObject) -> None:
    hops, start = problem.queries[-1]
    wrong = data.draw(st.sampled_from([name for name in TASK.vocab.tokens if name.startswith("v")]))
    words = [*problem.words()[:-2], wrong]
    if wrong == problem.answer(hops, start):
        assert TASK.read(" ".join(words)).answer(0)[-1] == TASK.vocab.id(wrong)
    else:
        assert wrong in refusal(words)


def refusal(words: Words) -> str:
    """Return the message with which a question is refused."""
    try:
        TASK.read(" ".join(words))
    except UserError as error:
        return str(error)
    raise AssertionError(f"accepted: {' '.join(words)}")


@quick
@given(problems(), st.data())
def test_a_broken_cycle_is_refused(problem: Problem, data: st.DataObject) -> None:
    # Any one name among the edges exchanged for another leaves some node without exactly one successor.
    words = problem.words()
    place = data.draw(st.integers(0, 2 * len(problem.edges) - 1))
    others = [name for name in TASK.vocab.tokens if name.startswith("v") and name != words[place]]
    words[place] = data.draw(st.sampled_from(others))
    assert refusal(words)


@quick
@given(problems(), st.data())
def test_an_edge_too_few_is_refused(problem: Problem, data: st.DataObject) -> None:
    edge = data.draw(st.integers(0, len(problem.edges) - 1))
    words = problem.words()
    del words[2 * edge : 2 * edge + 2]
    assert refusal(words)


@quick
@given(
    st.lists(st.sampled_from([*TASK.vocab.tokens[:8], "v01", "v02", "v03", "v01 v02 v02 v01", "?", "x"]), max_size=12)
)
def test_any_other_text_is_an_error_of_the_user(words: Words) -> None:
    try:
        rows = TASK.read(" ".join(words))
    except UserError as error:
        assert "\n" not in str(error)
    else:
        problem = parse(TASK, rows, 0)
        assert TASK.vocab.decode(rows.ids(0)).split() == ["<bos>", *problem.words()]


@quick
@given(st.integers(0, 2**32), st.integers(0, 10**9), st.integers(5, 60), st.integers(1, 4), st.integers(1, 12))
def test_generated_rows_are_cycles_solved_by_the_plain_solver(
    seed: int, start: int, max_nodes: int, max_hops: int, max_queries: int
) -> None:
    task = Depo(DepoConfig(max_nodes=max_nodes, max_hops=max_hops, max_queries=max_queries))
    rows = task.rows(seed=seed, stream="valid", start=start, count=4)
    for i in range(4):
        problem = parse(task, rows, i)
        check_row(task, rows, i, problem)
        assert len(problem.queries) == min(len(problem.edges), max_queries)
        assert rows.knob[i] == max(hops for hops, _ in problem.queries)


@quick
@given(
    st.integers(0, 10**9), st.integers(1, 4), st.integers(1, 5), st.lists(st.integers(5, 30), min_size=1, max_size=4)
)
def test_fixed_knob_rows_take_sizes_in_turn_and_ask_for_the_knob_only(
    start: int, hops: int, queries: int, sizes: list[int]
) -> None:
    task = Depo(DepoConfig(max_nodes=30, eval_sizes=tuple(sizes), eval_queries=queries))
    rows = task.rows(seed=1, stream="eval", start=start, count=4, knob=hops)
    for i in range(4):
        problem = parse(task, rows, i)
        check_row(task, rows, i, problem)
        assert len(problem.edges) == sizes[(start + i) % len(sizes)]
        assert [k for k, _ in problem.queries] == [hops] * queries
        assert rows.knob[i] == hops


def check_row(task: Depo, rows: Rows, i: int, problem: Problem) -> None:
    """Check the form of a row, and its answers against both the plain solver and a walk."""
    ids = [(task.vocab.id(source), task.vocab.id(target)) for source, target in problem.edges]
    wanted = [plain.solve(dict(ids), task.vocab.id(start), hops) for hops, start in problem.queries]
    assert rows.answer(i) == wanted == [task.vocab.id(problem.answer(*query)) for query in problem.queries]
    assert task.vocab.decode(rows.ids(i)).split() == ["<bos>", *problem.words()]
    assert len({start for _, start in problem.queries}) == len(problem.queries)
    first, _ = problem.edges[0]
    assert len({problem.answer(hops, first) for hops in range(len(problem.edges))}) == len(problem.edges)


@quick
@given(st.integers(), st.one_of(st.none(), st.integers(1, 4)))
def test_rows_of_the_plain_generator_are_read_back(seed: int, knob: int | None) -> None:
    ids, labels = plain.generate(random.Random(seed), DEFAULT.config, knob)
    rows = DEFAULT.read(DEFAULT.vocab.decode(ids))
    assert (rows.ids(0), rows.labels[0].tolist()) == (ids, labels)
    problem = parse(DEFAULT, rows, 0)
    assert len({start for _, start in problem.queries}) == len(problem.queries)
    if knob is not None:
        assert (problem.queries[0][0], len(problem.queries)) == (knob, 1)
        assert len(problem.edges) in (10, 20, 30, 40, 50)


@quick
@given(st.integers(0, 4095), st.sampled_from([None, 1, 3, 4]))
def test_a_question_reads_back_as_its_row(start: int, knob: int | None) -> None:
    rows = DEFAULT.rows(seed=3, stream="train", start=start, count=1, knob=knob)
    again = DEFAULT.read(DEFAULT.instance(rows, 0).question)
    assert again.ids(0) == rows.ids(0)
    assert again.answer(0) == rows.answer(0)
