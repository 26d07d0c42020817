"""A run that is killed or told to stop at any moment, over and over, ends where an undisturbed one does: the same bits.

A moment is a point in the program, not on a clock: right before a file of the run is opened, renamed or removed, or
before or after an optimizer step. Children count them and end themselves at one that is drawn beforehand.
"""

import signal
from random import Random

import pytest
from tests.training_support import Child, assert_same_run, begin, resume, tiny_config

from anira.training.checkpoint import latest_checkpoint, step_of

pytestmark = pytest.mark.timeout(600)  # a run that does not heed a signal goes on forever
CONFIG = tiny_config(steps=9)
KILLS = 36
FURTHEST = 130  # moments from a start at which a child ends; a whole run has about 400
WAYS = {
    "kill": ["SIGKILL"],
    "terminate": ["SIGTERM"],
    "interrupt": ["SIGINT"],
    "terminate, then kill": ["SIGTERM", "SIGKILL"],  # a scheduler that does not wait
    "terminate twice": ["SIGTERM", "SIGTERM"],  # the second one stops at once
}
PROGRAM = """
import os, signal, sys
import torch
import anira.cli, anira.training.interrupts

moments, left = {moments}, 0
os.fsync = lambda descriptor: None  # what the system holds for us outlives the process
anira.cli.SAME_SIGNAL = anira.training.interrupts.SAME_SIGNAL = -1.0  # every signal is another one

def pass_moment():
    global left
    left += 1
    while moments and left >= moments[0][0]:
        os.kill(os.getpid(), moments.pop(0)[1])

def note(event, words):
    inside = words and {path!r} in str(words[0])
    if event in ("open", "os.rename", "os.mkdir", "os.truncate") and inside or event in ("os.remove", "os.rmdir"):
        pass_moment()

def step(*words, step=torch.optim.AdamW.step, **options):
    pass_moment()
    step(*words, **options)
    pass_moment()

torch.optim.AdamW.step = step
sys.addaudithook(note)
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return resume(begin(tmp_path_factory.mktemp("whole"), CONFIG))


def disturb(folder, path, draw):
    """Go on with a run in a child that ends itself somewhere, in one of the ways; return its exit status."""
    way = draw.choice(list(WAYS.values()))
    first = draw.randrange(1, FURTHEST)
    moments = [(first + 12 * i, int(getattr(signal, name))) for i, name in enumerate(way)]
    child = Child(folder, "train", "--resume", path, first=PROGRAM.format(moments=moments, path=str(path)))
    status = child.status()
    allowed = {0, *(-number if number == signal.SIGKILL else 128 + number for _, number in moments)}
    assert status in allowed, (moments, status, child.err)
    assert "Traceback" not in child.err, (moments, child.err)
    return status


@pytest.mark.slow
def test_a_run_that_is_killed_at_random_moments(tmp_path, whole):
    draw, kills, steps = Random(0), 0, set()
    for number in range(KILLS):
        path = begin(tmp_path / str(number), CONFIG)
        while disturb(tmp_path / "child", path, draw):
            kills += 1
            checkpoint = latest_checkpoint(path)
            steps.add(0 if checkpoint is None else step_of(checkpoint))
        assert_same_run(whole, path)
        assert not list(path.rglob("*.part"))
        if kills >= KILLS:
            break
    assert len(steps) > 5, "the kills did not spread over the run"
