import pytest

from anira.config import UserError
from anira.tasks.clrs.published import normalise

QUESTION = "heapsort:\nkey: [0.5 0.0 0.0123]\npred:\n"
ANSWER = "[0.0 0.0123 0.5]\n\n"


@pytest.mark.parametrize(
    "row",
    [
        {"question": QUESTION, "answer": ANSWER},
        {"question": QUESTION, "answer": [ANSWER], "algo_name": "heapsort", "length": 3},
        {"prompt": QUESTION, "references": [ANSWER], "auxiliary": {"length": 3, "seed": 0, "use_hints": False}},
        {"question": QUESTION, "answer": ANSWER.strip(), "algo": "heapsort", "text": QUESTION + ANSWER},
        {
            "question": QUESTION.replace("]\npred", "], initial_trace: [0.5 0.0 0.0123]\ntrace | pred"),
            "answer": f"[0.0 0.5 0.0123] | {ANSWER}",
            "length": None,
        },
    ],
)
def test_all_forms_of_a_row_become_one(row):
    ours = normalise(row, "anira")
    assert (ours.question, ours.answer) == ("sort:\nkey: [0.5 0 0.0123]\npred:\n", "[0 0.0123 0.5]")
    assert (ours.subtask, ours.algorithm, ours.size) == ("sort", "heapsort", 3)
    assert ours.traced == ("trace" in row.get("question", ""))
    theirs = normalise(row, "upstream")
    assert (theirs.question, theirs.answer) == (QUESTION, ANSWER.strip())


def test_rows_of_our_own_name_no_algorithm():
    row = normalise({"question": "sort:\nkey: [0.5 0.25]\npred:\n", "answer": "[0.25 0.5]"}, "anira")
    assert (row.subtask, row.algorithm) == ("sort", "")


def test_the_size_of_two_segments_is_the_stated_one():
    row = {"question": "segments_intersect:\nx: [0 1 0 1], y: [0 1 1 0]\nintersect:\n", "answer": "1\n\n"}
    assert normalise(row, "anira").size == 4
    assert normalise({**row, "length": 31}, "anira").size == 31


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ({"answer": ANSWER}, "neither question nor prompt; it has answer"),
        ({}, "it has nothing"),
        ({"question": QUESTION}, "neither answer nor references"),
        ({"question": QUESTION, "answer": None}, "neither answer nor references"),
        ({"question": QUESTION, "answer": [ANSWER, ANSWER]}, "answer must be text or a list of one text"),
        ({"question": 3, "answer": ANSWER}, "question must be text"),
        ({"question": "heapsort", "answer": ANSWER}, "three lines"),
        ({"question": QUESTION.replace("heapsort", "hepsort"), "answer": ANSWER}, "did you mean 'heapsort'"),
        ({"question": QUESTION, "answer": "[0.0 0.5]"}, "pred has 2 entries where 3 belong"),
        ({"question": QUESTION, "answer": "yes"}, "pred must be a list"),
        ({"question": "heapsort:\nkey: []\npred:\n", "answer": "[]"}, "the input size is 0"),
        ({"question": QUESTION, "answer": ANSWER, "algo_name": "quicksort"}, "said to be 'quicksort', but .* heapsort"),
        ({"question": QUESTION, "answer": ANSWER, "length": 4}, "said to be 4, but the question has size 3"),
        ({"question": QUESTION, "answer": ANSWER, "length": 0}, "the length must be 1 to 256, not 0"),
        ({"question": QUESTION, "answer": ANSWER, "length": -3}, "the length must be 1 to 256, not -3"),
        ({"question": QUESTION, "answer": ANSWER, "auxiliary": {"length": "3"}}, "not '3'"),
    ],
)
def test_bad_rows_are_refused_with_a_reason(row, complaint):
    with pytest.raises(UserError, match=complaint):
        normalise(row, "anira")
