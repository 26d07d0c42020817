from collections import Counter

import numpy as np
import pytest

from anira.config import UserError, from_dict, to_dict
from anira.tasks import make_task
from anira.tasks.base import IGNORE
from anira.tasks.clrs import Clrs, ClrsConfig, solve
from anira.tasks.clrs.algorithms import ALGORITHMS, MERGED, SUBTASKS
from anira.tasks.clrs.task import CHARACTERS, VOCAB
from anira.tasks.clrs.text import parse

TASK = make_task("clrs")
TEN = (4, 5, 10, 11, 12, 15, 19, 23, 28, 31)


def texts(task, rows):
    instances = [task.instance(rows, i) for i in range(len(rows))]
    return [(instance.question, instance.answer) for instance in instances]


def train(task, count=600, **address):
    return task.rows(**{"seed": 0, "stream": "train", "start": 0, "count": count, **address})


# The table


def test_thirty_algorithms_are_twenty_three_subtasks():
    assert (len(ALGORITHMS), len(SUBTASKS)) == (30, 23)
    assert {name: subtask.algorithms for name, subtask in SUBTASKS.items() if subtask.algorithms} == {
        "sort": ("insertion_sort", "bubble_sort", "heapsort", "quicksort"),
        "string_matching": ("naive_string_matcher", "kmp_matcher"),
        "convex_hull": ("graham_scan", "jarvis_march"),
        "shortest_path": ("bellman_ford", "dijkstra", "dag_shortest_paths"),
    }
    assert set(MERGED) == set(ALGORITHMS)
    for subtask in SUBTASKS.values():
        assert len({(member.reads, member.answers, member.extra) for member in subtask.members}) == 1


def test_seen_sizes_are_those_of_the_published_training_set():
    largest = {
        "mst_prim": 28,
        **dict.fromkeys(("dfs", "topological_sort"), 23),
        "articulation_points": 19,
        "strongly_connected_components": 15,
        **dict.fromkeys(("floyd_warshall", "lcs_length", "matrix_chain_order", "mst_kruskal", "optimal_bst"), 10),
        "bridges": 5,
    }
    for name, subtask in SUBTASKS.items():
        assert subtask.seen == tuple(size for size in TEN if size <= largest.get(name, 31))
    assert sum(len(subtask.seen) for subtask in SUBTASKS.values()) == 175


# The vocabulary


def test_the_vocabulary_is_49_characters_and_three_specials():
    assert len(CHARACTERS) == len(set(CHARACTERS)) == 49
    assert len(VOCAB) == 52
    assert VOCAB.tokens[:3] == ("<pad>", "<bos>", "<eos>")
    assert set(CHARACTERS) == set("\n (),-.:[]_|0123456789APabcdefghijklmnopqrstuvwxy")


# The mixture


def test_training_rows_are_uniform_over_subtasks_and_sizes():
    rows = train(TASK, 7000)
    cells = Counter(
        (question.partition(":")[0], size)
        for (question, _), size in zip(texts(TASK, rows), rows.knob.tolist(), strict=True)
    )
    assert set(cells) == {(name, size) for name, subtask in SUBTASKS.items() for size in subtask.seen}
    # 175 cells, 40 rows each on average, with a standard deviation of 6.3
    assert 12 < min(cells.values()) < max(cells.values()) < 75


def test_rows_hold_the_size_they_say_and_the_answer_of_the_solver():
    rows = train(TASK)
    for (question, answer), size in zip(texts(TASK, rows), rows.knob, strict=True):
        problem = parse(question)
        assert problem.size == size or problem.subtask == "segments_intersect"
        assert solve(question, "anira") == answer


def test_with_a_knob_all_subtasks_have_that_size():
    rows = train(TASK, knob=7)
    assert set(rows.knob.tolist()) == {7}
    headers = Counter(question.partition(":")[0] for question, _ in texts(TASK, rows))
    assert set(headers) == set(SUBTASKS)


def test_rows_are_tokens_by_character():
    rows = train(TASK, 50)
    assert rows.input_ids.dtype == rows.labels.dtype == np.int16
    for i, (question, answer) in enumerate(texts(TASK, rows)):
        assert VOCAB.decode(rows.ids(i)) == f"<bos>{question}{answer}<eos>"
        assert VOCAB.encode(f"<bos>{question}{answer}<eos>") == rows.ids(i)
        assert VOCAB.decode(rows.answer(i)) == f"{answer}<eos>"
        assert question.endswith(":\n")
        assert rows.answer_positions(i) == list(range(1 + len(question), rows.lengths[i]))
        assert (rows.labels[i, rows.lengths[i] :] == IGNORE).all()
        assert not rows.input_ids[i, rows.lengths[i] :].any()


def test_any_slice_holds_the_rows_it_names():
    """The blocks of this task are shorter than those of others."""
    assert TASK.block < 4096
    whole = train(TASK, 3 * TASK.block)
    for start, count in ((TASK.block - 3, 7), (TASK.block, 1), (5, 2 * TASK.block + 9)):
        part = train(Clrs(), count, start=start)
        assert [part.ids(i) for i in range(count)] == [whole.ids(start + i) for i in range(count)]


# Styles


def test_styles_differ_in_text_and_not_in_the_problems():
    upstream = Clrs(ClrsConfig(style="upstream"))
    for (ours, _), (theirs, answer) in zip(texts(TASK, train(TASK)), texts(upstream, train(upstream)), strict=True):
        assert parse(ours).values == parse(theirs).values
        assert parse(theirs).header in ALGORITHMS
        assert MERGED[parse(theirs).header].name == parse(ours).header
        assert solve(theirs) == answer


def test_in_upstream_style_every_algorithm_of_a_subtask_occurs():
    task = Clrs(ClrsConfig(tasks=("sort", "shortest_path"), style="upstream"))
    headers = Counter(question.partition(":")[0] for question, _ in texts(task, train(task)))
    assert set(headers) == {*SUBTASKS["sort"].algorithms, *SUBTASKS["shortest_path"].algorithms}
    assert min(headers.values()) > 40


def test_a_third_of_shortest_path_is_acyclic_at_every_size():
    task = Clrs(ClrsConfig(tasks=("shortest_path",)))
    for size in (6, 31):
        graphs = [np.array(parse(question).values[1]) for question, _ in texts(task, train(task, 256, knob=size))]
        directed = np.mean([(graph != graph.T).any() for graph in graphs])
        assert directed == pytest.approx(1 / 3, abs=0.15)


# Parts


def test_parts_are_the_subtasks_with_their_own_sizes():
    parts = TASK.parts()
    assert TASK.subtask == ""
    assert [part.subtask for part in parts] == list(SUBTASKS)
    for part in parts:
        assert part.knob.seen == SUBTASKS[part.subtask].seen
        assert part.knob.cost == SUBTASKS[part.subtask].cost
        assert part.vocab is TASK.vocab
        assert (part.name, part.config.tasks) == ("clrs", (part.subtask,))
        assert list(part.parts()) == [part]
    bridges = parts[list(SUBTASKS).index("bridges")]
    assert [bridges.knob.split(size) for size in (4, 5, 6)] == ["seen", "seen", "extrapolation"]
    assert TASK.knob.seen == TEN


def test_rows_of_a_part_are_of_that_subtask():
    for part in TASK.parts():
        rows = train(part, 40, knob=5, stream="eval")
        assert {question.partition(":")[0] for question, _ in texts(part, rows)} == {part.subtask}
        assert set(train(part, 200).knob.tolist()) <= set(part.knob.seen)


def test_parts_keep_the_options():
    task = Clrs(ClrsConfig(tasks=("sort", "bfs"), sizes=(6, 3), style="upstream"))
    assert [part.knob.seen for part in task.parts()] == [(3, 6), (3, 6)]
    assert {part.config.style for part in task.parts()} == {"upstream"}


# Options


def test_sizes_and_tasks_choose_what_is_trained():
    task = Clrs(ClrsConfig(tasks=("minimum", "bridges"), sizes=(3, 8)))
    rows = train(task)
    assert {(question.partition(":")[0]) for question, _ in texts(task, rows)} == {"minimum", "bridges"}
    assert set(rows.knob.tolist()) == set(task.knob.seen) == {3, 8}


def test_max_length_leaves_sizes_out_and_says_which():
    task = Clrs(ClrsConfig(max_length=1000))
    left_out = dict(task.left_out)
    assert {"shortest_path", "bfs", "mst_prim"} <= set(left_out)
    assert not {"sort", "bridges", "minimum"} & set(left_out)
    assert train(task, 2000).lengths.max() <= 1000
    part = next(part for part in task.parts() if part.subtask == "bfs")
    assert part.left_out == tuple(pair for pair in task.left_out if pair[0] == "bfs")
    assert set(part.knob.seen) | {size for _, size in part.left_out} == set(TEN)
    assert part.knob.split(31) == "extrapolation"
    assert TASK.left_out == Clrs(ClrsConfig(max_length=4096)).left_out == ()
    assert Clrs(ClrsConfig(max_length=4096, style="upstream")).left_out == (("shortest_path", 31),)


def test_a_config_survives_being_stored():
    config = ClrsConfig(tasks=("sort",), sizes=(4, 9), max_length=300)
    assert from_dict(ClrsConfig, to_dict(config)) == config


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"tasks": ("quicksort",)}, "unknown subtask 'quicksort': it is part of 'sort'"),
        ({"tasks": ("bsf",)}, "unknown subtask 'bsf': did you mean 'bfs'"),
        ({"tasks": ()}, "at least one"),
        ({"tasks": ("bfs", "bfs")}, "distinct"),
        ({"style": "original"}, "unknown style"),
        ({"sizes": (0,)}, "from 2 to 256, not 0"),
        ({"sizes": (-4, 5)}, "not -4, 5"),
        ({"sizes": (5, 5)}, "distinct"),
        ({"sizes": (5, 1000)}, "from 2 to 256"),
    ],
)
def test_options_that_cannot_work_are_refused(options, complaint):
    with pytest.raises(UserError, match=complaint):
        ClrsConfig(**options)


def test_a_length_that_leaves_nothing_is_refused():
    with pytest.raises(UserError, match="no size of bfs, sort fits max_length 20: raise it"):
        Clrs(ClrsConfig(tasks=("sort", "bfs"), max_length=20))


@pytest.mark.parametrize("knob", [0, -3, 1, 257])
def test_sizes_out_of_range_are_refused(knob):
    with pytest.raises(UserError, match=f"knob n = {knob} is out of range: it goes from 2 to 256"):
        train(TASK, 1, knob=knob)


# Reading and showing


@pytest.mark.parametrize(
    "question",
    [
        "sort:\nkey: [0.3 0.1 0]\npred:\n",
        "quicksort:\nkey: [0.3 0.1 0.0]\npred:",
        r"sort:\nkey: [0.3 0.1 0]\npred:",
        "<bos>sort:\n   key: [0.3 0.1 0]\n   pred:\n",
    ],
)
def test_questions_are_read_in_many_forms(question):
    rows = TASK.read(question)
    assert VOCAB.decode(rows.ids(0)) == "<bos>sort:\nkey: [0.3 0.1 0]\npred:\n[0 0.1 0.3]<eos>"
    assert rows.knob.tolist() == [3]


def test_questions_of_other_subtasks_and_sizes_are_refused():
    task = Clrs(ClrsConfig(tasks=("bfs", "dfs")))
    with pytest.raises(UserError, match="sort is not among the subtasks chosen: bfs, dfs"):
        task.read("sort:\nkey: [0.3 0.1]\npred:\n")
    with pytest.raises(UserError, match="n = 1 is out of range"):
        TASK.read("sort:\nkey: [0.3]\npred:\n")


def test_an_instance_says_what_is_asked():
    instance = TASK.instance(TASK.read("dfs:\nA: [[0 1], [0 0]]\npi:\n"), 0)
    assert instance.picture == "dfs: parents in depth-first search"
    assert (instance.question, instance.answer) == ("dfs:\nA: [[0 1], [0 0]]\npi:\n", "[0 0]")
    assert instance.meta == {"question_length": len(instance.question), "answer_length": 5}


def test_grading_wants_every_character_and_the_end():
    rows = TASK.read("sort:\nkey: [0.3 0.1]\npred:\n")
    assert TASK.grade(rows, 0, VOCAB.encode("[0.1 0.3]<eos>")).exact
    for wrong in ("[0.3 0.1]<eos>", "[0.1 0.3]]", "[0.1 0.3]"):
        grade = TASK.grade(rows, 0, VOCAB.encode(wrong))
        assert (grade.exact, grade.lenient) == (False, False)


def test_probes_number_the_numbers_of_the_answer():
    rows = TASK.read("topological_sort:\nA: [[0 1], [0 0]]\ntopo, topo_head:\n")
    start = rows.answer_positions(0)[0]
    values = TASK.probes(rows, 0)["output_index"]
    assert TASK.instance(rows, 0).answer == "[1 1], 0"
    np.testing.assert_array_equal(values[start:], [np.nan, 0, np.nan, 1, np.nan, np.nan, np.nan, 2, np.nan])
    assert np.isnan(values[:start]).all()
