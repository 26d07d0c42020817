"""A model in parts: here one process has the only part, but all else is as with many."""

import copy
from types import SimpleNamespace

import pytest
import torch
import torch.distributed as dist
from tests.training_support import tiny_config
from torch.distributed.tensor import DTensor

from anira.config import UserError
from anira.models import AniraForCausalLM, uniform_noise
from anira.models.precision import cpu_runs_bfloat16  # noqa: F401 (in a condition: the answer costs a child process)
from anira.training.checkpoint import load_checkpoint, save_checkpoint
from anira.training.sharding import follow, gathered, leading, shard, sharding_wanted, spread_like


@pytest.fixture(autouse=True)
def group(monkeypatch):
    """A run of one process that `accelerate launch` was told to shard."""
    monkeypatch.setenv("ACCELERATE_USE_FSDP", "true")
    monkeypatch.setenv("FSDP_VERSION", "2")
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def pair(name="mano-anira-o-smoke", half=False, **options):
    """Return a model twice: as it is, and sharded."""
    torch.manual_seed(0)
    config = tiny_config(name, model=options)
    model = AniraForCausalLM(config.make_model_config(config.make_task()))
    sharded = copy.deepcopy(model)
    shard(sharded, SimpleNamespace(device=torch.device("cpu"), num_processes=1), half=half)
    return model, sharded


def loss(model, count=301.0):
    ids = torch.arange(24).view(3, 8) % 9
    size = {"rows": torch.arange(3), "positions": torch.arange(8)}
    noise = uniform_noise(seed=0, step=1, **size, width=model.policy.noise_width)
    return model(ids, labels=ids, noise=noise, num_answer_tokens=torch.tensor(count)).loss


def optimizer_after_a_step(model):
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    loss(model).backward()
    optimizer.step()
    optimizer.zero_grad()
    return optimizer


def test_no_group_of_processes_no_sharding(monkeypatch):
    assert sharding_wanted()
    monkeypatch.setenv("ACCELERATE_USE_FSDP", "false")
    assert not sharding_wanted()


@pytest.mark.parametrize("options", [{}, {"num_core_layers": 2}, {"tie_word_embeddings": True}])
def test_gradients_of_a_core_that_runs_many_times(options):
    model, sharded = pair(**options)
    assert all(isinstance(parameter, DTensor) for parameter in sharded.parameters())
    for each in (model, sharded):
        loss(each).backward()
    for (name, one), other in zip(model.named_parameters(), sharded.parameters(), strict=True):
        torch.testing.assert_close(other.grad.full_tensor(), one.grad, msg=name)


@pytest.mark.parametrize("checkpointing", ["false", "true"])
def test_activation_checkpointing_changes_nothing(monkeypatch, checkpointing):
    monkeypatch.setenv("FSDP_ACTIVATION_CHECKPOINTING", checkpointing)
    model, sharded = pair()
    assert sharded.is_gradient_checkpointing == (checkpointing == "true")
    loss(sharded.train()).backward()
    loss(model.train()).backward()
    name = "model.core.0.self_attn.q_proj.weight"
    torch.testing.assert_close(sharded.get_parameter(name).grad.full_tensor(), model.get_parameter(name).grad)


@pytest.mark.skipif("not cpu_runs_bfloat16()", reason="this CPU cannot compute in bfloat16")
def test_only_layers_are_gathered_in_bfloat16():
    """Counts and noise keep their digits (301 is 302 in bfloat16), and so do the decider's weights."""
    model, sharded = pair(half=True)
    types = {}

    def note(layer, args):
        types.update(layer=layer.weight.dtype, decider=sharded.policy.decider.up.weight.dtype)

    sharded.model.core[0].mlp.up_proj.register_forward_pre_hook(note)
    with torch.autocast("cpu", torch.bfloat16):
        expected, value = loss(model), loss(sharded)
    assert types == {"layer": torch.bfloat16, "decider": torch.float32}
    assert value.dtype == torch.float32
    torch.testing.assert_close(value, expected, rtol=2e-3, atol=0)
    value.backward()
    assert all(parameter.grad.dtype == torch.float32 for parameter in sharded.parameters())


def test_a_checkpoint_of_parts_is_the_checkpoint_of_the_whole(tmp_path):
    vocab, loop = tiny_config().make_task().vocab, {"config_hash": "h", "step": 1}
    whole, parts, again = (tmp_path / name / "step-1" for name in ("whole", "parts", "again"))
    for folder, model in zip((whole, parts), pair(tie_word_embeddings=True), strict=True):
        save_checkpoint(folder, model, optimizer_after_a_step(model), vocab, loop)
    for file in whole.iterdir():
        assert (parts / file.name).read_bytes() == file.read_bytes(), file.name
    _, blank = pair(tie_word_embeddings=True)
    optimizer = torch.optim.AdamW(blank.parameters(), fused=True)
    load_checkpoint(whole, blank, optimizer, "h")
    save_checkpoint(again, blank, optimizer, vocab, loop)
    assert (again / "manifest.json").read_bytes() == (whole / "manifest.json").read_bytes()


def test_who_does_not_keep_gets_nothing():
    _, sharded = pair()
    assert gathered(dict(sharded.named_parameters()), keep=False) == {}
    whole = gathered(dict(sharded.named_parameters()), keep=True)
    name, parameter = next(sharded.named_parameters())
    assert not isinstance(whole[name], DTensor)
    assert isinstance(spread_like(whole[name], parameter), DTensor)
    assert not isinstance(spread_like(torch.tensor(3.0), parameter), DTensor)  # the optimizer's count of steps


def test_calls_are_told_to_those_who_follow(monkeypatch):
    _, sharded = pair()
    told = []
    monkeypatch.setattr("anira.training.sharding.broadcast_object_list", told.extend)
    ids = torch.tensor([[1, 2, 3]])
    with torch.no_grad(), leading(sharded):
        sharded(ids, select="mode")
    assert told.pop() is None
    [(args, kwargs)] = told
    assert torch.equal(args[0], ids)
    assert kwargs == {"select": "mode"}
    assert all(isinstance(parameter, DTensor) for parameter in sharded.parameters())  # nothing is left gathered

    calls = iter([((ids,), {}), ((ids,), {}), None])
    monkeypatch.setattr("anira.training.sharding.broadcast_object_list", lambda _: [next(calls)])
    seen = []
    sharded.train().register_forward_hook(lambda module, args, output: seen.append(module.training))
    follow(sharded)
    assert seen == [False, False]
    assert sharded.training


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("FSDP_VERSION", "1", "fsdp_version: 2"),
        ("FSDP_OFFLOAD_PARAMS", "true", "offloading is not supported"),
    ],
)
def test_what_cannot_be_done_is_refused(monkeypatch, name, value, reason):
    monkeypatch.setenv(name, value)
    with pytest.raises(UserError, match=reason):
        pair()
