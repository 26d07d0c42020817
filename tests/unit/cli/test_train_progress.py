from io import StringIO

import pytest

from anira.cli.train_progress import TrainProgress, evaluation_text, train_text

LINE = {
    "kind": "train",
    "step": 3,
    "loss": 1.23456,
    "accuracy": 0.5,
    "depth_answer": 2.25,
    "depth_prompt": 1.5,
    "tokens_per_second": 12345.6,
}
FIGURES = [
    {"kind": "eval", "step": 3, "knob": knob, "accuracy": 1 / knob, "depth_answer": float(knob)} for knob in (2, 10)
]


def test_a_training_line():
    assert train_text(LINE) == "loss 1.235  accuracy 0.50  depth 2.25 answer, 1.50 prompt  12,346 tokens/s"


def test_an_evaluation_is_a_table_with_a_column_a_knob():
    assert evaluation_text(FIGURES).splitlines() == [
        "evaluation at step 3",
        "  knob               2     10",
        "  accuracy        0.50   0.10",
        "  answer depth    2.00  10.00",
    ]


def test_subtasks_have_blocks_of_their_own():
    lines = [{**FIGURES[0], "subtask": name} for name in ("sort", "bfs")]
    assert evaluation_text(lines).splitlines() == [
        "evaluation at step 3",
        "  sort",
        "  knob               2",
        "  accuracy        0.50",
        "  answer depth    2.00",
        "  bfs",
        "  knob               2",
        "  accuracy        0.50",
        "  answer depth    2.00",
    ]


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test sets."""
    now = [100.0]
    monkeypatch.setattr("anira.cli.train_progress.time.monotonic", lambda: now[0])
    return now


def test_a_log_gets_a_line_now_and_then_and_the_last_one(capsys, clock):
    with TrainProgress(9) as progress:
        for step in range(1, 10):
            clock[0] += 4
            progress.line({**LINE, "step": step})
    lines = capsys.readouterr().err.splitlines()
    assert [int(line.split()[1]) for line in lines] == [1, 4, 7, 9]
    assert lines[-1].startswith("step      9 of 9  loss 1.235")


def test_an_evaluation_comes_whole_before_what_follows_it(capsys, clock):
    with TrainProgress(9) as progress:
        for line in (*FIGURES, {**LINE, "step": 9}, *FIGURES):
            progress.line(line)
    text = capsys.readouterr().err
    assert text.count("evaluation at step 3") == 2
    assert text.index("evaluation") < text.index("step      9 of 9") < text.rindex("evaluation")


def test_ctrl_c_is_answered_at_once_and_never_an_error(capsys, monkeypatch):
    with TrainProgress(9) as progress:
        progress.line({"kind": "interrupt"})
        assert capsys.readouterr().err == "stopping after this step, with a checkpoint; Ctrl-C again stops at once\n"
        monkeypatch.setattr(progress._bar, "print", reentered)
        progress.line({"kind": "interrupt"})


def reentered(text):
    """What Python raises for a write within a write."""
    raise RuntimeError("reentrant call")


class Terminal(StringIO):
    def isatty(self):
        return True


def test_a_terminal_gets_a_bar_and_the_tables(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with TrainProgress(9) as progress:
        for line in (LINE, *FIGURES, {**LINE, "step": 9}):
            progress.line(line)
    text = terminal.getvalue()
    assert "evaluation at step 3" in text
    assert "9/9" in text
    assert "step      9 of 9" not in text


def test_the_bar_moves_with_every_step(monkeypatch, capsys):
    with TrainProgress(9) as progress:
        progress.step(1)
    assert not capsys.readouterr().err, "a log gets no line for it"
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    monkeypatch.setenv("TERM", "xterm")
    with TrainProgress(9) as progress:
        progress.step(2)
    assert "2/9" in terminal.getvalue()
