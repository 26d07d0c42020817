"""The plain transformer (fixed policy, unshared core) is a stock Llama with as many layers."""

import re
from typing import Any

import pytest
import torch
from tests.models_support import Case, random_ids, random_model, small_config
from transformers import LlamaConfig, LlamaForCausalLM

from anira.models import AniraForCausalLM

SIZES: list[dict[str, Any]] = [
    {"num_attention_heads": 4, "num_key_value_heads": 2},
    {"num_core_layers": 2, "num_prelude_layers": 2, "num_coda_layers": 0, "tie_word_embeddings": True},
    {"attention_bias": True, "mlp_bias": True, "rope_parameters": {"rope_type": "default", "rope_theta": 500.0}},
]


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

    twin = LlamaForCausalLM(config).eval()
    twin.load_state_dict({renamed(name): value for name, value in model.state_dict().items()})
    return twin


@pytest.mark.parametrize("sizes", SIZES)
def test_a_plain_transformer_is_a_stock_llama(sizes: dict[str, Any]) -> None:
    model, ids = random_model(small_config("fixed", shared_core=False, **sizes)).float(), random_ids(3, 12)
    expected = stock_twin(model)(ids).logits
    for logits in (model(ids).logits, Case(model, ids).one_by_one().logits, Case(model, ids).cached([12]).logits):
        torch.testing.assert_close(logits, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("sizes", SIZES)
def test_a_recurrent_model_of_depth_one_is_a_stock_llama_too(sizes: dict[str, Any]) -> None:
    model, ids = random_model(small_config("fixed", max_depth=1, **sizes)).float(), random_ids(3, 12)
    torch.testing.assert_close(model(ids).logits, stock_twin(model)(ids).logits, rtol=1e-4, atol=1e-5)
