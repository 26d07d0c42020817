"""What Huginn and Recurrent-Llama share: Raven's configuration, its adapter, and how its tensors are called."""

from typing import Any

from transformers.core_model_loading import (
    Chunk,
    ConversionOps,
    Split,
    WeightConverter,
    WeightRenaming,
    WeightTransform,
)

from anira.config import UserError
from anira.models.pretrained.family import Original, must_be, need


def translate(config: Original) -> dict[str, Any]:
    """Return what both have; the initial state is zero here, because a fresh draw per call could not be cached."""
    must_be(config, "injection_type", "linear")
    must_be(config, "nonlin_name", "SiLU")
    must_be(config, "bias", False)
    heads = need(config, "n_heads")
    return {
        "vocab_size": config.get("padded_vocab_size") or need(config, "vocab_size"),
        "hidden_size": need(config, "n_embd"),
        "intermediate_size": need(config, "intermediate_size"),
        "num_attention_heads": heads,
        "num_key_value_heads": config.get("num_key_value_heads", heads),
        "head_dim": config.get("head_dim", need(config, "n_embd") // heads),
        "num_prelude_layers": need(config, "n_layers_in_prelude"),
        "num_core_layers": need(config, "n_layers_in_recurrent_block"),
        "num_coda_layers": need(config, "n_layers_in_coda"),
        "max_position_embeddings": need(config, "block_size"),
        "rms_norm_eps": need(config, "norm_eps"),
        "tie_word_embeddings": bool(config.get("tie_word_embeddings", config.get("tie_embeddings", False))),
        "injection": "concat-linear",
        "initial_state": "zero",
        "initial_state_std": _initial_value(config, "std"),
        "freeze": "kv",
    }


def embedding_scale(config: Original) -> float:
    """Return what Recurrent-Llama's embeddings are multiplied with."""
    return _initial_value(config, "embed_scale")


def _initial_value(config: Original, key: str) -> float:
    values = config.get("init_values") or {}
    value = values.get(key, 1.0) if isinstance(values, dict) else None
    if not isinstance(value, int | float):
        raise UserError(f"init_values in config.json must be a table of numbers, with {key!r} among them")
    return float(value)


def transforms(norms: dict[str, str], queries_and_keys: list[ConversionOps]) -> list[WeightTransform]:
    """Return the changes of names and tensors; `norms`: how the norms of a layer are called, there and here."""
    names = {
        "transformer.wte": "model.embed_tokens",
        "transformer.prelude": "model.prelude",
        "transformer.core_block": "model.core",
        "transformer.coda": "model.coda",
        "transformer.adapter": "model.adapter",
        "transformer.ln_f": "model.norm",
        "attn.proj": "self_attn.o_proj",
        "mlp.proj": "mlp.down_proj",
        **norms,
    }
    projections = [f"self_attn.{name}_proj.weight" for name in "qkv"]
    return [
        *(WeightRenaming(source, target) for source, target in names.items()),
        WeightConverter("attn.Wqkv.weight", projections, [Split(dim=0), *queries_and_keys]),
        WeightConverter("mlp.fc.weight", ["mlp.gate_proj.weight", "mlp.up_proj.weight"], [Chunk(dim=0)]),
    ]
