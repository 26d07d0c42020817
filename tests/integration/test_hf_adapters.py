"""PEFT and quantisation: every part of the model is called as a module, so that adapters take its place."""

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from tests.models_support import noise_for, random_ids, small_config, spread_case
from torch import Tensor, nn

from anira.models import AniraForCausalLM

IDS = random_ids(2, 10)
POLICIES = ["anira-e", "anira-o"]


def model_of(policy: str, **changes: Any) -> AniraForCausalLM:
    return spread_case(small_config(policy, **changes)).model


def adapted(model: AniraForCausalLM, **options: Any) -> PeftModel:
    """Return a model with adapters that change it, in float64."""
    wrapped = get_peft_model(model, LoraConfig(r=2, **options))
    generator = torch.Generator().manual_seed(0)
    for name, parameter in wrapped.named_parameters():
        if "lora_" in name:
            parameter.data.normal_(0, 0.5, generator=generator)
    return wrapped.double()


def train_once(model: PeftModel, noise: Tensor | None = None) -> set[str]:
    """Return the names of the parameters that a loss reaches."""
    model.train()(input_ids=IDS, labels=IDS, noise=noise).loss.backward()
    return {name for name, parameter in model.named_parameters() if parameter.grad is not None and parameter.grad.any()}


@pytest.mark.parametrize("task_type", [None, "CAUSAL_LM"])
@pytest.mark.parametrize("policy", POLICIES)
def test_lora_learns_its_own_weights_only(policy: str, task_type: str | None) -> None:
    base = model_of(policy)
    plain = base(IDS).logits
    model = adapted(base, target_modules=["q_proj", "v_proj"], task_type=task_type)
    assert train_once(model) == {name for name, _ in model.named_parameters() if "lora_" in name}
    model.eval()
    whole = model(input_ids=IDS).logits
    assert not torch.allclose(whole, plain)
    torch.testing.assert_close(model(input_ids=IDS, use_cache=True).logits, whole, rtol=0, atol=1e-9)
    cached, uncached = (model.generate(input_ids=IDS, max_new_tokens=8, use_cache=use) for use in (True, False))
    assert torch.equal(cached, uncached)


@pytest.mark.parametrize("policy", POLICIES)
def test_lora_reaches_the_decider_and_merges(policy: str) -> None:
    base = model_of(policy)
    plain = base(IDS)
    model = adapted(base, target_modules=["decider.up", "decider.out"], task_type="CAUSAL_LM")
    assert train_once(model, noise_for(base, IDS)) == {name for name, _ in model.named_parameters() if "lora_" in name}
    model.eval()
    changed = model(input_ids=IDS)
    assert not torch.allclose(changed.exit_log_probs, plain.exit_log_probs)
    merged = model.merge_and_unload()(IDS)
    torch.testing.assert_close(merged.exit_log_probs, changed.exit_log_probs, rtol=0, atol=1e-9)
    torch.testing.assert_close(merged.logits, changed.logits, rtol=0, atol=1e-9)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_policy_can_be_trained_whole_beside_lora(policy: str, tmp_path: Path) -> None:
    base = model_of(policy)
    original = copy.deepcopy(base)
    model = adapted(base, target_modules=["q_proj"], modules_to_save=["policy"], task_type="CAUSAL_LM")
    reached = train_once(model, noise_for(original, IDS))
    assert any("modules_to_save" in name for name in reached)
    assert not any("original_module" in name for name in reached)
    with torch.no_grad():
        for parameter in model.base_model.model.policy.modules_to_save["default"].parameters():
            parameter.add_(0.5)
    model.eval()
    trained = model(input_ids=IDS)
    assert not torch.allclose(trained.exit_log_probs, original(IDS).exit_log_probs)
    torch.testing.assert_close(model(input_ids=IDS, use_cache=True).logits, trained.logits, rtol=0, atol=1e-9)
    with model.disable_adapter():
        torch.testing.assert_close(model(input_ids=IDS).logits, original(IDS).logits, rtol=0, atol=1e-9)
    model.save_pretrained(tmp_path)
    again = PeftModel.from_pretrained(original, tmp_path).double().eval()
    torch.testing.assert_close(again(input_ids=IDS).logits, trained.logits, rtol=0, atol=1e-9)


@pytest.mark.filterwarnings("ignore:torch.ao.quantization:DeprecationWarning", "ignore:torch.quantize_per:UserWarning")
@pytest.mark.parametrize("policy", POLICIES)
def test_dynamic_quantisation_runs_and_stays_near(policy: str) -> None:
    model = model_of(policy).float()
    quantised = torch.ao.quantization.quantize_dynamic(copy.deepcopy(model), {nn.Linear}, dtype=torch.qint8)
    assert not isinstance(quantised.policy.decider.up, nn.Linear)
    forced = {"exit_depth": model(IDS).exit_depth}  # rounding may move a depth, and with it everything
    near, exact = quantised(IDS, **forced).logits, model(IDS, **forced).logits
    assert (near - exact).abs().mean() < 0.2 * exact.abs().mean()
    assert quantised.generate(IDS, max_new_tokens=4, do_sample=False).shape == (2, 14)
