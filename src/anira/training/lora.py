"""LoRA: small trained matrices beside frozen ones, put into the model in place, so that nothing else knows of them."""

import warnings
from typing import Any, Final

import torch

from anira.config import UserError, how_to_install
from anira.models import AniraForCausalLM

_TARGETS: Final = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
_MARK: Final = "lora_"


def add_adapters(model: AniraForCausalLM, rank: int, seed: int = 0) -> AniraForCausalLM:
    """Give every matrix of the layers an adapter of this rank; trained are then adapters and policy, and nothing else.

    The model computes what it did: an adapter begins at zero. Rank 0 changes nothing.
    """
    if not rank:
        return model
    peft = _need_peft()
    config = peft.LoraConfig(r=rank, lora_alpha=2 * rank, target_modules=list(_TARGETS))
    # Without devices: an adapter is drawn where its model is, on the CPU, whatever else there is.
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        torch.manual_seed(seed)
        warnings.simplefilter("ignore")  # peft's advice on models that it wraps; ours is not wrapped
        peft.inject_adapter_in_model(config, model)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(_MARK in name or name.startswith("policy."))
        if _MARK in name and not parameter.is_meta:
            parameter.data = parameter.data.to(model.dtype)
    return model


def merge_adapters(model: AniraForCausalLM) -> AniraForCausalLM:
    """Return a model without adapters that computes what it did with them."""
    found = [name for name, _ in model.named_parameters() if _MARK in name]
    if not found:
        return model
    from peft.tuners.tuners_utils import BaseTunerLayer

    for name, module in list(model.named_modules()):
        if isinstance(module, BaseTunerLayer):
            module.merge()
            model.set_submodule(name, module.get_base_layer())
    return model


def _need_peft() -> Any:
    try:
        import peft
    except ImportError:
        raise UserError(f"--lora needs peft: {how_to_install('text')}") from None
    return peft
