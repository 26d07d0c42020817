import subprocess
import sys

import pytest
import torch

from anira.cli.memory import keep_freed_memory


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


@pytest.mark.slow
def test_the_package_leaves_the_process_as_it_is(tmp_path):
    """Importing all of it, evaluating and decoding: only commands change how memory is given back."""
    code = """
import ctypes, torch
class Library:
    def __getattr__(self, name):
        raise AssertionError("asked the C library for " + name)
asked = ctypes.CDLL
ctypes.CDLL = lambda name, *rest, **more: Library() if name is None else asked(name, *rest, **more)
threads = torch.get_num_threads()
import anira.evaluation, anira.measure, anira.paper.figures, anira.inference
import anira.models, anira.site.report, anira.tasks, anira.training
from pathlib import Path
from anira.evaluation import EvaluationConfig, Subject, evaluate
from anira.models import AniraConfig, AniraForCausalLM
task = anira.make_task("mano")
sizes = {"hidden_size": 16, "intermediate_size": 16, "num_attention_heads": 2}
model = AniraForCausalLM(AniraConfig(vocab_size=len(task.vocab), **sizes))
state = torch.get_rng_state()
model.eval().generate(torch.tensor([[1, 2]]), max_new_tokens=2)
subject = Subject(run_id="x", step=0, variant="anira-e", seed=0)
evaluate(model, task, EvaluationConfig(knobs=(2,), count=5), subject, Path("records"))
assert torch.get_num_threads() == threads
assert torch.equal(torch.get_rng_state(), state)
assert not torch.are_deterministic_algorithms_enabled()
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
