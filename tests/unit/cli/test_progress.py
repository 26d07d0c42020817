import io
import time

from anira.cli import progress as module
from anira.cli.progress import progress, rate


class Clock:
    """A clock that the test moves."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def test_a_log_gets_a_plain_line_every_few_seconds(monkeypatch, capsys):
    clock = Clock()
    monkeypatch.setattr(time, "monotonic", clock)
    with progress(1000, "mano") as advance:
        for _ in range(10):
            clock.now += 1.5
            advance(100)
    assert capsys.readouterr().err.splitlines() == [
        "mano: 400 of 1000 rows, 67 rows/s",
        "mano: 800 of 1000 rows, 67 rows/s",
    ]


def test_a_short_work_leaves_the_log_alone(capsys):
    with progress(10, "mano") as advance:
        advance(10)
    assert capsys.readouterr() == ("", "")


def test_a_terminal_gets_a_bar(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr(module.sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    with progress(100, "mano") as advance:
        advance(40)
    assert "40/100" in terminal.getvalue()
    assert "rows/s" in terminal.getvalue()


def test_rate_of_no_time_is_no_error():
    assert rate(10, 0.0).endswith("rows/s")
