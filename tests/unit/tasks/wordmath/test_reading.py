"""Problems typed by hand: what is understood, and one clear line for what is not."""

import pytest

from anira.config import UserError
from anira.tasks.wordmath.reading import Step, parse

ASK = "How many apples does Ana have ?"


def steps(text: str) -> list[tuple[int, str, int, int]]:
    return [(step.left, step.sign, step.right, step.result) for step in parse(text.split(), limit=20).steps]


def test_events_are_worked_out_as_told() -> None:
    text = (
        "Ana has 5 apples . A friend gives her as many again . She gives 4 to a friend . Ana sells half of the apples ."
    )
    assert steps(f"{text} {ASK}") == [(5, "*", 2, 10), (10, "-", 4, 6), (6, "/", 2, 3)]


def test_comparisons_are_worked_out_from_person_to_person() -> None:
    text = "Ana owns 2 fewer than Leo . Leo has twice the apples of Ida . Ida keeps 4 apples at home ."
    problem = parse(f"{text} {ASK}".split(), limit=20)
    assert problem.order == (2, 1, 0)
    assert problem.steps == (
        Step(name="Leo", left=4, sign="*", right=2, result=8),
        Step(name="Ana", left=8, sign="-", right=2, result=6),
    )


def test_asides_change_nothing() -> None:
    story = ["Ana has 5 apples .", "Then she finds 3 apples .", ASK]
    for aside in ("9 of the apples are old .", "Meanwhile Ben buys 7 books .", "A friend wants 2 of the apples ."):
        for place in range(3):
            assert steps(" ".join([*story[:place], aside, *story[place:]])) == [(5, "+", 3, 8)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a problem has one sentence that says how many there are at the start, not 0"),
        (ASK, "at the start, not 0"),
        (f"Ana has 5 apples . Ben has 3 apples . Then she finds 3 apples . {ASK}", "at the start, not 2"),
        ("Ana has 5 apples . Then she finds 3 apples .", "a problem has one question, not 0"),
        (f"{ASK} Ana has 5 apples . Then she finds 3 apples .", "the question must be the last sentence"),
        (f"Ana has 5 apples . {ASK}", "a story needs a clause"),
        (f"Ana has 5 apples . She finds 3 apples . {ASK}", "no sentence of this task: 'She finds 3 apples .'"),
        (f"Ana has 5 apples . Then she finds 3 apples {ASK}", "no sentence of this task"),
        (f"Ana has 5 apples . Then she finds 3 apples . {ASK} Ana", "a sentence without its end: 'Ana'"),
        (f"Ana has 5 apples . Then he finds 3 apples . {ASK}", "is about he, and the story about she"),
        (f"Ana has 5 apples . Ben buys 3 more apples . {ASK}", "is about Ben, and the story about Ana"),
        (f"Ana has 5 coins . Then she finds 3 apples . {ASK}", "is about coins, and the story about apples"),
        (f"Ben has 5 apples . Then he finds 3 apples . {ASK}", "is about Ana, and the story about Ben"),
        (f"Then she finds 3 apples . Ana has 5 apples . {ASK}", "must come before what happens"),
        (
            f"Ana has 5 apples . Then she finds 3 apples . Ben owns 2 more than Ana . {ASK}",
            "not both: 'Then she finds 3 apples .', 'Ben owns",
        ),
        (f"Ben has 5 apples . Ana owns 2 more than Leo . {ASK}", "nothing says how many Leo has"),
        (f"Ben has 5 apples . Leo owns 2 more than Ben . {ASK}", "is about Ana, and the story about Leo"),
        (
            f"Ben has 5 apples . Leo owns 2 more than Ben . Ana owns 3 more than Ben . {ASK}",
            "two sentences compare with Ben",
        ),
        (f"Ana has 5 apples . Leo owns 2 more than Ana . Ana owns 3 more than Leo . {ASK}", "Ana is told about twice"),
        (f"Ana has 5 apples . Then she loses half of them . {ASK}", "would halve 5: numbers stay whole"),
        (f"Ana has 5 apples . Then she loses 5 apples . {ASK}", "leads to 0: numbers stay between 1 and 20"),
        (f"Ana has 15 apples . Then she finds 6 apples . {ASK}", "leads to 21"),
    ],
)
def test_what_is_no_problem_is_refused(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        parse(text.split(), limit=20)
    assert "\n" not in str(caught.value)
