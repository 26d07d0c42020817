"""`anira sweep` as it is used: killed and called again, refused in one line, and on real executors."""

import contextlib
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from tests.training_support import TINY_MODEL, TINY_RUN, Child, assert_same_run, begin, resume

from anira.cli import main
from anira.cli.sweep import Options, _plan
from anira.config import how_to_install, save
from anira.sweeps.executors.slurm import SlurmExecutor
from anira.sweeps.launch import make_job
from anira.sweeps.plan import PlannedRun, planned_runs
from anira.training import RunFolder
from anira.training.status import run_status

SET = [f"{name}={value}" for name, value in TINY_RUN.items() if name != "threads"]
SET += [f"model.{name}={value}" for name, value in TINY_MODEL.items()]
WORDS = ["mano-anira-o-smoke", "--seeds", "0:1", "--set", *SET]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The runs of WORDS, trained one by one in this process."""
    root = tmp_path_factory.mktemp("whole")
    options = Options(what=(WORDS[0],), seeds="0:1", set=tuple(SET))
    return {run.id: resume(begin(root, run.config)) for run in planned_runs(_plan(options))}


def finished(out, whole):
    for name, expected in whole.items():
        assert run_status(out / name).state == "finished", name
        assert_same_run(out / name, expected)


@pytest.mark.slow
def test_a_sweep_that_is_stopped_and_killed_ends_as_an_undisturbed_one(whole, tmp_path):
    """One run at a time until the last call, which trains both side by side."""
    out = tmp_path / "runs"
    words = ["sweep", *WORDS, "--out", str(out)]

    sweep = Child(tmp_path / "first", *words, "--jobs", "1")
    wait_for(lambda: list(out.glob("*/*/checkpoints/*")))
    sweep.send(signal.SIGTERM)
    assert sweep.status() == 128 + signal.SIGTERM
    assert f"anira: terminated; go on with: anira {' '.join(words)} --jobs 1" in sweep.err
    assert {run_status(out / name).state for name in whole} <= {"not begun", "stopped", "finished"}

    sweep = Child(tmp_path / "second", *words, "--jobs", "1")
    wait_for(lambda: [name for name in whole if run_status(out / name).state == "running"])
    sweep.kill()

    sweep = Child(tmp_path / "third", *words)
    assert sweep.status() == 0, sweep.err
    finished(out, whole)
    assert main(words) == 0


@pytest.mark.slow
def test_on_ray_a_lost_worker_is_retried(whole, tmp_path):
    out = tmp_path / "runs"
    sweep = Child(tmp_path / "child", "sweep", *WORDS, "--out", out, "--on", "ray", "--jobs", "2")
    wait_for(lambda: list(out.glob("*/*/checkpoints/*")))
    killed = False
    for child in psutil.Process(sweep.pid).children(recursive=True):
        with contextlib.suppress(psutil.Error):
            below = [" ".join(one.cmdline()) for one in child.children()]
            if child.name().startswith("ray::") and any("anira.cli.job" in line for line in below):
                child.kill()
                killed = True
                break
    assert killed
    assert sweep.status() == 0, sweep.err
    finished(out, whole)


@pytest.mark.parametrize("name", ["on_ray", "slurm"])
def test_a_worker_that_only_starts_a_process_loads_no_torch(name):
    program = f"import sys, anira.sweeps.executors.{name}; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.slow
def test_through_submitit_a_job_at_its_time_limit_is_queued_again(whole, tmp_path):
    """Slurm itself is not here: submitit's own stand-in runs and signals the job as Slurm does."""
    name, expected = next(iter(whole.items()))
    config = RunFolder(expected).read_config()
    job = make_job(tmp_path, PlannedRun(id=name, config=config, changes={}))
    save(config, Path(job.words[3]))
    executor = SlurmExecutor(tmp_path, cluster="local", timeout_min=10)
    (handle,) = executor.start([job])
    wait_for(lambda: list(tmp_path.glob("*/*/checkpoints/*")) or handle.poll() is not None)
    if handle.poll() is None:
        handle.job._interrupt()
    wait_for(lambda: handle.poll() is not None)
    handle.job._process.wait()
    assert handle.poll().status == 0
    assert_same_run(tmp_path / name, expected)


def wait_for(condition, seconds=240):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "name a plan or presets"),
        (["nothing.toml"], "cannot read the plan nothing.toml: No such file"),
        (["a.toml", "--seeds", "0:1"], "a plan stands alone"),
        (["mano-fixed-smoke", "--set", "steps"], "NAME=VALUE"),
        (["mano-fixed-smoke", "--set", "stepz=1"], "has no option 'stepz'"),
        (["mano-fixed-smoke", "--set", "steps=1", "steps=2"], "twice"),
        (["mano-fixed-smoke", "--jobs", "0"], "--jobs must be at least 1"),
        (["mano-fixed-smoke", "--jobs", "500", "--threads", "2"], "do not fit"),
        (["mano-fixed-smoke", "--hours", "0"], "hours must be a positive number"),
        (["mano-fixed-smoke", "--slurm", "timeout_min=5"], "--slurm goes with --on slurm"),
        (["mano-fixed-smoke", "--on", "cloud"], "--on must be one of"),
        (["mano-fixed-smoke", "--set", "batch_size=1000000000"], "takes about"),
    ],
)
def test_bad_input_is_one_line_before_anything_starts(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["sweep", *words]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("on", "package"), [("ray", "ray"), ("slurm", "submitit")])
def test_a_package_that_is_not_installed_is_named(on, package, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("anira.sweeps.executors.base.find_spec", lambda name: None)
    assert main(["sweep", "mano-fixed-smoke", "--out", str(tmp_path / "runs"), "--on", on]) == 2
    assert capsys.readouterr().err == f"anira: --on {on} needs {package}: {how_to_install('sweeps')}\n"
    assert not list(tmp_path.iterdir())


def test_slurm_that_is_not_here_is_one_line(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    assert main(["sweep", "mano-fixed-smoke", "--out", str(tmp_path / "runs"), "--on", "slurm"]) == 2
    assert "Slurm cannot be used" in capsys.readouterr().err


def test_a_dry_run_says_what_is_to_do_and_does_nothing(whole, tmp_path, capsys):
    out = next(iter(whole.values())).parents[1]
    assert main(["sweep", *WORDS, "--out", str(out), "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert "2 runs, 0 to do: 0.0e+00 FLOPs" in said
    assert main(["sweep", *WORDS, "--out", str(tmp_path / "runs"), "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert said.count("not begun") == 2 and "2 runs, 2 to do" in said
    assert not list(tmp_path.iterdir())


def test_runs_are_listed(whole, capsys, tmp_path):
    out = next(iter(whole.values())).parents[1]
    assert main(["runs", str(out)]) == 0
    said = capsys.readouterr().out
    assert said.count("finished") == 2 and said.count("8 of 8") == 2
    assert main(["runs", str(out), "--json"]) == 0
    assert capsys.readouterr().out.count('"state": "finished"') == 2
    for place in (tmp_path, tmp_path / "nothing"):
        assert main(["runs", str(place)]) == 2
