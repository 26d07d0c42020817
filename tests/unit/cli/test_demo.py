import shlex

import polars as pl

from anira.cli.demo import EXAMPLES, ROWS
from anira.tasks import make_task


def test_the_demo_shows_every_example_and_makes_what_it_says(anira, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = anira("demo")
    assert (result.status, result.err) == (0, "")
    for name, question in EXAMPLES.items():
        task = make_task(name)
        assert task.instance(task.read(question), 0).picture.splitlines()[0] in result.out
        assert task.probe_specs[0].name in result.out
    assert "demo/mano.parquet" in result.out
    assert pl.read_parquet("demo/mano.parquet").height == ROWS
    assert [path.name for path in (tmp_path / "demo").iterdir()] == ["mano.parquet"]


def test_a_second_demo_replaces_the_first(anira, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert anira("demo").status == anira("demo").status == 0


def test_what_the_demo_tells_to_type_works(anira, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = anira("demo").out.partition("What to type next:\n")[2].splitlines()
    commands = [line.strip().partition("   ")[0] for line in lines]
    assert len(commands) >= 4
    for command in commands:
        words = shlex.split(command)
        assert words[0] == "anira"
        if words[1] != "bench":  # takes seconds, and has a test of its own
            assert anira(*words[1:]).status == 0
