"""Hooks, offloading and sharding: layers are called as modules in every way the model is run."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate import cpu_offload, disk_offload
from tests.models_support import random_ids, small_config, spread_case

from anira.models import AniraForCausalLM

IDS = random_ids(2, 10)
MODELS: dict[str, dict[str, Any]] = {
    "anira-e": {"policy": "anira-e"},
    "anira-o": {"policy": "anira-o", "num_core_layers": 2},
    "fixed": {"policy": "fixed"},
}


def model_of(name: str) -> AniraForCausalLM:
    return spread_case(small_config(**MODELS[name])).model


@pytest.mark.parametrize("name", MODELS)
def test_hooks_of_core_layers_fire_once_per_executed_iteration(name: str) -> None:
    """In the parallel graph, in prefill and in decode; a hook sees the state of the tokens that run."""
    model, fired, tokens = model_of(name), Counter[str](), Counter[str]()
    for key in ("prelude", "core", "coda"):
        for layer in getattr(model.model, key):

            def note(module: Any, args: Any, output: torch.Tensor, key: str = key) -> None:
                fired[key] += 1
                tokens[key] += output.shape[0] * output.shape[1]

            layer.register_forward_hook(note)
    layers = model.config.num_core_layers
    model(IDS)
    assert fired == {"prelude": 1, "core": 5 * layers, "coda": 1}
    for sizes in ([10], [1] * 10):
        fired.clear(), tokens.clear()
        cache, executed = None, 0
        for part in IDS.split(sizes, dim=1):
            out = model(part, past_key_values=cache, use_cache=True)
            cache, executed = out.past_key_values, executed + int(out.executed.sum())
        assert fired["prelude"] == fired["coda"] == len(sizes)
        assert tokens["core"] == layers * executed


def test_a_hook_can_change_what_a_core_layer_computes() -> None:
    """Steering and activation patching see the same model with and without a cache."""
    model = model_of("anira-e")
    plain = model(IDS).logits
    model.model.core[0].register_forward_hook(lambda module, args, output: output * 1.5)
    whole = model(IDS).logits
    assert not torch.allclose(whole, plain)
    torch.testing.assert_close(model(IDS, use_cache=True).logits, whole, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("where", ["cpu", "disk"])
def test_offloaded_weights_are_fetched_when_needed(name: str, where: str, tmp_path: Path) -> None:
    model = model_of(name)
    expected, text = model(IDS).logits, model.generate(IDS, max_new_tokens=4, do_sample=False)
    if where == "cpu":
        cpu_offload(model, execution_device=torch.device("cpu"))
    else:
        disk_offload(model, tmp_path, execution_device=torch.device("cpu"))
    assert {parameter.device.type for parameter in model.parameters()} == {"meta"}
    torch.testing.assert_close(model(IDS).logits, expected, rtol=0, atol=1e-9)
    assert torch.equal(model.generate(IDS, max_new_tokens=4, do_sample=False), text)


def test_a_device_map_may_leave_the_policy_on_disk(tmp_path: Path) -> None:
    model = model_of("anira-o")
    expected = model(IDS).logits
    model.save_pretrained(tmp_path / "saved")
    places = {"model": "cpu", "lm_head": "cpu", "policy": "disk"}
    loaded = AniraForCausalLM.from_pretrained(tmp_path / "saved", device_map=places, offload_folder=tmp_path / "off")
    torch.testing.assert_close(loaded(IDS).logits, expected, rtol=0, atol=1e-9)
    cached, plain = (loaded.generate(IDS, max_new_tokens=4, use_cache=use) for use in (True, False))
    assert torch.equal(cached, plain)


@pytest.mark.parametrize("name", MODELS)
def test_a_sharded_model_generates(name: str, tmp_path: Path) -> None:
    """FSDP2 gathers a layer's parameters when the layer is called; exit states are projected outside of a call."""
    model = model_of(name)
    text = model.generate(IDS, max_new_tokens=4, do_sample=False)
    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path / 'store'}", rank=0, world_size=1)
    try:
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        mesh = init_device_mesh("cpu", (1,))
        for layer in (*model.model.prelude, *model.model.core, *model.model.coda):
            fully_shard(layer, mesh=mesh, reshard_after_forward=True)
        fully_shard(model, mesh=mesh)
        assert torch.equal(model.generate(IDS, max_new_tokens=4, do_sample=False), text)
    finally:
        torch.distributed.destroy_process_group()
