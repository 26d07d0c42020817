"""An error for want of memory while slots are moved: the books stay right, so that no two tokens get the same slot."""

import numpy as np
import pytest
import torch

from anira.models import slots
from anira.models.slots import SlotStore


def store_with(*lengths: int) -> SlotStore:
    """Rows of so many tokens, in one layer and one iteration."""
    store = SlotStore(num_layers=1, max_depth=1, num_rows=len(lengths))
    for row, length in enumerate(lengths):
        taken = store.allocate(1, np.full(length, row), np.arange(length), onwards=True)
        store.put(0, torch.from_numpy(taken), torch.zeros(length, 1, 2), torch.zeros(length, 1, 2))
    return store


def assert_empty_after_release(store: SlotStore) -> None:
    for row in range(store.num_rows):
        store.release(row)
    assert store.used == 0
    assert len(np.unique(store._free)) == len(store._free)


def no_memory(*_: object) -> None:
    raise RuntimeError("out of memory")


def test_when_pools_shrink(monkeypatch):
    store = store_with(200, 4)
    monkeypatch.setattr(slots, "on_device", no_memory)
    with pytest.raises(RuntimeError, match="out of memory"):
        store.select(np.array([1]))
    assert_empty_after_release(store)


def test_when_the_second_of_two_rows_settles(monkeypatch):
    store, settled, done = store_with(5, 5), SlotStore._settled, []

    def once(self, *words):
        if done:
            no_memory()
        done.append(1)
        return settled(self, *words)

    monkeypatch.setattr(SlotStore, "settle_after", 2)
    monkeypatch.setattr(SlotStore, "_settled", once)
    with pytest.raises(RuntimeError, match="out of memory"):
        store.settle(np.array([5, 5]))
    assert_empty_after_release(store)
