"""The authors' rule, on what models and files really write."""

import pytest

from anira.config import UserError
from anira.tasks.gsm_symbolic import Shot, is_right, last_number, make_prompt, make_shot, shots_text


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("The final answer is 18.", 18.0),
        ("The final answer is 45.0", 45.0),
        ("It is $1,234,567.25 in all.", 1234567.25),
        ("It falls by 5 to -3 degrees.", -3.0),
        ("3 - 5 = -2", -2.0),
        ("first 7, then 8", 8.0),
        ("no number", None),
        ("", None),
        (".5 of it", 5.0),  # the rule as published: a number begins with a digit
        ("9" * 400, float("inf")),
    ],
)
def test_the_last_number_counts(text, number):
    assert last_number(text) == number


def test_numbers_are_compared_as_numbers():
    assert is_right("45", 45.0)
    assert is_right("so 45.00.", 45.0)
    assert is_right("32.5", 32.5)
    assert not is_right("32", 32.5)
    assert not is_right("forty-five", 45.0)
    assert not is_right("9" * 400, 45.0)


def test_the_prompt_has_the_line_the_examples_and_the_question():
    shots = [Shot("How many?", "1 + 1 = 2.", "2"), Shot("And now?", "2 + 1 = 3.", "3")]
    assert make_prompt(shots, "What is left?") == (
        "As an expert problem solver, solve step by step the following mathematical questions.\n"
        "\n"
        "Q: How many?\n"
        "A: Let's think step by step. 1 + 1 = 2. The final answer is 2.\n"
        "\n"
        "Q: And now?\n"
        "A: Let's think step by step. 2 + 1 = 3. The final answer is 3.\n"
        "\n"
        "Q: What is left?\n"
        "A: Let's think step by step."
    )
    assert make_prompt(shots, "What is left?").startswith(shots_text(shots))


@pytest.mark.parametrize("ending", ["The answer is 1,200.", "The final answer is 1,200.", "The answer is 1,200"])
def test_an_example_may_end_in_either_wording(ending):
    assert make_shot(" How many? ", f"600 + 600 = 1,200. {ending}") == Shot("How many?", "600 + 600 = 1,200.", "1,200")


@pytest.mark.parametrize(("question", "target"), [("How many?", "It is 3."), ("", "The answer is 3."), ("Q", "")])
def test_an_example_without_question_or_answer_is_refused(question, target):
    with pytest.raises(UserError, match="an example needs a question and a target"):
        make_shot(question, target)
