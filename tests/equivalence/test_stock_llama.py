"""The plain transformer (fixed policy, unshared core) is a stock Llama with as many layers, in float64.

In float32 the two differ by what the CPU's kernels round, and that is another number on every machine.
"""

import re
from typing import Any

import pytest
import torch
from tests.models_support import TOLERANCE, Case, random_ids, random_model, small_config
from torch import Tensor, nn
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.models.llama.modeling_llama import LlamaRMSNorm

from anira.models import AniraForCausalLM

SIZES: list[dict[str, Any]] = [
    {"num_attention_heads": 4, "num_key_value_heads": 2},
    {"num_core_layers": 2, "num_prelude_layers": 2, "num_coda_layers": 0, "tie_word_embeddings": True},
    {"attention_bias": True, "mlp_bias": True, "rope_parameters": {"rope_type": "default", "rope_theta": 500.0}},
]


def without_casts(llama: LlamaForCausalLM) -> LlamaForCausalLM:
    """Put torch's own norm in place of Llama's, which computes in float32 whatever it is given."""
    for name, norm in list(llama.named_modules()):
        if isinstance(norm, LlamaRMSNorm):
            llama.set_submodule(name, nn.RMSNorm(norm.weight.shape, norm.variance_epsilon))
    return llama


def assert_equal_logits(one: Tensor, other: Tensor) -> None:
    torch.testing.assert_close(one, other, rtol=0, atol=TOLERANCE)


def stock_twin(model: AniraForCausalLM) -> LlamaForCausalLM:
    """Return a Llama with the same weights: prelude, core and coda are its layers, in this order."""
    sizes = ("vocab_size", "hidden_size", "intermediate_size", "num_attention_heads", "num_key_value_heads")
    others = ("num_hidden_layers", "rope_parameters", "attention_bias", "mlp_bias", "tie_word_embeddings")
    config = LlamaConfig(**{name: getattr(model.config, name) for name in sizes + others})
    first = {"prelude": 0, "core": len(model.model.prelude), "coda": len(model.model.prelude) + len(model.model.core)}

    def renamed(name: str) -> str:
        return re.sub(
            r"^model\.(prelude|core|coda)\.(\d+)\.",
            lambda match: f"model.layers.{first[match[1]] + int(match[2])}.",
            name,
        )

    twin = without_casts(LlamaForCausalLM(config)).double().eval()
    twin.load_state_dict({renamed(name): value for name, value in model.state_dict().items()})
    return twin


def test_torch_has_the_norm_of_llama() -> None:
    """What `without_casts` exchanges is equal in float32, up to a few roundings."""
    x, norm = torch.randn(5, 16, generator=torch.Generator().manual_seed(0)), LlamaRMSNorm(16, 1e-3)
    torch.testing.assert_close(nn.RMSNorm(16, 1e-3)(x), norm(x))


@pytest.mark.parametrize("sizes", SIZES)
def test_a_plain_transformer_is_a_stock_llama(sizes: dict[str, Any]) -> None:
    model, ids = random_model(small_config("fixed", shared_core=False, **sizes)), random_ids(3, 12)
    expected = stock_twin(model)(ids).logits
    for logits in (model(ids).logits, Case(model, ids).one_by_one().logits, Case(model, ids).cached([12]).logits):
        assert_equal_logits(logits, expected)


@pytest.mark.parametrize("sizes", SIZES)
def test_a_recurrent_model_of_depth_one_is_a_stock_llama_too(sizes: dict[str, Any]) -> None:
    model, ids = random_model(small_config("fixed", max_depth=1, **sizes)), random_ids(3, 12)
    assert_equal_logits(model(ids).logits, stock_twin(model)(ids).logits)
