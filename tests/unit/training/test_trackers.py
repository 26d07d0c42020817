import sys
from types import SimpleNamespace

import pytest
from tests.training_support import begin, resume, tiny_config

from anira.config import UserError
from anira.training.trackers import make_tracker, scalars

LINE = {"kind": "train", "step": 7, "loss": 0.5, "note": "text"}


def test_numbers_get_names_that_group():
    assert scalars(LINE) == {"train/loss": 0.5}
    assert scalars({"kind": "eval", "step": 7, "knob": 12, "n": 4}) == {"eval/n/knob-12": 4.0}


@pytest.mark.parametrize("name", ["trackio", "wandb"])
def test_a_hosted_tracker_gets_every_line(tmp_path, monkeypatch, name):
    calls = []
    fake = SimpleNamespace(init=lambda **options: calls.append(options), log=calls.append)
    monkeypatch.setitem(sys.modules, name, fake)
    make_tracker(name, tmp_path, "mano-fixed-smoke").log(LINE)
    assert calls == [{"project": "anira", "name": "mano-fixed-smoke"}, {"train/loss": 0.5, "step": 7}]


def test_tensorboard_writes_what_it_can_read(tmp_path):
    pytest.importorskip("tensorboard", reason="the extra `tensorboard` is not installed")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    tracker = make_tracker("tensorboard", tmp_path, "run")
    for step in (7, 8):
        tracker.log({**LINE, "step": step})
    events = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    assert [(event.step, event.value) for event in events.Scalars("train/loss")] == [(7, 0.5), (8, 0.5)]


@pytest.mark.parametrize("name", ["trackio", "wandb", "tensorboard"])
def test_one_that_is_not_installed_is_named(tmp_path, monkeypatch, name):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard" if name == "tensorboard" else name, None)
    with pytest.raises(UserError, match=f"pip install {name}"):
        make_tracker(name, tmp_path, "run")


def test_an_unknown_one_gets_a_hint(tmp_path):
    with pytest.raises(UserError, match="did you mean 'tensorboard'"):
        make_tracker("tensorbord", tmp_path, "run")


def test_a_tracker_sees_what_the_file_holds(tmp_path):
    seen = []
    path = begin(tmp_path, tiny_config())
    resume(path, trackers=[SimpleNamespace(log=seen.append)])
    assert len(seen) + 1 == len((path / "metrics.jsonl").read_text().splitlines())  # it has its check-sum besides
    assert {line["kind"] for line in seen} == {"train", "eval"}
