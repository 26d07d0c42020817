"""A loss or gradient that is not finite never reaches the weights: it stops the run, or is left out and counted."""

import json
import math
import shutil

import pytest
import torch
from tests.training_support import assert_same_run, begin, metrics, resume, spoil_losses, tiny_config, weights

from anira.config import config_hash
from anira.training import RunFolder, loop, train
from anira.training.checkpoint import check_checkpoint, latest_checkpoint
from anira.training.finite import FiniteSteps, NonFiniteError, all_finite

CONFIG = tiny_config(log_every=1, eval_every=100, checkpoint_every=2)


@pytest.fixture
def spoil(monkeypatch):
    return lambda calls: spoil_losses(monkeypatch, calls)


def go_on(path, plan="stop"):
    with RunFolder(path) as folder:
        config = folder.read_config()
        train(config, path, resume=True, report=lambda line: None, trackers=[], non_finite=plan)
    return path


@pytest.mark.parametrize("parts", [1, 2])
def test_such_a_step_stops_the_run_and_what_was_kept_is_good(tmp_path, spoil, parts):
    config = tiny_config(log_every=1, eval_every=100, checkpoint_every=2, accumulation=parts)
    path = begin(tmp_path, config)
    spoil([4 * parts + parts])  # the last part of step 5
    with pytest.raises(NonFiniteError) as caught:
        go_on(path)
    last = path / "checkpoints" / "step-4"
    assert str(caught.value).startswith(f"the loss of step 5 is not finite, and the last good checkpoint is {last}: ")
    assert latest_checkpoint(path) == last
    check_checkpoint(last, config_hash(config))
    assert [line["step"] for line in metrics(path)] == [1, 2, 3, 4]
    assert all(value.isfinite().all() for value in weights(path).values())


def test_a_gradient_alone_stops_it_too(tmp_path, monkeypatch):
    norm = loop.Accelerator.clip_grad_norm_
    monkeypatch.setattr(loop.Accelerator, "clip_grad_norm_", lambda *words: norm(*words) * math.nan)
    with pytest.raises(NonFiniteError, match="the gradient of step 1 is not finite, and there is no checkpoint before"):
        go_on(begin(tmp_path, CONFIG))


@pytest.mark.parametrize("when", [{"checkpoint_every": 1}, {"eval_every": 1}], ids=str)
def test_weights_that_overflow_are_never_kept_or_evaluated(tmp_path, when):
    path = begin(tmp_path, tiny_config(**{"learning_rate": 1e300, "checkpoint_every": 100, **when}))
    with pytest.raises(NonFiniteError, match="the weights after step 1 are not finite"):
        go_on(path)
    assert latest_checkpoint(path) is None
    assert not (path / "records").exists()


def test_the_step_is_left_out_and_counted_if_that_is_wanted(tmp_path, spoil):
    path = begin(tmp_path, CONFIG)
    spoil([2, 3, 6])
    lines = metrics(go_on(path, "skip"), "train")
    assert [line["skipped_steps"] for line in lines] == [0, 1, 2, 2, 2, 3, 3, 3]
    assert [line["step"] for line in lines if line["loss"] is None] == [2, 3, 6]
    assert all(line["accuracy"] is not None for line in lines)
    state = json.loads((latest_checkpoint(path) / "loop.json").read_text())
    assert (state["step"], state["skipped_steps"]) == (8, 3)


def test_a_step_that_is_left_out_changes_nothing(tmp_path, spoil):
    one = begin(tmp_path / "one", tiny_config(steps=1, checkpoint_every=1))
    go_on(one)
    two = begin(tmp_path / "two", tiny_config(steps=2, checkpoint_every=1))
    spoil([2])
    go_on(two, "skip")
    last = two / "checkpoints" / "step-2"
    for name in ("model.safetensors", "optimizer.safetensors"):
        assert (last / name).read_bytes() == (two / "checkpoints" / "step-1" / name).read_bytes()
        assert (last / name).read_bytes() == (one / "checkpoints" / "step-1" / name).read_bytes()


def test_a_resumed_run_keeps_the_count(tmp_path, spoil):
    whole = begin(tmp_path / "whole", CONFIG)
    spoil([3, 6])
    go_on(whole, "skip")
    path = tmp_path / "resumed"
    shutil.copytree(whole, path)
    shutil.rmtree(path / "checkpoints" / "step-8")
    shutil.rmtree(path / "records")
    spoil([])
    assert_same_run(whole, go_on(path))  # nothing is left to leave out, and the count is known
    assert metrics(path, "train")[-1]["skipped_steps"] == 2


def test_without_such_steps_the_plan_changes_nothing(tmp_path):
    one, other = begin(tmp_path / "one", CONFIG), begin(tmp_path / "other", CONFIG)
    lines = metrics(go_on(other, "skip"))
    assert {line.pop("skipped_steps") for line in lines if line["kind"] == "train"} == {0}
    assert lines == metrics(resume(one))
    assert all(torch.equal(value, weights(other)[name]) for name, value in weights(one).items())


def test_after_the_first_one_nothing_reaches_the_weights_until_it_is_found():
    """On a device that nobody waits for, steps go on until the next line of metrics."""
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.AdamW([weight], lr=0.1, fused=True)
    steps = FiniteSteps(optimizer, weight.device, "stop")
    for step, loss in enumerate([1.0, 1.0, math.nan, 1.0, 1.0], 1):
        weight.grad = torch.ones(3)
        steps.judge(torch.tensor(loss), torch.tensor(1.0))
        optimizer.step()
        if step == 2:
            kept = weight.detach().clone()
    assert torch.equal(weight, kept)
    assert steps.failure(5) == "the loss of step 3 is not finite"


def test_all_finite():
    good, bad = torch.ones(2), torch.tensor([1.0, math.inf])
    assert all_finite([good, good])
    assert not all_finite([good, bad])
