import signal
import subprocess
import sys

import pytest

from anira import __version__
from anira.cli import COMMANDS, _take_plugins
from anira.config import Interrupted


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"]])
def test_help_lists_every_command(anira, words):
    result = anira(*words)
    assert (result.status, result.err) == (0, "")
    for name, (_, summary) in COMMANDS.items():
        assert f"  {name} " in result.out
        assert summary in result.out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(anira, command):
    result = anira(command, "--help")
    assert (result.status, result.err) == (0, "")
    assert result.out.startswith(f"usage: anira {command}")


def test_version(anira):
    assert anira("--version").out == f"anira {__version__}\n"
    assert "anira --version" in anira("--help").out


def test_plugins_are_taken_from_anywhere():
    words = ["--plugin", "a", "sample", "--plugin=b", "mano", "--knob", "3", "--plugin", "c"]
    assert _take_plugins(words) == (["sample", "mano", "--knob", "3"], ["a", "b", "c"])


def test_a_plugin_is_imported_from_the_current_folder_before_the_command(anira, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "marks_its_import.py").write_text("import pathlib\npathlib.Path('imported').touch()\n")
    assert anira("tasks", "--plugin", "marks_its_import").status == 0
    assert (tmp_path / "imported").exists()


@pytest.mark.parametrize(
    ("name", "source", "complaint"),
    [
        ("is_absent", None, "No module named 'is_absent'"),
        ("has_no_syntax", "def", "SyntaxError"),
        ("raises", "1 / 0", "ZeroDivisionError"),
        ("exits", "import sys\nsys.exit(0)", "SystemExit"),
        (
            "takes_a_name",
            "import anira\nclass T(anira.tasks.BlockTask):\n    name = 'mano'\nanira.register_task(T)",
            "mano",
        ),
    ],
)
def test_a_plugin_that_cannot_be_imported_is_one_line(anira, tmp_path, monkeypatch, name, source, complaint):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    if source:
        (tmp_path / f"{name}.py").write_text(source, errors="surrogateescape")
    result = anira("tasks", "--plugin", name)
    assert (result.status, result.out) == (2, "")
    assert complaint in result.err
    assert result.err.count("\n") == 1


def test_an_error_that_is_a_bug_keeps_its_traceback(anira, monkeypatch):
    monkeypatch.setitem(COMMANDS, "broken", ("no_such_module_of_ours", ""))
    with pytest.raises(ModuleNotFoundError):
        anira("broken")


def test_an_interrupt_is_one_line_and_status_130(anira, monkeypatch):
    def interrupted(argv):
        raise KeyboardInterrupt

    monkeypatch.setattr("anira.cli.tasks.run", interrupted)
    assert anira("tasks") == (130, "", "anira: interrupted\n")


def test_sigterm_ends_every_command_and_what_goes_on_is_said(anira, monkeypatch):
    def terminated(argv):
        for _ in range(2):
            signal.raise_signal(signal.SIGTERM)

    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr("anira.cli.tasks.run", terminated)
    assert anira("tasks") == (143, "", "anira: terminated\n")
    monkeypatch.setattr("anira.cli.demo.run", terminated)
    assert anira("demo", "--out", "a  b") == (143, "", "anira: terminated; go on with: anira demo --out 'a  b'\n")
    assert signal.getsignal(signal.SIGTERM) is before


def test_what_goes_on_needs_the_same_plugins(anira, monkeypatch):
    def stopped(argv):
        raise Interrupted(signal.SIGTERM, ["train", "--resume", "a run"])

    monkeypatch.setattr("anira.cli.train.run", stopped)
    again = "anira train --resume 'a run' --plugin json"
    assert anira("train", "--plugin", "json", "x").err == f"anira: terminated; go on with: {again}\n"


def test_a_lost_file_is_one_line_that_names_it(anira, monkeypatch):
    def lost(argv):
        open("no/such/file")  # noqa: PTH123, SIM115

    monkeypatch.setattr("anira.cli.tasks.run", lost)
    assert anira("tasks") == (2, "", "anira: no/such/file: No such file or directory\n")


def test_a_closed_pipe_is_silent():
    command = [sys.executable, "-m", "anira.cli", "sample", "mano", "-n", "5000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        child.stdout.readline()
        child.stdout.close()
        assert child.stderr.read() == b""
    assert child.returncode == 141


def test_an_error_shows_what_a_terminal_would_obey(anira, tmp_path):
    result = anira("analyze", tmp_path / "run\x1b[31m\u202e\r")
    assert result.status == 2
    assert "run\\x1b[31m\\u202e\\r is no folder" in result.err
    assert result.err.strip().isprintable()


@pytest.mark.parametrize("word", ["a\udcff", "a\0b"])
def test_a_word_that_is_not_text_is_refused(anira, word):
    assert anira("analyze", word) == (
        2,
        "",
        f"anira: {word!r} is not text in UTF-8: rename the file, or retype the word\n",
    )


def test_an_error_stays_a_line_whatever_it_is_about(anira):
    result = anira("analyze", "x" * 100_000)
    assert (result.status, result.err.count("\n")) == (2, 1)
    assert len(result.err) < 3000


def test_spaces_in_a_message_stay(anira, tmp_path):
    (tmp_path / "a  b").mkdir()
    assert f"run anira evaluate '{tmp_path}/a  b' first" in anira("analyze", tmp_path / "a  b").err
