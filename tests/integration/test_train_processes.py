"""Several processes are one run: the same losses and weights, one folder, one voice."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from tests.training_support import TINY_WORDS, Child, assert_close_runs, begin, metrics, resume, tiny_config

from anira.training.checkpoint import latest_checkpoint

PRESET = "brevo-anira-o-smoke"
ENDLESS = {"steps": 10**6, "log_every": 1, "eval_every": 10**6, "checkpoint_every": 10**6}


def free_port():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


def processes(folder, path, number=2, *, environment=(), first=""):
    """Start the processes of a run with the environment that `accelerate launch` gives them."""
    common = {"ACCELERATE_USE_CPU": "true", "WORLD_SIZE": str(number), "MASTER_PORT": str(free_port())}
    common |= {"MASTER_ADDR": "127.0.0.1", **dict(environment)}
    return [
        Child(
            folder / str(rank),
            *("train", "--resume", path),
            first=first,
            environment={**common, "RANK": str(rank), "LOCAL_RANK": str(rank)},
        )
        for rank in range(number)
    ]


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The run of one process, one part a batch."""
    return resume(begin(tmp_path_factory.mktemp("alone"), tiny_config(PRESET, precision="float64")))


@pytest.mark.parametrize("accumulation", [1, 2])
def test_two_processes_give_the_losses_of_one(tmp_path, alone, accumulation):
    path = begin(tmp_path / "runs", tiny_config(PRESET, precision="float64", accumulation=accumulation))
    main, other = processes(tmp_path, path)
    assert (main.status(), other.status()) == (0, 0), main.err + other.err
    assert_close_runs(alone, path, tolerance=1e-9)
    assert main.out == f"{path}\n"
    assert other.out == ""
    assert "loss" not in other.err


def test_two_processes_resume_what_one_began(tmp_path, alone):
    path = begin(tmp_path / "runs", tiny_config(PRESET, precision="float64"))
    killed = Child(tmp_path / "killed", "train", "--resume", path)
    killed.wait_for_line(path / "metrics.jsonl")
    killed.kill()
    main, other = processes(tmp_path, path)
    assert (main.status(), other.status()) == (0, 0), main.err + other.err
    assert_close_runs(alone, path, tolerance=1e-9)


@pytest.mark.parametrize("rank", [0, 1])
def test_ctrl_c_in_one_process_stops_all_after_the_same_step(tmp_path, rank):
    path = begin(tmp_path / "runs", tiny_config(PRESET, **ENDLESS))
    both = processes(tmp_path, path)
    try:
        both[0].wait_for_line(path / "metrics.jsonl")
        both[rank].send(signal.SIGINT)
        assert [child.status() for child in both] == [130, 130]
    finally:
        for child in both:
            child.kill()
    assert latest_checkpoint(path).name == f"step-{metrics(path)[-1]['step']}"


@pytest.mark.slow
def test_the_command_of_the_manual(tmp_path, alone):
    """`accelerate launch ... -m anira.cli train ...`, from the preset to the last line."""
    words = ["--cpu", "--num_processes", "2", "--num_machines", "1", "--mixed_precision", "no"]
    words += ["--dynamo_backend", "no", "--main_process_port", str(free_port()), "-m", "anira.cli", "train", PRESET]
    words += [*TINY_WORDS, "--precision", "float64", "--compile", "off", "--out", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-m", "accelerate.commands.accelerate_cli", "launch", *words],
        env={**os.environ, "HF_HOME": str(tmp_path / "home")},  # no settings of this machine
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    path = Path(done.stdout.strip())
    assert path.parents[1] == tmp_path
    assert path.name == alone.name
    assert_close_runs(alone, path, tolerance=1e-9)
