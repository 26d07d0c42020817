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
from anira.training.data import Batches, padded_lengths

CONFIG = tiny_config("brevo-anira-e-smoke", batch_size=24, seed=3)
TASK = CONFIG.make_task()
WIDTH = 3  # numbers of noise a token


def parts(config, *, world=1, step=5):
    """All parts of a step's batch, process after process."""
    return [part for rank in range(world) for part in Batches(TASK, config, WIDTH, rank=rank, world=world).step(step)]


def rows_of(batches):
    """The rows of some batches by their tokens, with what belongs to each: labels and noise where it is valid."""
    found = {}
    for batch in batches:
        for i, valid in enumerate(batch.valid):
            parts = (batch.input_ids[i, valid], batch.labels[i, valid], batch.noise[i, valid])
            found[tuple(parts[0].tolist()), tuple(parts[2].flatten().tolist())] = parts[1].tolist()
    return found


@given(world=st.sampled_from([1, 2, 3, 4]), accumulation=st.sampled_from([1, 2, 3, 6]), step=st.integers(1, 1000))
def test_any_split_gives_the_same_rows_and_noise(world, accumulation, step):
    (whole,) = parts(CONFIG, step=step)
    if CONFIG.batch_size % (world * accumulation):
        return
    split = parts(dataclasses.replace(CONFIG, accumulation=accumulation), world=world, step=step)
    assert len(split) == world * accumulation
    assert {len(part.input_ids) for part in split} == {CONFIG.batch_size // len(split)}
    assert rows_of(split) == rows_of([whole])
    for part in split:  # the counts are those of the whole step
        assert part.num_answer_tokens == whole.num_answer_tokens
        assert part.num_valid_tokens == whole.num_valid_tokens


def test_parts_hold_rows_of_like_length_and_are_the_same_work_for_all_processes():
    config = dataclasses.replace(CONFIG, accumulation=4)
    lengths = [[part.valid.sum(1) for part in Batches(TASK, config, 0, rank=rank, world=2).step(1)] for rank in (0, 1)]
    for earlier, later in pairwise([torch.cat(pair) for pair in zip(*lengths, strict=True)]):
        assert earlier.max() <= later.min()
    (whole,) = parts(CONFIG, step=1)
    assert sum(part.numel() * int(part.max()) for rank in lengths for part in rank) < whole.input_ids.numel()


def test_a_step_reads_the_rows_after_those_of_the_step_before():
    rows = TASK.rows(seed=CONFIG.seed, stream="train", start=2 * 24, count=24)
    (batch,) = parts(CONFIG, step=3)
    assert np.array_equal(batch.input_ids.numpy(), rows.input_ids)
    assert np.array_equal(batch.labels.numpy(), rows.labels)
    assert np.array_equal(batch.valid.sum(1).numpy(), rows.lengths)
    assert batch.num_answer_tokens == (rows.labels != -100).sum()
    assert batch.num_valid_tokens == rows.lengths.sum()


def test_noise_belongs_to_seed_step_row_and_position():
    (batch,) = parts(CONFIG, step=3)
    noise = uniform_noise(
        seed=3, step=3, rows=torch.arange(48, 72), positions=torch.arange(batch.input_ids.shape[1]), width=WIDTH
    )
    assert torch.equal(batch.noise, noise)


def test_a_policy_without_noise_gets_none():
    (batch,) = Batches(TASK, CONFIG, 0).step(1)
    assert batch.noise is None


def test_padding_changes_nothing_but_the_width():
    """A compiled graph wants few lengths; rows and noise are the same as without."""
    (plain,) = parts(CONFIG)
    (padded,) = parts(dataclasses.replace(CONFIG, compile=True))
    longest, width = plain.input_ids.shape[1], padded.input_ids.shape[1]
    assert width == min(length for length in padded_lengths(CONFIG.max_length) if length >= longest)
    assert torch.equal(padded.input_ids[:, :longest], plain.input_ids)
    assert torch.equal(padded.noise[:, :longest], plain.noise)
    assert not padded.input_ids[:, longest:].any()
    assert (padded.labels[:, longest:] == -100).all()
    assert not padded.valid[:, longest:].any()


@given(st.integers(1, 5000))
def test_padded_lengths_are_few_and_close(max_length):
    lengths = padded_lengths(max_length)
    assert lengths[-1] == max_length
    assert lengths == sorted(set(lengths))
    assert lengths[0] <= 24
    assert all(after <= 1.5 * before for before, after in pairwise(lengths))
    assert len(lengths) <= 15


def test_a_row_that_is_too_long_is_an_error_that_says_what_to_change():
    config = dataclasses.replace(CONFIG, max_length=12)
    with pytest.raises(UserError, match=r"a row of \d+ tokens does not fit max_length 12: give --max-length \d+"):
        parts(config)


def test_a_batch_that_cannot_be_split_is_refused():
    with pytest.raises(UserError, match="batch_size 24 must be a multiple of processes x accumulation, 5 x 1"):
        Batches(TASK, CONFIG, 0, world=5)
