"""Worked BREVO instances: the text of the row, the answer and every probe, worked out by hand."""

import hashlib

import numpy as np
import pytest

from anira.tasks import make_task
from anira.tasks.brevo import Brevo, BrevoConfig
from anira.tasks.brevo.probes import Search
from benchmarks.plain import brevo as plain

NAN = float("nan")

# n12 <- n05 n18, n05 <- n08 n19, n18 <- n08
FIRST = "n19 n05 n08 n05 n05 n12 n18 n12 n08 n18 <query> n12 <ans>"
# n19 <- n18, n18 <- n15, and six nodes that the query does not need
SECOND = "n15 n18 n15 n30 n25 n26 n15 n28 n18 n19 n28 n25 n30 n26 n18 n26 n15 n25 n28 n17 n28 n26 <query> n19 <ans>"
QUESTIONS = pytest.mark.parametrize(
    ("question", "answer"), [(FIRST, "n08 n19 n05 n18 <eos>"), (SECOND, "n15 n18 <eos>")]
)


@pytest.fixture(scope="module")
def task() -> Brevo:
    return Brevo()


@QUESTIONS
def test_text_and_labels_of_a_worked_row(task: Brevo, question: str, answer: str) -> None:
    rows = task.read(question)
    assert task.vocab.decode(rows.ids(0)) == f"<bos> {question} {answer}"
    assert task.vocab.decode(rows.answer(0)) == answer
    assert rows.answer_positions(0) == list(range(1 + len(question.split()), int(rows.lengths[0])))
    instance = task.instance(rows, 0)
    assert (instance.question, instance.answer) == (question, answer)


@QUESTIONS
def test_all_three_solvers_give_the_worked_answer(task: Brevo, question: str, answer: str) -> None:
    names = [int(word[1:]) for word in question.split() if word.startswith("n")]
    edges, query = list(zip(names[:-1:2], names[1:-1:2], strict=True)), names[-1]
    wanted = [int(word[1:]) for word in answer.split()[:-1]]
    assert plain.solve(edges, query) == wanted
    assert Search(edges, query).order == wanted
    assert plain.write(edges, query, wanted)[0] == task.read(question).ids(0)
    assert plain.write(edges, query, wanted)[1] == task.read(question).labels[0].tolist()


def check_probes(task: Brevo, question: str, wanted: dict[str, list[float]], positions: list[list[float]]) -> None:
    """Compare at the answer's nodes; everywhere else, <eos> included, probes must be undefined."""
    rows = task.read(question)
    probes = task.probes(rows, 0)
    nodes = rows.answer_positions(0)[:-1]
    others = np.setdiff1d(np.arange(rows.lengths[0]), nodes)
    assert set(probes) == {*wanted, "predecessor_positions"} == {probe.name for probe in task.probe_specs}
    for name, values in wanted.items():
        assert probes[name][nodes].tolist() == values, name
    np.testing.assert_array_equal(probes["predecessor_positions"][nodes], positions)
    for name, values in probes.items():
        assert len(values) == rows.lengths[0], name
        assert np.isnan(values[others]).all(), name


def test_probes_of_the_first_instance(task: Brevo) -> None:
    # The search enters 12, 5, 8; the answer 8 19 5 18 stands at positions 14 .. 17.
    wanted = {
        "num_nodes": [5, 5, 5, 5],
        "out_degree_dep": [2, 1, 0, 0],  # 8: 5 and 18; 19: 5; the query needs 5 and 18
        "out_degree_with_query": [2, 1, 1, 1],
        "in_degree": [0, 0, 2, 1],
        "remaining": [3, 2, 1, 0],
        "dfs_depth": [2, 2, 1, 1],
        "frontier_ready": [2, 2, 2, 1],  # 8 19, then 19 18, then 5 18, then 18
        "frontier_stack": [4, 3, 2, 1],  # 5 18 below 12 and 8 19 below 5
        "newly_enabled": [1, 1, 0, 0],  # 8 enables 18, 19 enables 5
        "distance_to_query": [2, 2, 1, 1],
    }
    positions = [[NAN] * 4, [NAN] * 4, [14, 15, NAN, NAN], [14, NAN, NAN, NAN]]
    check_probes(task, FIRST, wanted, positions)


def test_probes_of_the_second_instance(task: Brevo) -> None:
    # A chain 15 > 18 > 19; the answer 15 18 stands at positions 26 and 27.
    wanted = {
        "num_nodes": [8, 8],
        "out_degree_dep": [1, 0],  # 15 has other dependents, but the query does not need them
        "out_degree_with_query": [1, 1],
        "in_degree": [0, 1],
        "remaining": [1, 0],
        "dfs_depth": [2, 1],
        "frontier_ready": [1, 1],
        "frontier_stack": [2, 1],
        "newly_enabled": [1, 0],
        "distance_to_query": [2, 1],
    }
    check_probes(task, SECOND, wanted, [[NAN] * 4, [26, NAN, NAN, NAN]])


def test_probes_where_the_search_goes_a_longer_way_than_it_needs(task: Brevo) -> None:
    # n07 <- n02 n09, n02 <- n04 n09, n04 <- n09: the search enters 7, 2, 4, 9, though 9 is next to 7.
    wanted = {
        "num_nodes": [4, 4, 4],
        "out_degree_dep": [2, 1, 0],
        "out_degree_with_query": [3, 1, 1],
        "in_degree": [0, 1, 2],
        "remaining": [2, 1, 0],
        "dfs_depth": [3, 2, 1],
        "frontier_ready": [1, 1, 1],
        "frontier_stack": [3, 2, 1],
        "newly_enabled": [1, 1, 0],
        "distance_to_query": [1, 2, 1],
    }
    positions = [[NAN] * 4, [14, NAN, NAN, NAN], [15, 14, NAN, NAN]]
    check_probes(task, "n02 n07 n09 n07 n04 n02 n09 n02 n09 n04 <query> n07", wanted, positions)


def test_sizes_of_the_worked_instances(task: Brevo) -> None:
    first, second = (task.instance(task.read(question), 0) for question in (FIRST, SECOND))
    assert first.meta == {"reachable_nodes": 5, "reachable_edges": 5, "longest_chain": 2, "visible_nodes": 5}
    assert second.meta == {"reachable_nodes": 3, "reachable_edges": 2, "longest_chain": 2, "visible_nodes": 8}


def test_pictures_of_the_worked_instances(task: Brevo) -> None:
    first, second = (task.instance(task.read(question), 0) for question in (FIRST, SECOND))
    assert first.picture.splitlines() == ["n12 <- n05 n18", "n18 <- n08", "n05 <- n08 n19"]
    assert second.picture.splitlines() == [
        "n19 <- n18",
        "n18 <- n15",
        "not needed: n17 n25 n26 n28 n30 (edges: 9)",
    ]


def test_names_are_ordered_as_numbers(task: Brevo) -> None:
    # As words without zeros, 18 and 19 would come before 8, and the first answer would be 8 18 19 5.
    assert task.read("n10 n03 n02 n03 <query> n03").answer(0) == [6, 14, 2]


def test_vocabulary_is_fixed() -> None:
    tokens = Brevo().vocab.tokens
    assert tokens[:7] == ("<pad>", "<bos>", "<eos>", "<query>", "<ans>", "n01", "n02")
    assert (tokens[-1], len(tokens)) == ("n30", 35)


def test_rows_never_change() -> None:
    # These rows are what trained models saw. If this digest has to change, say so in CHANGELOG.md.
    rows = make_task("brevo", BrevoConfig()).rows(seed=0, stream="train", start=0, count=64)
    text = repr([(rows.ids(i), rows.answer(i), int(rows.knob[i])) for i in range(64)])
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "0f01b77acb2c88f0"
