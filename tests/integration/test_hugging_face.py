"""What people do with a Hugging Face model: generate, save, load, train, adapt."""

from pathlib import Path
from typing import Any

import pytest
import torch
from tests.models_support import left_padding, noise_for, random_ids, random_model, small_config, spread_case
from torch import Tensor
from transformers import AutoConfig, AutoModelForCausalLM, DynamicCache
from transformers.utils import logging as hf_logging

from anira.config import UserError
from anira.models import AniraConfig, AniraForCausalLM, DepthCache

hf_logging.disable_progress_bar()

MODELS: dict[str, dict[str, Any]] = {
    "anira-e": {"policy": "anira-e"},
    "anira-o": {"policy": "anira-o", "num_core_layers": 2, "injection": "add"},
    "fixed": {"policy": "fixed", "num_prelude_layers": 0},
    "unshared": {"policy": "fixed", "shared_core": False},
    "similarity": {"policy": "similarity", "freeze": "kv"},
    "gates": {"policy": "gates"},
}
MODES: dict[str, dict[str, Any]] = {
    "greedy": {},
    "sampling": {"do_sample": True, "temperature": 1.5, "num_return_sequences": 2},
    "beams": {"num_beams": 3},
    "several beams": {"num_beams": 4, "num_return_sequences": 3, "do_sample": False, "length_penalty": 0.5},
    "quantile": {"select": "quantile", "threshold": 0.9},
}


def model_of(name: str) -> AniraForCausalLM:
    return spread_case(small_config(**MODELS[name])).model


def generated(model: AniraForCausalLM, ids: Tensor, mask: Tensor | None = None, **arguments: Any) -> Any:
    torch.manual_seed(0)  # sampling draws from torch's own generator
    mask = torch.ones_like(ids) if mask is None else mask  # else every token 0 is taken for padding
    return model.generate(ids, attention_mask=mask, max_new_tokens=10, return_dict_in_generate=True, **arguments)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", MODELS)
def test_text_is_the_same_with_and_without_a_cache(name: str, mode: str) -> None:
    if mode == "quantile" and not name.startswith("anira"):
        pytest.skip("only our two policies have a quantile to select by")
    model, ids, mask = model_of(name), random_ids(3, 8, seed=1), left_padding(3, 8)
    cached, plain = (generated(model, ids, mask, use_cache=use, **MODES[mode]) for use in (True, False))
    assert torch.equal(cached.sequences, plain.sequences)
    assert isinstance(cached.past_key_values, DepthCache)
    assert cached.past_key_values.get_seq_length() == 17


@pytest.mark.parametrize("name", MODELS)
def test_prompt_lookup_takes_back_what_it_guessed_wrong(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The repeated prompt makes guesses likely, and the cache is cropped where they are wrong."""
    model, ids, cropped = model_of(name), random_ids(1, 4, seed=2).repeat(1, 3), []
    crop = DepthCache.crop
    monkeypatch.setattr(DepthCache, "crop", lambda cache, number: (cropped.append(number), crop(cache, number)))
    assisted = generated(model, ids, prompt_lookup_num_tokens=3)
    assert torch.equal(assisted.sequences, generated(model, ids, use_cache=False).sequences)
    assert min(cropped) < 0


@pytest.mark.parametrize("name", MODELS)
def test_rows_of_a_padded_batch_are_generated_as_if_alone(name: str) -> None:
    model, ids, mask = model_of(name), random_ids(3, 8, seed=3), left_padding(3, 8)
    together = generated(model, ids, mask).sequences[:, 8:]
    for i in range(3):
        alone = ids[i : i + 1, mask[i].bool()]
        assert torch.equal(generated(model, alone).sequences[0, alone.shape[1] :], together[i])


@pytest.mark.parametrize("mode", ["greedy", "sampling"])
@pytest.mark.parametrize("name", ["anira-e", "anira-o", "gates"])
def test_depth_traces_come_with_the_text(name: str, mode: str) -> None:
    """Of every token but the last one, which the model has not read."""
    model, ids = model_of(name), random_ids(2, 8, seed=4)
    out = generated(model, ids, **MODES[mode])
    trace = out.past_key_values.exit_depth
    assert torch.equal(trace, model(out.sequences[:, :-1]).exit_depth)
    assert len(trace.unique()) > 1


def test_settings_reach_generate() -> None:
    model, ids = model_of("anira-o"), random_ids(2, 8)
    assert (generated(model, ids, max_depth=1).past_key_values.exit_depth == 1).all()
    assert (generated(model, ids, exit_depth=3).past_key_values.exit_depth == 3).all()
    assert generated(model, ids, max_depth=8).past_key_values.exit_depth.max() > 5
    quick, careful = (generated(model, ids, threshold=level).past_key_values.exit_depth for level in (0.1, 0.99))
    assert quick[:, :8].sum() < careful[:, :8].sum()


def test_a_generation_can_be_continued() -> None:
    model, ids = model_of("anira-o"), random_ids(2, 8)
    first = generated(model, ids)
    more = generated(model, first.sequences, past_key_values=first.past_key_values)
    assert torch.equal(more.sequences, generated(model, first.sequences, use_cache=False).sequences)


def test_an_empty_stock_cache_is_replaced() -> None:
    model, ids = model_of("anira-e"), random_ids(2, 8)
    out = model(ids, past_key_values=DynamicCache())
    assert isinstance(out.past_key_values, DepthCache)
    torch.testing.assert_close(out.logits, model(ids).logits, rtol=0, atol=1e-9)


def filled_stock_cache() -> DynamicCache:
    cache = DynamicCache()
    cache.update(torch.zeros(2, 2, 4, 8), torch.zeros(2, 2, 4, 8), 0)
    return cache


def test_foreign_caches_are_refused() -> None:
    model, ids = model_of("anira-e"), random_ids(2, 8)
    others = [{"freeze": "kv"}, {"num_core_layers": 2}, {"num_coda_layers": 0}, {"num_key_value_heads": 1}]
    for change in others:
        with pytest.raises(UserError, match="cache belongs to another model"):
            model(ids, past_key_values=DepthCache(small_config("anira-e", **change)))
    with pytest.raises(UserError, match="must be a DepthCache of this model, not DynamicCache"):
        model(ids, past_key_values=filled_stock_cache())
    with pytest.raises(UserError, match="cache_implementation 'quantized' is not supported"):
        generated(model, ids, cache_implementation="quantized")


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_a_saved_model_comes_back(name: str, tied: bool, tmp_path: Path) -> None:
    model, ids = random_model(small_config(**MODELS[name], tie_word_embeddings=tied)), random_ids(2, 8)
    model.save_pretrained(tmp_path)
    config = AutoConfig.from_pretrained(tmp_path)
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path)
    assert isinstance(config, AniraConfig)
    assert config.policy == model.config.policy
    assert isinstance(loaded, AniraForCausalLM)
    assert loaded.dtype == torch.float64
    assert (loaded.lm_head.weight is loaded.model.embed_tokens.weight) == tied
    assert torch.equal(loaded(ids).logits, model(ids).logits)
    assert torch.equal(loaded.generate(ids, max_new_tokens=4), model.generate(ids, max_new_tokens=4))


def test_a_loaded_model_keeps_its_decider_in_float32(tmp_path: Path) -> None:
    random_model(small_config("anira-e")).float().save_pretrained(tmp_path)
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path, dtype=torch.bfloat16)
    assert loaded.model.core[0].mlp.up_proj.weight.dtype == torch.bfloat16
    assert {parameter.dtype for parameter in loaded.policy.parameters()} == {torch.float32}


@pytest.mark.parametrize(
    ("name", "freeze"),
    [
        *[(name, "state") for name in ("anira-e", "fixed", "unshared", "similarity", "gates")],
        *[(name, "kv") for name in ("anira-e", "anira-o", "fixed", "similarity", "gates")],
    ],
)
def test_gradient_checkpointing_gives_the_same_gradients(name: str, freeze: str) -> None:
    model = spread_case(small_config(**{**MODELS[name], "freeze": freeze})).model.train()
    ids, gradients = random_ids(2, 10), []
    noise = noise_for(model, ids) if model.policy.noise_width else None
    for checkpointed in (False, True):
        if checkpointed:
            model.gradient_checkpointing_enable()
        model.zero_grad()
        model(ids, labels=ids, noise=noise).loss.backward()
        gradients.append([parameter.grad.clone() for parameter in model.parameters()])
    assert model.is_gradient_checkpointing
    torch.testing.assert_close(*gradients, rtol=0, atol=1e-12)


def test_reentrant_checkpointing_would_lose_kept_keys_and_is_refused() -> None:
    model = spread_case(small_config("anira-e", freeze="kv")).model
    with pytest.raises(UserError, match="use_reentrant=False"):
        model.gradient_checkpointing_enable({"use_reentrant": True})
