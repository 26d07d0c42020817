"""What the command line prints, and where it cannot."""

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from anira.cli import output
from anira.cli.progress import progress
from anira.cli.train_progress import TrainProgress
from anira.config import UserError

ESCAPES = "\x1b[31m[red]x[/nope]\u202e"


class Terminal(io.StringIO):
    def isatty(self):
        return True


def terminal_behind(monkeypatch):
    made = Terminal()
    monkeypatch.setattr(sys, "stderr", made)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    return made


def test_results_and_news_are_printable(capsys):
    output.say(f"run {ESCAPES}")
    output.tell(ESCAPES)
    assert capsys.readouterr() == ("run \\x1b[31m[red]x[/nope]\\u202e\n", "\\x1b[31m[red]x[/nope]\\u202e\n")


def test_json_is_json(capsys):
    output.say_json({"name": ESCAPES + "\x7f"})
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert json.loads(out) == {"name": ESCAPES + "\x7f"}


def test_a_page_keeps_to_a_terminals_width_and_colours_verdicts(monkeypatch):
    made = Terminal()
    monkeypatch.setattr(sys, "stdout", made)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "30")
    sentence = "anira-o: supported: depth follows the knob in every seed, contradicted by nobody."
    output.say_page(f"{sentence}\n\nknob  " + "1234  " * 10 + f"\n{ESCAPES}")
    text = made.getvalue()
    assert "\x1b[32msupported\x1b[0m" in text and "\x1b[31mcontradicted\x1b[0m" in text
    plain = re.sub(r"\x1b\[\d*m", "", text).splitlines()
    assert max(map(len, plain)) <= 30
    assert "".join(plain).startswith(sentence)
    assert [line[-1] for line in plain if line.startswith("knob")] == ["\u2026"]
    assert plain[-1] == "\\x1b[31m[red]x[/nope]\\u202e"


def test_a_page_in_a_file_is_as_wide_as_it_is(capsys):
    output.say_page("supported " * 30)
    assert capsys.readouterr().out == "supported " * 30 + "\n"


def test_a_bar_takes_a_name_literally(monkeypatch):
    terminal = terminal_behind(monkeypatch)
    with progress(10, ESCAPES) as advance:
        advance(5)
    assert "\\x1b[31m[red]x[/nope]\\u202e" in terminal.getvalue()


def test_training_takes_names_literally(monkeypatch):
    terminal = terminal_behind(monkeypatch)
    evaluation = {"kind": "eval", "step": 1, "subtask": ESCAPES, "knob": 3, "accuracy": 0.5, "depth_answer": 1.0}
    with TrainProgress(2) as shown:
        shown.line(evaluation)
    assert "\\x1b[31m[red]x[/nope]\\u202e" in terminal.getvalue()


def test_a_terminal_without_the_letters_shows_them_written_out(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    output.say("\u03b3")
    stream.flush()
    assert stream.buffer.getvalue() == b"\\u03b3\n"


def test_closed_streams_are_no_error(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    output.say("x")
    output.tell("y")
    output.flush()


@pytest.mark.parametrize(
    "words", [["--help"], ["tasks"], ["tasks", "--json"], ["sample", "--help"], ["sample", "mano"]]
)
def test_a_full_disk_behind_stdout_is_one_line(words):
    with Path("/dev/full").open("w") as full:
        done = child(*words, stdout=full, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.endswith("No space left on device\n")


@pytest.mark.parametrize("words", [["tasks"], ["no-such-command"]])
def test_without_any_stream_there_is_still_a_status(words):
    script = f"exec {sys.executable} -m anira.cli {' '.join(words)} >&- 2>&-"
    done = subprocess.run(["sh", "-c", script], check=False, env=os.environ)
    assert done.returncode == (0 if words == ["tasks"] else 2)


def test_an_error_nobody_can_read_is_still_an_error():
    with Path("/dev/full").open("w") as full:
        assert child("no-such-command", stdout=subprocess.PIPE, stderr=full).returncode == 2


def child(*words, **streams):
    return subprocess.run([sys.executable, "-m", "anira.cli", *words], text=True, check=False, **streams)


def test_a_stream_that_fails_is_named(monkeypatch):
    class Full(io.StringIO):
        def write(self, text):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(sys, "stdout", Full())
    with pytest.raises(UserError, match="cannot write to stdout: No space left on device"):
        output.say("x")
