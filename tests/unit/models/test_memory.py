import sys

import pytest
import torch

from anira.models.memory import keep_freed_memory


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="mallopt is a function of glibc")
def test_freed_memory_is_kept_on_linux_and_tensors_are_as_before():
    assert keep_freed_memory()
    assert keep_freed_memory()  # a second call asks nothing
    assert torch.ones(1 << 20).sum() == 1 << 20


def test_without_the_function_nothing_happens(monkeypatch):
    class Library:
        def __getattr__(self, name):
            raise AttributeError(name)

    monkeypatch.setattr("ctypes.CDLL", lambda name: Library())
    assert keep_freed_memory.__wrapped__() is False
