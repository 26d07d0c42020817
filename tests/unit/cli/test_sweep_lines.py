"""What a sweep says in a log: every change, and every quarter of a run."""

from pathlib import Path
from types import SimpleNamespace

from anira.cli.sweep_table import live_table
from anira.training.status import RunStatus


def place(step, standing="running"):
    run = SimpleNamespace(id="a/1-s0", label="a seed 0", config=SimpleNamespace(steps=200))
    return SimpleNamespace(run=run, standing=standing, status=RunStatus(path=Path("a"), state="running", step=step))


def test_a_log_has_a_line_for_every_quarter_and_none_in_between(capsys):
    with live_table() as show:
        for step in (0, 10, 49, 50, 60, 120, 199):
            show([place(step)])
        show([place(200, "finished")])
    said = capsys.readouterr().err.splitlines()
    assert [line.partition("step ")[2].split()[0] for line in said[:-1]] == ["0", "50", "120", "199"]
    assert said[-1].endswith("a seed 0: finished")
