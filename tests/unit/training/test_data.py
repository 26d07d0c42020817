import dataclasses
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.training_support import tiny_config

from anira.config import UserError
from anira.models import uniform_noise
from anira.training.data import Batches

CONFIG = tiny_config("brevo-anira-e-smoke", batch_size=24, seed=3)
TASK = CONFIG.make_task()
WIDTH = 3  # numbers of noise per token


def parts(config, *, world=1, step=5):
    """All parts of a step's batch, process after process."""
    return [part for rank in range(world) for part in Batches(TASK, config, WIDTH, rank=rank, world=world).step(step)]


def rows_of(batches):
    """The instances of some batches by their tokens and noise, with their labels."""
    found = {}
    for batch in batches:
        sizes = batch.lengths.tolist()
        split = (values[0].split(sizes) for values in (batch.input_ids, batch.labels, batch.noise))
        for ids, labels, noise in zip(*split, strict=True):
            found[tuple(ids.tolist()), tuple(noise.flatten().tolist())] = labels.tolist()
    return found


@given(world=st.sampled_from([1, 2, 3, 4]), accumulation=st.sampled_from([1, 2, 3, 6]), step=st.integers(1, 1000))
def test_any_split_gives_the_same_rows_and_noise(world, accumulation, step):
    (whole,) = parts(CONFIG, step=step)
    if CONFIG.batch_size % (world * accumulation):
        return
    split = parts(dataclasses.replace(CONFIG, accumulation=accumulation), world=world, step=step)
    assert len(split) == world * accumulation
    assert {len(part.lengths) for part in split} == {CONFIG.batch_size // len(split)}
    assert rows_of(split) == rows_of([whole])
    for part in split:  # the counts are those of the whole step
        assert part.num_answer_tokens == whole.num_answer_tokens
        assert part.num_valid_tokens == whole.num_valid_tokens


def test_parts_hold_rows_of_like_length_and_are_the_same_work_for_all_processes():
    config = dataclasses.replace(CONFIG, accumulation=4)
    made = [list(Batches(TASK, config, 0, rank=rank, world=2).step(1)) for rank in (0, 1)]
    pairs = list(zip(*made, strict=True))
    for earlier, later in pairwise([torch.cat([part.lengths for part in pair]) for pair in pairs]):
        assert earlier.max() <= later.min()
    for one, other in pairs:
        assert abs(one.input_ids.numel() - other.input_ids.numel()) <= max(one.longest, other.longest)


def test_a_step_reads_the_rows_after_those_of_the_step_before():
    rows = TASK.rows(seed=CONFIG.seed, stream="train", start=2 * 24, count=24)
    (batch,) = parts(CONFIG, step=3)
    valid = np.arange(rows.input_ids.shape[1]) < rows.lengths[:, None]
    assert np.array_equal(batch.input_ids[0].numpy(), rows.input_ids[valid])
    assert np.array_equal(batch.labels[0].numpy(), rows.labels[valid])
    assert np.array_equal(batch.lengths.numpy(), rows.lengths)
    assert batch.longest == rows.lengths.max()
    assert batch.num_answer_tokens == (rows.labels != -100).sum()
    assert batch.num_valid_tokens == rows.lengths.sum()


def test_answers_are_the_positions_that_predict_one():
    (batch,) = parts(CONFIG)
    supervised = (batch.labels[0] != -100).nonzero()[:, 0]
    assert torch.equal(batch.answers + 1, supervised)


def test_noise_belongs_to_seed_step_row_and_position():
    (batch,) = parts(CONFIG, step=3)
    noise = uniform_noise(seed=3, step=3, rows=torch.arange(48, 72), positions=torch.arange(batch.longest), width=WIDTH)
    for i, found in enumerate(batch.noise[0].split(batch.lengths.tolist())):
        assert torch.equal(found, noise[i, : len(found)])


def test_a_policy_without_noise_gets_none():
    (batch,) = Batches(TASK, CONFIG, 0).step(1)
    assert batch.noise is None


def test_a_row_that_is_too_long_is_an_error_that_says_what_to_change():
    config = dataclasses.replace(CONFIG, max_length=12)
    with pytest.raises(UserError, match=r"a row of \d+ tokens does not fit max_length 12: give --max-length \d+"):
        parts(config)


def test_a_batch_that_cannot_be_split_is_refused():
    with pytest.raises(UserError, match="batch_size 24 must be a multiple of processes x accumulation, 5 x 1"):
        Batches(TASK, CONFIG, 0, world=5)
