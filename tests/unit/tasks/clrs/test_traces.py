import pytest

from anira.config import UserError
from anira.tasks.clrs import strip_trace
from anira.tasks.clrs.traces import has_trace


@pytest.mark.parametrize(
    ("name", "traced", "answer", "names", "result"),
    [
        ("binary_search", "(low, high)", "(5, 9), (8, 9) | (8, 8)", "return", "8"),
        ("find_maximum_subarray_kadane", "(best_low, best_high)", "(0, 0) | (0, 3)", "start, end", "0, 3"),
        ("quickselect", "pivot", "4, 4 | 1", "median", "1"),
        ("naive_string_matcher", "s", "1 | 1", "match", "1"),
        ("kmp_matcher", "s", " | 0", "match", "0"),
        ("matrix_chain_order", "s", " | [[0 0], [0 0]]", "s", "[[0 0], [0 0]]"),
        ("heapsort", "pred", "[0.2 0.1] | [0.1 0.2]", "pred", "[0.1 0.2]"),
    ],
)
def test_five_algorithms_get_their_own_names_back(name, traced, answer, names, result):
    question = f"{name}:\nkey: [0.2 0.1], initial_trace: 0\ntrace | {traced}:\n"
    assert strip_trace(question, f"{answer}\n\n") == (f"{name}:\nkey: [0.2 0.1]\n{names}:\n", result)
    assert strip_trace(question, answer)[1] == result


def test_a_row_without_a_trace_stays_as_it_is():
    question = "binary_search:\nkey: [0.1 0.2], target: 0.2\nreturn:\n"
    assert not has_trace(question)
    assert strip_trace(question, "1\n\n") == (question, "1")


def test_stripping_twice_is_stripping_once():
    row = "quickselect:\nkey: [0.2 0.1], initial_trace: 1\ntrace | pivot:\n", "1 | 0\n\n"
    assert strip_trace(*strip_trace(*row)) == strip_trace(*row)


def test_an_answer_without_a_bar_does_not_fit_a_question_with_a_trace():
    with pytest.raises(UserError, match=r"no '\|' between the trace and the result"):
        strip_trace("minimum:\nkey: [0.2], initial_trace: 0\ntrace | min:\n", "0\n\n")
