import io
from dataclasses import dataclass

import pytest

from anira.cli.parse import fold, parse, parse_with_task
from anira.config import UserError
from anira.config.ranges import span
from anira.tasks.mano import Mano


@dataclass(frozen=True, kw_only=True)
class Inner:
    """Options with a name of their own."""

    most_of_it: float = 1.0
    """A number."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of a command."""

    knob: int | None = None
    """The knob."""
    sizes: tuple[int, ...] | None = None
    """Several numbers."""
    rate: float = 1.0
    """A number."""
    pair: tuple[float, float] = (1.0, 2.0)
    """Two numbers."""
    inner: Inner = Inner()
    json: bool = False
    """For scripts."""


@dataclass(frozen=True, kw_only=True)
class Clashing:
    """Options that MANO has too."""

    modulus: int = 5
    """Taken."""


def complaint(*words):
    with pytest.raises(UserError) as caught:
        parse(Options, list(words), prog="anira try", description="")
    return str(caught.value).removesuffix(" (see anira try --help)")


def test_words_become_options():
    words = ["--knob", "3", "--sizes", "4", "5", "--json"]
    assert parse(Options, words, prog="anira try", description="") == Options(knob=3, sizes=(4, 5), json=True)


MISTAKES = [
    ("--jsom", "unknown option: --jsom; perhaps you meant --json"),
    ("stray", "unknown option: stray"),
    ("--knob x", "--knob must be INT, not 'x'"),
    ("--sizes 3 x", "--sizes must be INT INT ..., not '3', 'x'"),
    ("--rate x", "--rate must be FLOAT, not 'x'"),
    ("--rate nan", "--rate must be a finite number, not nan"),
    ("--rate=-inf", "--rate must be a finite number, not -inf"),
    ("--rate 1e999", "--rate must be a finite number, not inf"),
    ("--pair 1 infinity", "--pair[1] must be a finite number, not inf"),
    ("--inner.most-of-it nan", "--inner.most-of-it must be a finite number, not nan"),
    ("--knob", "--knob needs a value"),
]


@pytest.mark.parametrize("columns", ["40", "80", "200"])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
@pytest.mark.parametrize(("words", "expected"), MISTAKES)
def test_mistakes_become_one_line_whatever_the_terminal(monkeypatch, words, expected, encoding, columns):
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO(), encoding=encoding))
    assert complaint(*words.split()) == expected


def test_colours_are_left_out():
    box = "\x1b[91m\u256d\u2500 Title \u2500\u256e\x1b[0m\n\u2502 \x1b[1mAll\x1b[0m wrong. \u2502\n\u2570\u2500\u256f\n"
    assert fold(box) == "All wrong."


def test_options_of_the_task_stand_beside_those_of_the_command():
    words = ["mano", "--modulus", "7", "--knob", "2", "--operators", "+", "-"]
    options, task = parse_with_task(Options, words, command="try", summary="")
    assert options == Options(knob=2)
    assert isinstance(task, Mano)
    assert (task.config.modulus, task.config.operators) == (7, ("+", "-"))


def test_a_config_that_repeats_an_option_of_the_command_is_refused():
    with pytest.raises(UserError, match="modulus"):
        parse_with_task(Clashing, ["mano"], command="try", summary="")


def test_help_without_a_task_lists_the_tasks(capsys):
    with pytest.raises(SystemExit) as stop:
        parse_with_task(Options, ["--help"], command="try", summary="Do it.")
    assert not stop.value.code
    out = capsys.readouterr().out
    assert "Do it." in out
    assert Mano.summary in out
    assert "--knob" in out
    assert "--modulus" not in out


def test_help_with_a_task_shows_its_options(capsys):
    with pytest.raises(SystemExit):
        parse_with_task(Options, ["mano", "--help"], command="try", summary="")
    out = capsys.readouterr().out
    assert "--modulus" in out
    assert "3 to 16 in training" in out


@pytest.mark.parametrize("words", [[], ["--knob", "3", "mano"]])
def test_the_task_comes_first(words):
    with pytest.raises(UserError, match=r"the task comes first.*mano"):
        parse_with_task(Options, words, command="try", summary="")


@pytest.mark.parametrize(("values", "text"), [((3, 4, 5), "3 to 5"), ((10, 20), "10, 20"), ((7,), "7")])
def test_span(values, text):
    assert span(values) == text
