"""A run that is stopped and resumed ends where an uninterrupted one does, to the last bit.

tests/fuzz/test_kills.py stops runs at moments that are drawn; here are those that matter most.
"""

import shutil
import signal
from pathlib import Path

import pytest
from tests.training_support import TINY_WORDS, Child, assert_same_run, begin, metrics, resume, tiny_config

from anira.training import RunFolder
from anira.training.checkpoint import latest_checkpoint

CONFIG = tiny_config(steps=9)


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


@pytest.mark.parametrize(
    "place",
    ["checkpoint.write_manifest", "loop.keep_last", "source.evaluate"],
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
