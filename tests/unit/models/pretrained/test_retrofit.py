"""A stock decoder, cut and looped: the original where it must be, and a record of where each layer came from."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    PreTrainedModel,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from anira.config import UserError
from anira.models import AniraForCausalLM
from anira.models.pretrained import Cut, retrofit

SIZES = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 6,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}
MODELS: dict[str, Any] = {
    "llama": lambda: LlamaForCausalLM(LlamaConfig(**SIZES)),
    "llama-tied-biased": lambda: LlamaForCausalLM(
        LlamaConfig(**SIZES, tie_word_embeddings=True, attention_bias=True, mlp_bias=True)
    ),
    "qwen2": lambda: Qwen2ForCausalLM(Qwen2Config(**SIZES)),
    "qwen3": lambda: Qwen3ForCausalLM(Qwen3Config(**SIZES, head_dim=16)),
    "mistral": lambda: MistralForCausalLM(MistralConfig(**SIZES, sliding_window=None)),
}
WHOLE = Cut(range(2), range(2, 4), range(4, 6))
IDS = torch.randint(64, (2, 11), generator=torch.Generator().manual_seed(0))


def saved(name: str, folder: Path) -> PreTrainedModel:
    torch.manual_seed(0)
    model: PreTrainedModel = MODELS[name]().eval()
    with torch.no_grad():
        for parameter in model.parameters():  # biases of 0 and norms of 1 would hide what is left out
            parameter.normal_(1.0 if parameter.dim() == 1 else 0.0, 0.2)
    model.save_pretrained(folder)
    return model


def logits(model: Any, **how: Any) -> Tensor:
    with torch.no_grad():
        out: Tensor = model(IDS, **how).logits
    return out


@pytest.mark.parametrize("name", MODELS)
def test_one_iteration_is_the_original_to_the_last_bit(name: str, tmp_path: Path) -> None:
    original = logits(saved(name, tmp_path))
    for injection in ("none", "concat-linear"):
        model = retrofit(tmp_path, WHOLE, max_depth=3, policy="fixed", injection=injection)
        assert torch.equal(logits(model, max_depth=1), original)
        assert not torch.equal(logits(model), original)
    model.save_pretrained(tmp_path / "ours")
    again = AniraForCausalLM.from_pretrained(tmp_path / "ours")
    assert torch.equal(logits(again), logits(model))


@pytest.mark.parametrize("name", ["qwen2", "qwen3"])
def test_decoding_is_exact_after_surgery(name: str, tmp_path: Path) -> None:
    saved(name, tmp_path)
    model = retrofit(tmp_path, WHOLE, max_depth=3, policy="anira-o").double()
    with torch.no_grad():
        model.policy.decider.out.weight.normal_(0, 2.0)
        whole, past, parts = model(IDS), None, []
        for t in range(IDS.shape[1]):
            out = model(IDS[:, t : t + 1], past_key_values=past, use_cache=True)
            past = out.past_key_values
            parts.append(out.logits)
    assert len(whole.exit_depth.unique()) > 1
    torch.testing.assert_close(torch.cat(parts, 1), whole.logits, rtol=0, atol=1e-9)


def test_layers_that_are_left_out_are_recorded(tmp_path: Path) -> None:
    original = saved("llama", tmp_path)
    model = retrofit(tmp_path, Cut(range(1), range(2, 5), range(5, 6)), max_depth=2, policy="fixed", injection="none")
    origin = model.config.origin
    assert origin is not None and origin["family"] == "llama"
    assert origin["layers"] == {"prelude": [0], "core": [2, 3, 4], "coda": [5], "left_out": [1]}
    theirs: Any = original
    for part, layers in origin["layers"].items():
        for place, layer in enumerate(layers) if part != "left_out" else []:
            ours = getattr(model.model, part)[place].state_dict()
            assert all(torch.equal(t, ours[n]) for n, t in theirs.model.layers[layer].state_dict().items())


@pytest.mark.parametrize(
    ("cut", "message"),
    [
        (Cut(range(2), range(0), range(2, 6)), "at least one layer"),
        (Cut(range(3), range(2, 4), range(4, 6)), "different layers in this order"),
        (Cut(range(2), range(2, 4), range(4, 7)), "layers 0 to 5, not 6"),
    ],
)
def test_impossible_cuts(cut: Cut, message: str, tmp_path: Path) -> None:
    saved("llama", tmp_path)
    with pytest.raises(UserError, match=message):
        retrofit(tmp_path, cut)


def test_what_cannot_be_cut_is_refused(tmp_path: Path) -> None:
    MistralConfig(**SIZES, sliding_window=8).save_pretrained(tmp_path)
    with pytest.raises(UserError, match="sliding window of 8"):
        retrofit(tmp_path, WHOLE)
    (tmp_path / "config.json").write_text('{"model_type": "gpt2"}')
    with pytest.raises(UserError, match="model_type 'gpt2' cannot be cut"):
        retrofit(tmp_path, WHOLE)
