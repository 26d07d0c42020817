"""The queue, with an executor that does as it is told: what is started when, what is tried again, what is given up."""

import fcntl
import os
import shutil
from pathlib import Path

import pytest
from tests.training_support import begin, tiny_config, train_tiny

from anira.config.strict import run_id, stored_values
from anira.sweeps.executors import Ending, Job
from anira.sweeps.plan import PlannedRun
from anira.sweeps.queue import LIVES, Queue, make_places


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with three finished runs, from which a pretended training copies."""
    root = tmp_path_factory.mktemp("trained")
    for seed in range(3):
        train_tiny(root, seed=seed)
    return root


class Pretended:
    """Does for each job what its script says next: finish, lose, keep (a checkpoint, then lost), fail, or go on."""

    leaves = False

    def __init__(self, trained: Path, out: Path, scripts: dict[str, list[str]]) -> None:
        self.trained, self.out, self.scripts = trained, out, scripts
        self.started: list[str] = []
        self.most = self.under_way = 0
        self.closed = False

    def adopt(self, job):
        return None

    def start(self, jobs):
        return [self._handle(job) for job in jobs]

    def close(self):
        self.closed = True

    def _handle(self, job):
        self.started.append(job.name)
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        script = self.scripts.get(job.name, [])
        return Handle(self, job, script.pop(0) if script else "finish")


class Handle:
    def __init__(self, executor, job, act):
        self.executor, self.job, self.act = executor, job, act
        self.polls = 0
        self.ending = None

    def poll(self):
        self.polls += 1
        if self.ending is None and self.polls > 1 and self.act != "go on":
            self.ending = self._end()
            self.executor.under_way -= 1
        return self.ending

    def stop(self):
        self.ending = self.ending or Ending(143)

    def _end(self):
        run, source = self.executor.out / self.job.name, self.executor.trained / self.job.name
        if self.act == "finish":
            shutil.rmtree(run, ignore_errors=True)
            shutil.copytree(source, run)
            return Ending(0)
        if self.act == "keep":
            step = 2 + 2 * len(list(run.glob("checkpoints/*")))
            shutil.copytree(source / "checkpoints" / "step-8", run / "checkpoints" / f"step-{step}")
            return Ending(-9)
        if self.act == "fail":
            self.job.log.write_text("something\nanira: this cannot be\n")
            return Ending(2)
        return Ending(0 if self.act == "pretend" else -9)


@pytest.fixture
def setting(trained, tmp_path):
    runs = []
    for seed in range(3):
        config = tiny_config(seed=seed)
        runs.append(PlannedRun(id=run_id(stored_values(config)), config=config, changes={}))

    def job(run):
        name = run.id.replace("/", "-")
        return Job(name=run.id, words=(), log=tmp_path / f"{name}.log", folder=tmp_path)

    def make(scripts=(), after=None, jobs=2):
        planned = list(runs)
        if after:
            planned[0] = PlannedRun(id=runs[0].id, config=runs[0].config, changes={}, after=frozenset({runs[1].id}))
        executor = Pretended(trained, tmp_path, {runs[i].id: list(script) for i, script in dict(scripts).items()})
        return executor, Queue(executor, jobs, make_places(planned, tmp_path, job))

    return make


def work(queue, **options):
    return queue.work(show=lambda places: None, pause=0.0, **options)


def standings(queue):
    return [place.standing for place in queue.places]


def test_everything_is_finished_and_never_more_at_a_time_than_allowed(setting):
    executor, queue = setting()
    assert work(queue)
    assert standings(queue) == ["finished"] * 3
    assert executor.started == [place.run.id for place in queue.places]
    assert executor.most == 2 and executor.closed


def test_what_is_finished_is_not_started_again(setting):
    work(setting()[1])
    executor, queue = setting()
    assert work(queue)
    assert executor.started == []


def test_what_is_lost_is_started_again_and_given_up_only_without_progress(setting):
    _, queue = setting({0: ["lose", "finish"], 1: ["keep"] * (LIVES + 1) + ["finish"], 2: ["lose"] * LIVES})
    assert work(queue)
    assert standings(queue) == ["finished", "finished", "failed"]
    assert "lost 3 times in a row" in queue.places[2].reason


def test_an_error_is_not_tried_again_and_says_why(setting):
    executor, queue = setting({0: ["fail"]})
    assert work(queue)
    assert standings(queue) == ["failed", "finished", "finished"]
    assert queue.places[0].reason.startswith("this cannot be (log: ")
    assert executor.started.count(queue.places[0].run.id) == 1


def test_a_command_that_ends_well_without_a_finished_run_has_failed(setting):
    _, queue = setting({0: ["pretend"]})
    work(queue)
    assert standings(queue)[0] == "failed"


def test_a_run_waits_for_those_before_it(setting):
    executor, queue = setting(after=True, jobs=3)
    work(queue)
    ids = [place.run.id for place in queue.places]
    assert executor.started == [ids[1], ids[2], ids[0]]


def test_a_run_after_one_that_failed_is_not_begun(setting):
    executor, queue = setting({1: ["fail"]}, after=True)
    assert work(queue)
    assert standings(queue) == ["blocked", "failed", "finished"]
    assert queue.places[0].run.id not in executor.started


def test_when_time_is_over_runs_are_stopped_and_something_is_left(setting):
    executor, queue = setting({i: ["go on"] for i in range(3)})
    assert not work(queue, seconds=0.05)
    assert executor.closed
    assert all(place.handle is None for place in queue.places)


def test_an_interrupt_stops_the_runs(setting):
    _, queue = setting({i: ["go on"] for i in range(3)})
    handles = []

    def show(places):
        handles.extend(place.handle for place in places if place.handle is not None)
        if len(handles) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        queue.work(show=show, pause=0.0)
    assert [handle.ending for handle in handles] == [Ending(143)] * 2


def test_a_run_that_another_process_trains_is_left_to_it(setting, tmp_path):
    path = begin(tmp_path, tiny_config(seed=0))
    lock = os.open(path / ".lock", os.O_RDWR)
    fcntl.flock(lock, fcntl.LOCK_EX)
    executor, queue = setting()
    seen = []

    def show(places):
        seen.append(places[0].standing)
        if seen.count("elsewhere") == len(seen) == 20:  # it lets go
            os.close(lock)

    queue.work(show=show, pause=0.0)
    assert seen[0] == "elsewhere"
    assert executor.started[-1] == queue.places[0].run.id
    assert standings(queue) == ["finished"] * 3
