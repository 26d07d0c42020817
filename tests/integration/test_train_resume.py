"""A run that is stopped at any moment and resumed ends where an uninterrupted one does, to the last bit."""

import json
import shutil
import signal
import time
from pathlib import Path
from random import Random

import pytest
from tests.training_support import TINY_WORDS, Child, assert_same_run, begin, metrics, resume, tiny_config

from anira.training import RunFolder
from anira.training.checkpoint import latest_checkpoint

CONFIG = tiny_config(steps=9)
LONG = tiny_config(steps=60, log_every=1, eval_every=7, checkpoint_every=3)


def die_at_file_operation(number, path):
    """Return a program that lets its process die right before so many file operations in a run's folder are done.

    Counted are those of Python, which are all but the writing of the tensors themselves.
    """
    return f"""
import os, signal, sys
left = {number}
def note(event, words):
    global left
    inside = words and {str(path)!r} in str(words[0])
    if event in ("open", "os.rename", "os.mkdir", "os.truncate") and inside or event in ("os.remove", "os.rmdir"):
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(note)
"""


def die_at_second_call(place):
    """Return a program that lets its process die when a function of anira.training is called a second time."""
    module, _, name = place.partition(".")
    return f"""
import anira.training.{module} as {module}, os, signal
times, true = 0, {place}
def deadly(*words, **options):
    global times
    times += 1
    return true(*words, **options) if times < 2 else os.kill(os.getpid(), signal.SIGKILL)
{module}.{name} = deadly
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return resume(begin(tmp_path_factory.mktemp("whole"), CONFIG))


def start(tmp_path, path, first=""):
    return Child(tmp_path / "child", "train", "--resume", path, first=first)


def last_step(path):
    text = (path / "metrics.jsonl").read_text() if (path / "metrics.jsonl").exists() else ""
    lines = text[: text.rfind("\n") + 1].splitlines()
    return json.loads(lines[-1])["step"] if lines else 0


def test_a_run_killed_at_random_moments(tmp_path):
    path, draw = begin(tmp_path / "killed", LONG), Random(0)
    for step in sorted(draw.sample(range(LONG.steps - 10), 5)):
        child = start(tmp_path, path)
        while last_step(path) < step:
            assert child.running(), child.err
            time.sleep(0.002)
        child.status(draw.uniform(0, 0.03))
        child.send(signal.SIGKILL)
        assert child.status() == -signal.SIGKILL
    assert start(tmp_path, path).status() == 0
    assert_same_run(resume(begin(tmp_path / "whole", LONG)), path)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)])
def test_a_run_killed_at_file_operations(tmp_path, whole, seed):
    """Among them those of checkpoints, evaluations, metrics and clearing up."""
    path, draw, steps = begin(tmp_path, CONFIG), Random(seed), []
    for _ in range(20):
        child = start(tmp_path, path, die_at_file_operation(draw.randrange(1, 100), path))
        if child.status() == 0:
            break
        assert child.status() == -signal.SIGKILL, child.err
        checkpoint = latest_checkpoint(path)
        steps.append(0 if checkpoint is None else int(checkpoint.name.removeprefix("step-")))
    assert len(set(steps)) > 2, "the kills did not spread over the run"
    assert_same_run(whole, resume(path))
    assert not list((path / "checkpoints").glob(".*"))


@pytest.mark.parametrize(
    "place",
    ["checkpoint.write_manifest", "checkpoint.os.replace", "loop.keep_last", "loop.evaluate"],
)
def test_a_run_killed_between_two_files(tmp_path, whole, place):
    """There is a checkpoint by then, and what comes after it is lost."""
    path = begin(tmp_path, CONFIG)
    child = start(tmp_path, path, die_at_second_call(place))
    assert child.status() == -signal.SIGKILL, child.err
    assert latest_checkpoint(path) is not None
    assert_same_run(whole, resume(path))


@pytest.mark.parametrize(
    ("number", "word"), [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "terminated")], ids=["Ctrl-C", "SIGTERM"]
)
def test_a_signal_writes_a_checkpoint_and_says_how_to_go_on(tmp_path, number, word):
    endless = tiny_config(steps=10**6, log_every=1, eval_every=10**6, checkpoint_every=10**6)
    path = begin(tmp_path / "my  runs", endless)
    child = Child(tmp_path / "child", "train", "--resume", path, "--non-finite", "skip")
    try:
        child.wait_for_line(path / "metrics.jsonl")
        for _ in range(2):  # `timeout` signals twice
            child.send(number)
        assert child.status() == 128 + number
    finally:
        child.kill()
    again = f"anira train --resume '{path}' --non-finite skip"
    assert child.err.splitlines()[-1] == f"anira: {word}; go on with: {again}"
    assert "stopping after this step, with a checkpoint; Ctrl-C again stops at once\n" in child.err
    assert "Traceback" not in child.err
    assert latest_checkpoint(path).name == f"step-{metrics(path)[-1]['step']}"


def test_an_interrupted_run_ends_like_a_whole_one(tmp_path, whole):
    path = begin(tmp_path, CONFIG)
    child = start(tmp_path, path)
    try:
        child.wait_for_line(path / "metrics.jsonl")
        child.send(signal.SIGTERM)
        assert child.status() in (0, 143)
    finally:
        child.kill()
    assert_same_run(whole, resume(path))


def test_a_finished_run_is_not_harmed(tmp_path, whole):
    path = tmp_path / "copy"
    shutil.copytree(whole, path)
    before = (path / "metrics.jsonl").read_bytes()
    assert_same_run(whole, resume(path))
    assert (path / "metrics.jsonl").read_bytes() == before


def test_the_checkpoint_before_a_damaged_one_serves(tmp_path, whole):
    """What is damaged is refused by name (see the unit tests); once it is removed, the run goes on."""
    path = tmp_path / "copy"
    shutil.copytree(whole, path)
    shutil.rmtree(latest_checkpoint(path))
    assert_same_run(whole, resume(path))


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="compiling needs a C++ compiler")
def test_a_compiled_run_killed_and_resumed(tmp_path):
    """Through torch's own compiler, and so of the smallest model: each kernel is a second of a C++ compiler."""
    sizes = {"task.max-size": 1, "model.max-depth": 1, "model.num-prelude-layers": 0, "model.num-coda-layers": 0}
    smallest = [word for name, value in sizes.items() for word in (f"--{name}", str(value))]
    cache = {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache"), "TORCHINDUCTOR_COMPILE_THREADS": "1"}

    def go(*words, first=""):
        child = Child(tmp_path / "child", "train", *words, first=first, environment=cache)
        return child.status(), child.out

    words = [*TINY_WORDS, *smallest, "--compile", "on", "--out", tmp_path / "whole"]
    status, out = go("mano-anira-o-smoke", *words)
    assert status == 0
    whole = Path(out.strip())
    path = begin(tmp_path / "killed", RunFolder(whole).read_config())
    assert go("--resume", path, first=die_at_second_call("loop.keep_last"))[0] == -signal.SIGKILL
    assert latest_checkpoint(path) is not None
    assert go("--resume", path)[0] == 0
    assert_same_run(whole, path)
