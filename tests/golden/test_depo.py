"""Worked DEPO instances: the text of the row, the answers and every probe, worked out by hand."""

import hashlib

import numpy as np
import pytest

from anira.tasks.base import Rows
from anira.tasks.depo import Depo
from benchmarks.plain import depo as plain

# Two rows as the reference generator writes them, with its token ids: nodes are 51 .. 100.
FIRST = (
    "9999 88 76 81 83 83 53 53 88 76 81 9001 88 9500 76 9003 53 9500 81 9004 81 9500 76 9003 76 9500 53 9002 83 9500 88"
)
SECOND = "9999 81 82 67 81 82 67 9001 81 9500 82 9004 82 9500 67 9003 67 9500 67"
BOTH = pytest.mark.parametrize(("reference", "num_nodes"), [(FIRST, 5), (SECOND, 3)])


def translate(reference: str, num_nodes: int) -> tuple[list[str], list[list[str]]]:
    """Return the words of the edges and of each query of a reference row; it has no <eoa>, so a query has 4 words."""
    names = {9999: "<bos>", 9500: "<ans>"} | {9000 + k: f"<query-0{k}>" for k in (1, 2, 3, 4)}
    names |= {50 + i: f"v{i:02d}" for i in range(1, 51)}
    words = [names[int(token)] for token in reference.split()]
    head = 1 + 2 * num_nodes
    return words[1:head], [words[p : p + 4] for p in range(head, len(words), 4)]


@BOTH
def test_text_and_labels_of_a_worked_row(reference: str, num_nodes: int) -> None:
    task = Depo()
    edges, queries = translate(reference, num_nodes)
    blocks = [" ".join([*query, "<eoa>"]) for query in queries]
    rows = task.read(" ".join([*edges, *(" ".join(query[:3]) for query in queries)]))
    assert task.vocab.decode(rows.ids(0)) == " ".join(["<bos>", *edges, *blocks])
    assert task.vocab.decode(rows.answer(0)).split() == [query[3] for query in queries]
    assert rows.answer_positions(0) == [4 + 2 * num_nodes + 5 * i for i in range(len(queries))]


@BOTH
def test_plain_solver_gives_the_worked_answers(reference: str, num_nodes: int) -> None:
    tokens = [int(token) for token in reference.split()]
    head = 1 + 2 * num_nodes
    successor = dict(zip(tokens[1:head:2], tokens[2:head:2], strict=True))
    for query, start, _, answer in zip(*(tokens[head + i :: 4] for i in range(4)), strict=True):
        assert plain.solve(successor, start, query - 9000) == answer


@pytest.mark.parametrize(
    ("reference", "num_nodes", "positions", "hops"),
    [(FIRST, 5, [14, 19, 24, 29, 34], [1, 3, 4, 3, 2]), (SECOND, 3, [10, 15, 20], [1, 4, 3])],
)
def test_probes_of_a_worked_row(reference: str, num_nodes: int, positions: list[int], hops: list[int]) -> None:
    task = Depo()
    edges, queries = translate(reference, num_nodes)
    rows = task.read(" ".join([*edges, *(" ".join(query) for query in queries)]))
    wanted = {"hops": hops, "num_nodes": [num_nodes] * len(hops), "query_index": list(range(len(hops)))}
    probes = task.probes(rows, 0)
    others = np.setdiff1d(np.arange(rows.lengths[0]), positions)
    assert set(probes) == set(wanted) == {probe.name for probe in task.probe_specs}
    assert {probe.anchor for probe in task.probe_specs} == {"target"}
    assert rows.knob[0] == max(hops)
    for name, values in probes.items():
        assert values[positions].tolist() == wanted[name], name
        assert np.isnan(values[others]).all(), name


def test_a_person_can_read_an_instance() -> None:
    task = Depo()
    instance = task.instance(task.read("v31 v32 v17 v31 v32 v17 <query-01> v31 <ans> <query-04> v32 <ans>"), 0)
    assert instance.question == "v31 v32 v17 v31 v32 v17 <query-01> v31 <ans> ? <eoa> <query-04> v32 <ans> ?"
    assert instance.answer == "v32 v17"
    assert instance.picture.splitlines() == ["v31 > v32 > v17 > v31", "1 hop from v31: v32", "4 hops from v32: v17"]
    assert instance.meta == {"nodes": 3, "queries": 2}


def test_the_question_of_a_single_query_ends_where_the_answer_is_due() -> None:
    task = Depo()
    question = "v38 v26 v31 v33 v33 v03 v03 v38 v26 v31 <query-03> v03 <ans>"
    instance = task.instance(task.read(question), 0)
    assert (instance.question, instance.answer) == (question, "v31")


def test_vocabulary_is_fixed() -> None:
    tokens = Depo().vocab.tokens
    queries = ("<query-01>", "<query-02>", "<query-03>", "<query-04>")
    assert tokens[:10] == ("<pad>", "<bos>", "<ans>", "<eoa>", *queries, "v01", "v02")
    assert (tokens[-1], len(tokens)) == ("v50", 58)


def test_rows_never_change() -> None:
    # These rows are what models were trained on and judged by. If a digest has to change, say so in CHANGELOG.md.
    train = Depo().rows(seed=0, stream="train", start=0, count=64)
    fixed = Depo().rows(seed=0, stream="eval", start=0, count=64, knob=3)
    assert digest(train) == "d21ddb2808baebc4"
    assert digest(fixed) == "82ff7c3a7f789fb0"


def digest(rows: Rows) -> str:
    text = repr([(rows.ids(i), rows.answer(i), int(rows.knob[i])) for i in range(len(rows))])
    return hashlib.sha256(text.encode()).hexdigest()[:16]
