import contextlib
import io
import json
import shlex
from pathlib import Path

import pytest
from tests.conftest import Result

from anira.cli import main
from anira.cli.demo import _effect, demo_config
from anira.cli.train import start_or_resume
from anira.config import load
from anira.sweeps.executors import Ending
from anira.sweeps.executors.local import LocalExecutor
from anira.tasks import make_task
from anira.training import TrainConfig


class Over:
    """A job that was done while it was started."""

    def poll(self):
        return Ending(0)


def train_here(executor, jobs):
    """Train in this process: what a sweep's own processes do is tested with sweeps."""
    for job in jobs:
        config, out = job.words[3:5]  # the names of plug-ins follow
        start_or_resume(load(TrainConfig, Path(config)), Path(out))
    return [Over() for _ in jobs]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A demo of a few steps, and what it said."""
    folder = tmp_path_factory.mktemp("demo") / "out"
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        patch.setenv("COLUMNS", "100")
        patch.setattr("anira.cli.demo.COUNT", 20)
        patch.setattr(LocalExecutor, "start", train_here)
        status = main(["demo", "--steps", "5", "--out", str(folder)])
    return folder, Result(status, out.getvalue(), err.getvalue())


@pytest.mark.slow
def test_the_demo_trains_over_both_groups_and_makes_a_page(made):
    folder, result = made
    assert result.status == 0, result.err
    runs = sorted(path.parent.name for path in (folder / "runs").glob("*/*") if (path / "config.json").exists())
    assert runs == ["words-anira-o-demo", "words-z6-anira-o-demo"]
    page = (folder / "report.html").read_text()
    assert "words-anira-o-demo" in page and "words-z6-anira-o-demo" in page
    assert "Forced depth" in page and "token by token" in page
    assert result.out.rstrip().endswith(str(folder / "report.html"))


@pytest.mark.slow
def test_the_demo_prints_a_row_for_every_length_and_says_what_the_slope_is(made):
    _, result = made
    table = result.out.partition("Accuracy and mean depth")[2]
    lines = table.splitlines()[2:12]
    assert [line.split()[0] for line in lines] == [str(length) for length in range(1, 11)]
    assert all(line.count("[") == 6 for line in lines)  # three figures of two runs, each with its interval
    for group in ("S3", "Z6"):
        assert f"{group}: answer depth" in table


@pytest.mark.slow
def test_the_demo_shows_an_instance_with_its_probes(made):
    _, result = made
    assert "<bos>" in result.out
    assert all(probe.name in result.out for probe in make_task("words").probe_specs)


@pytest.mark.slow
def test_a_second_demo_trains_nothing_and_says_the_same(made, anira, monkeypatch):
    folder, first = made
    monkeypatch.setattr("anira.cli.demo.COUNT", 20)
    metrics = {path: path.read_text() for path in folder.glob("runs/*/*/metrics.jsonl")}
    second = anira("demo", "--steps", "5", "--out", str(folder))
    assert second.status == 0
    assert second.out == first.out
    for path, before in metrics.items():
        assert [json.loads(line).get("step") for line in path.read_text().splitlines()] == [
            json.loads(line).get("step") for line in before.splitlines()
        ]


@pytest.mark.slow
def test_what_the_demo_tells_to_type_works(made, anira, tmp_path, monkeypatch):
    _, result = made
    monkeypatch.chdir(tmp_path)
    lines = result.out.partition("What to type next")[2].splitlines()[1:]
    commands = [line.strip() for line in lines if line.startswith("  anira")]
    assert len(commands) >= 4
    for command in commands:
        words = shlex.split(command)
        assert anira(*words[1:]).status == 0, command


def test_the_demo_is_the_cpu_preset_with_fewer_steps():
    config = demo_config("S3", 100)
    task = config.make_task()
    assert (config.steps, config.schedule, config.compile) == (100, "linear", False)
    assert task.rows(seed=0, stream="train", start=0, count=4096).lengths.max() == config.max_length


def test_no_steps_is_an_error(anira):
    result = anira("demo", "--steps", "0")
    assert (result.status, result.err) == (2, "anira: --steps must be at least 1, not 0\n")


@pytest.mark.parametrize(
    ("needed", "control", "said"),
    [
        ((0.3, 0.25), 0.1, "The effect appeared: depth rises by 0.30"),
        ((0.3, 0.25), 0.25, "The effect did not appear"),
        ((0.3, -0.1), 0.0, "The effect did not appear"),
        ((None, None), None, "The effect did not appear: depth rises by 0.00"),
    ],
)
def test_the_demo_says_whether_the_effect_appeared(needed, control, said):
    value, low = needed
    assert _effect({"value": value, "low": low}, {"value": control, "low": None}).startswith(said)
