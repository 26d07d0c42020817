"""Every policy trains to the same losses however its step is computed: in parts, by two processes, in bfloat16."""

import json
import os
import socket

import pytest
import torch
from tests.training_support import SERVER, assert_close_runs, begin, metrics, resume, tiny_config

from anira.models.policies import policy_class, policy_names
from anira.models.precision import cpu_runs_bfloat16  # noqa: F401 (in a condition: the answer costs a child process)

OURS = [name for name in policy_names() if policy_class(name).__module__.startswith("anira.")]
SHORT = {"steps": 2, "log_every": 1, "eval_every": 100, "checkpoint_every": 100, "eval_count": 1, "final_count": 1}


def config(policy, **changes):
    """Words of several lengths, so that the parts of a batch have different numbers of tokens."""
    task = {"group": "S3", "min_letters": 4, "max_letters": 5}
    return tiny_config(f"words-{policy}-smoke", task_config=task, **{"precision": "float64", **SHORT, **changes})


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The run of each policy in one process, one part per batch."""
    root = tmp_path_factory.mktemp("alone")
    return {name: resume(begin(root, config(name))) for name in OURS}


@pytest.mark.parametrize("name", OURS)
def test_parts_of_a_batch_give_the_losses_of_the_whole(tmp_path, alone, name):
    assert_close_runs(alone[name], resume(begin(tmp_path, config(name, accumulation=2))), tolerance=1e-9)


def _train_all(rank, port, paths):
    os.environ |= {"ACCELERATE_USE_CPU": "true", "WORLD_SIZE": "2", "RANK": str(rank), "LOCAL_RANK": str(rank)}
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    torch.set_num_threads(1)
    for path in paths:
        resume(path)


@pytest.mark.slow
def test_two_processes_give_the_losses_of_one(tmp_path, alone):
    paths = {name: begin(tmp_path, config(name)) for name in OURS}
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        port = server.getsockname()[1]
    both = [SERVER.Process(target=_train_all, args=(rank, port, list(paths.values()))) for rank in range(2)]
    for process in both:
        process.start()
    for process in both:
        process.join()
    assert [process.exitcode for process in both] == [0, 0]
    for name, path in paths.items():
        assert_close_runs(alone[name], path, tolerance=1e-9)


@pytest.mark.skipif("not cpu_runs_bfloat16()", reason="this CPU cannot compute in bfloat16")
@pytest.mark.parametrize("name", OURS)
def test_half_precision_gives_about_the_same_losses(tmp_path, alone, name):
    rough = metrics(resume(begin(tmp_path, config(name, precision="bfloat16"))), "train")[0]
    exact = metrics(alone[name], "train")[0]
    parts = [key for key, value in exact.items() if isinstance(value, float) and key in ("loss", "ce", "compute")]
    assert json.dumps(rough) != json.dumps(exact)
    assert {key: rough[key] for key in parts} == pytest.approx({key: exact[key] for key in parts}, rel=0.05, abs=1e-3)
