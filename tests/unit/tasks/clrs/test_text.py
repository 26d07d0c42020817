import pytest

from anira.config import UserError
from anira.tasks.clrs import solve
from anira.tasks.clrs.algorithms import find_algorithm
from anira.tasks.clrs.text import parse, read_answer


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("insertion_sort:\nkey: [0.548 0.715 0.602 0.544 0.423]\npred:\n", "[0.423 0.544 0.548 0.602 0.715]"),
        ("bfs:\ns: 0, A: [[1 1 1 0 0], [1 0 1 0 0], [1 1 1 1 0], [0 0 1 1 1], [0 0 0 1 0]]\npi:\n", "[0 0 0 2 3]"),
        ("naive_string_matcher:\nstring: [0 0 0 0 0 0 0 0 1 1], key: [1 0 3 3 3 0 3 3 0 3]\nmatch:\n", "1"),
        ("binary_search:\nkey: [0.056 0.25 0.566], target: 0.9\nreturn:\n", "2"),
        ("find_maximum_subarray_kadane:\nkey: [-0.498 0.133 -0.887 0.363 0.214]\nstart, end:\n", "3, 4"),
    ],
)
def test_worked_examples(question, answer):
    assert solve(question) == answer
    assert solve(question.removesuffix("\n")) == answer


def test_the_style_says_how_zeros_of_the_answer_are_written():
    for header in ("sort", "heapsort"):
        for zero in ("0", "0.0"):
            question = f"{header}:\nkey: [0.5 {zero}]\npred:\n"
            assert solve(question, style="upstream") == "[0.0 0.5]"
            assert solve(question, style="anira") == "[0 0.5]"
    with pytest.raises(UserError, match="unknown style 'Anira': did you mean 'anira'"):
        solve(question, style="Anira")


def test_a_subtask_answers_as_its_first_algorithm():
    """Two ways to 3, both 0.75 long: Bellman-Ford takes the lower number, Dijkstra the nearer node."""
    inputs = "s: 0, A: [[0 0.5 0.25 0], [0 0 0 0.25], [0 0 0 0.5], [0 0 0 0]]\npi:\n"
    answers = {name: solve(f"{name}:\n{inputs}") for name in ("shortest_path", "bellman_ford", "dijkstra")}
    assert answers == {"shortest_path": "[0 0 0 1]", "bellman_ford": "[0 0 0 1]", "dijkstra": "[0 0 0 2]"}
    assert parse(f"dijkstra:\n{inputs}").subtask == parse(f"shortest_path:\n{inputs}").subtask == "shortest_path"


@pytest.mark.parametrize(
    ("header", "inputs", "size"),
    [
        ("minimum", "key: [0.1 0.2 0.3]\nmin", 3),
        ("optimal_bst", "p: [0.1 0.2 0.0], q: [0.1 0.3 0.3]\nroot", 2),
        ("kmp_matcher", "string: [0 0 0 1], key: [1 2 3 2]\nmatch", 4),
        ("dfs", "A: [[0 1], [0 0]]\npi", 2),
        ("segments_intersect", "x: [0.1 0.2 0.3 0.4], y: [0.1 0.2 0.3 0.4]\nintersect", 4),
    ],
)
def test_sizes(header, inputs, size):
    assert parse(f"{header}:\n{inputs}:\n").size == size


@pytest.mark.parametrize(
    ("question", "complaint"),
    [
        ("", "three lines"),
        ("minimum: key: [0.1] min:", "three lines"),
        ("minimum\nkey: [0.1]\nmin:\n", "three lines"),
        ("minimum:\nkey: [0.1]\nmin:\n2\n", "three lines"),
        ("maximum:\nkey: [0.1]\nmin:\n", "unknown algorithm 'maximum': did you mean 'minimum'"),
        ("minimum:\nkey: [0.1]\nmax:\n", "ends in the line 'min:', not 'max:'"),
        ("minimum:\nkeys: [0.1]\nmin:\n", "key is missing"),
        ("bfs:\ns: 0\npi:\n", "A is missing"),
        ("bfs:\nA: [[0]], s: 0\npi:\n", "A is missing"),
        ("dfs:\ns: 0, A: [[0]]\npi:\n", "and nothing before them"),
        ("minimum:\nkey: [a b]\nmin:\n", "key holds 'a'"),
        ("minimum:\nkey: []\nmin:\n", "the input size is 0"),
        ("optimal_bst:\np: [0.0], q: [0.1]\nroot:\n", "the input size is 0"),
        ("activity_selector:\ns: [0.1 0.2], f: [0.3]\nselected:\n", "f has 1 entries where 2 belong"),
        ("dfs:\nA: [[0 1], [0]]\npi:\n", "A must be a square matrix"),
        ("dfs:\nA: [[0 1 0], [0 0 1]]\npi:\n", "A must be a square matrix"),
        ("bfs:\ns: 2, A: [[0 1], [1 0]]\npi:\n", "s is 2, but the nodes are 0 to 1"),
        ("bfs:\ns: -1, A: [[0 1], [1 0]]\npi:\n", "s is -1"),
        ("bellman_ford:\ns: 0, A: [[0 -0.5], [-0.5 0]]\npi:\n", "A must not be negative"),
        ("binary_search:\nkey: [0.3 0.1], target: 0.2\nreturn:\n", "ascending"),
        ("kmp_matcher:\nstring: [0 1 0], key: [1 1 1]\nmatch:\n", "string must be some 0"),
        ("kmp_matcher:\nstring: [0 0 0], key: [1 1 1]\nmatch:\n", "string must be some 0"),
        ("kmp_matcher:\nstring: [0 0 1], key: [1 1 2]\nmatch:\n", "does not occur"),
        ("segments_intersect:\nx: [0.1 0.2], y: [0.1 0.2]\nintersect:\n", "4 points, not 2"),
    ],
)
def test_what_is_not_a_question_is_refused(question, complaint):
    with pytest.raises(UserError, match=complaint):
        solve(question)


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("minimum", "[1]", "min holds '\\[1\\]'"),
        ("topological_sort", "[0 1]", "holds topo, topo_head"),
        ("dfs", "[0 1 2]", "pi has 3 entries where 2 belong"),
        ("bridges", "[[0 1], [1]]", "square"),
        ("quicksort", "[0.1 b]", "pred holds 'b'"),
    ],
)
def test_what_is_not_an_answer_is_refused(name, text, complaint):
    with pytest.raises(UserError, match=complaint):
        read_answer(find_algorithm(name), text, 2)
