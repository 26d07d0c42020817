"""Several processes are one run: the same losses and weights, one folder, one voice."""

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from tests.training_support import TINY_WORDS, Child, assert_close_runs, begin, metrics, resume, tiny_config

from anira.training.checkpoint import latest_checkpoint

PRESET = "brevo-anira-o-smoke"
FSDP = {"ACCELERATE_USE_FSDP": "true", "FSDP_VERSION": "2"}
GUIDE = (Path(__file__).parents[2] / "docs" / "guide.md").read_text()
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


@pytest.mark.slow
@pytest.mark.parametrize("accumulation", [1, 2])
def test_two_processes_give_the_losses_of_one(tmp_path, alone, accumulation):
    path = begin(tmp_path / "runs", tiny_config(PRESET, precision="float64", accumulation=accumulation))
    main, other = processes(tmp_path, path)
    assert (main.status(), other.status()) == (0, 0), main.err + other.err
    assert_close_runs(alone, path, tolerance=1e-9)
    assert main.out == f"{path}\n"
    assert main.err.startswith(f"{PRESET}, seed 0, 8 steps, 2 processes, in {path}\n")
    assert (other.out, other.err) == ("", "")


@pytest.mark.slow
def test_two_processes_resume_what_one_began(tmp_path, alone):
    path = begin(tmp_path / "runs", tiny_config(PRESET, precision="float64"))
    killed = Child(tmp_path / "killed", "train", "--resume", path)
    killed.wait_for_line(path / "metrics.jsonl")
    killed.kill()
    main, other = processes(tmp_path, path)
    assert (main.status(), other.status()) == (0, 0), main.err + other.err
    assert_close_runs(alone, path, tolerance=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("rank", "number"), [(0, signal.SIGINT), (1, signal.SIGTERM)])
def test_a_signal_to_one_process_stops_all_after_the_same_step(tmp_path, rank, number):
    path = begin(tmp_path / "runs", tiny_config(PRESET, **ENDLESS))
    both = processes(tmp_path, path)
    try:
        both[0].wait_for_line(path / "metrics.jsonl")
        both[rank].send(number)
        assert [child.status() for child in both] == [128 + number, 128 + number]
    finally:
        for child in both:
            child.kill()
    assert latest_checkpoint(path).name == f"step-{metrics(path)[-1]['step']}"
    assert both[0].err.splitlines()[-1].endswith(f"; go on with: anira train --resume {path}")
    assert both[1].err == ""


# The loss of one process's part of step 3 is no number.
SPOIL = """
import math, os
import anira.training.loop as loop
def descend(run, step, descend=loop._descend):
    call = run.call
    def spoiled(*words, **options):
        output = call(*words, **options)
        if step == 3 and run.accelerator.process_index == 1:
            output.loss = output.loss * math.nan
        return output
    run.call = spoiled
    yield from descend(run, step)
    run.call = call
loop._descend = descend
"""


@pytest.mark.parametrize("sharded", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["copies", "parts"])
def test_a_loss_that_is_not_finite_in_one_process_stops_all(tmp_path, sharded):
    path = begin(tmp_path / "runs", tiny_config(PRESET, accumulation=1 if sharded else 2))
    both = processes(tmp_path, path, environment=FSDP if sharded else (), first=SPOIL)
    assert [child.status() for child in both] == [2, 2], both[0].err + both[1].err
    last = f"{path}/checkpoints/step-2"
    assert f"anira: the loss of step 3 is not finite, and the last good checkpoint is {last}: " in both[0].err
    assert both[1].err == ""
    assert latest_checkpoint(path) == Path(last)


@pytest.mark.slow
def test_the_command_of_the_manual(tmp_path, alone):
    """`torchrun ... -m anira.cli train ...`, from the preset to the last line, on as many processes as it says."""
    (line,) = re.findall(
        r"^(ACCELERATE_USE_CPU=true) torchrun (--nproc_per_node 2 -m anira.cli train) \S+$", GUIDE, re.M
    )
    setting, words = line[0].split("="), line[1].split()
    port = ["--master_port", str(free_port())]
    tiny = [*TINY_WORDS, "--precision", "float64", "--compile", "off", "--out", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", *port, *words, PRESET, *tiny],
        env={**os.environ, setting[0]: setting[1]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    path = Path(done.stdout.strip())
    assert f"{PRESET}, seed 0, 8 steps, 2 processes, in {path}\n" in done.stderr
    assert path.parents[1] == tmp_path
    assert path.name == alone.name
    assert_close_runs(alone, path, tolerance=1e-9)
