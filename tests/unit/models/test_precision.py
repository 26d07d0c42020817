import subprocess
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
import torch

from anira.config import UserError
from anira.models import precision

CPU, GPU = torch.device("cpu"), torch.device("cuda")


@pytest.fixture
def trial(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """Stand in for the child process: its exit status, and how often it was asked."""
    answer = SimpleNamespace(returncode=0, calls=0)

    def run(*args: object, **options: object) -> SimpleNamespace:
        answer.calls += 1
        return answer

    monkeypatch.setattr(subprocess, "run", run)
    precision.cpu_runs_bfloat16.cache_clear()
    yield answer
    precision.cpu_runs_bfloat16.cache_clear()


def test_the_default_depends_on_the_device(trial: SimpleNamespace) -> None:
    assert precision.choose_dtype(None, CPU) == torch.float32
    assert precision.choose_dtype(None, GPU) == torch.bfloat16
    assert precision.choose_dtype("float32", GPU) == torch.float32
    assert trial.calls == 0


def test_a_cpu_that_can_do_it_is_asked_once(trial: SimpleNamespace) -> None:
    assert [precision.choose_dtype("bfloat16", CPU) for _ in range(3)] == [torch.bfloat16] * 3
    assert trial.calls == 1


def test_a_cpu_that_dies_of_it_is_refused_with_advice(trial: SimpleNamespace) -> None:
    trial.returncode = -4
    with pytest.raises(UserError, match=r"cannot compute in bfloat16 .*: use float32"):
        precision.choose_dtype("bfloat16", CPU)
