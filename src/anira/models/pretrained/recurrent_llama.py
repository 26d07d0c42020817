"""Recurrent-Llama (McLeish et al. 2025, "retrofitted recurrence"): Llama's own layers around Raven's loop.

Its code calls the layers sandwiches, but they are plain pre-norm, with Llama's rotary embedding; no norm between core
and coda. The configuration still carries Huginn's token ids and rotary base, which mean nothing here.
"""

from typing import Any

from transformers.core_model_loading import WeightTransform

from anira.models.configuration import AniraConfig
from anira.models.pretrained import raven
from anira.models.pretrained.family import Family, Original, must_be, need


def _translate(config: Original) -> dict[str, Any]:
    must_be(config, "qk_bias", False)
    fields = raven.translate(config)
    scale = raven.embedding_scale(config)
    scaling = dict(config.get("rope_scaling") or {})
    scaling.setdefault("rope_type", scaling.pop("type", "default"))  # the older name
    return {
        **fields,
        "max_position_embeddings": config.get("max_position_embeddings", fields["max_position_embeddings"]),
        "embedding_scale": scale,
        "initial_state_std": fields["initial_state_std"] * scale,
        "rope_parameters": {**scaling, "rope_theta": float(need(config, "rope_theta"))},
    }


def _transforms(config: AniraConfig) -> list[WeightTransform]:
    return raven.transforms({"norm_1": "input_layernorm", "norm_2": "post_attention_layernorm"}, [])


RECURRENT_LLAMA = Family(
    "recurrent-llama", "huginn_raven", _translate, "mean_recurrence", _transforms, ignored=("freqs_cis",)
)
