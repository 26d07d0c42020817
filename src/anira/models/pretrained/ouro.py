"""Ouro (ByteDance, 2025): the whole stack is looped, from the embeddings on; a gate says where to stop.

Its layers have a norm before and after each branch, inside of the residual. The final norm is applied after every
iteration: its output is gated, read out, and fed back. So there is no prelude, no coda and no injection. The gate is
one linear layer; q(d) from its hazards is what ANIRA-O and our policy `ouro` compute, and the last iteration takes all
that is left. The released code always runs every iteration and reads out the first one whose cumulative probability
reaches `early_exit_threshold` (1.0: the last): that is `exits="virtual"`. Here tokens really stop.
"""

from typing import Any

from transformers.core_model_loading import WeightRenaming, WeightTransform

from anira.models.configuration import AniraConfig
from anira.models.pretrained.family import Family, Original, must_be, need


def _translate(config: Original) -> dict[str, Any]:
    must_be(config, "use_sliding_window", False, None)
    must_be(config, "rope_scaling", None)
    return {
        **{key: need(config, key) for key in _SAME},
        "num_key_value_heads": config.get("num_key_value_heads"),
        "head_dim": config.get("head_dim"),
        "num_prelude_layers": 0,
        "num_core_layers": need(config, "num_hidden_layers"),
        "num_coda_layers": 0,
        "block_norm": "branch",
        "core_norm": "fed-back",
        "freeze": "kv",
        "rope_parameters": {"rope_type": "default", "rope_theta": float(need(config, "rope_theta"))},
        "tie_word_embeddings": bool(config.get("tie_word_embeddings", False)),
    }


_SAME = (
    "vocab_size",
    "hidden_size",
    "intermediate_size",
    "num_attention_heads",
    "hidden_act",
    "max_position_embeddings",
    "rms_norm_eps",
    "initializer_range",
)


def _policy(config: Original) -> dict[str, Any]:
    threshold = config.get("early_exit_threshold")
    return {"name": "ouro", "gate": "linear", "threshold": 1.0 if threshold is None else float(threshold)}


_GATE = ("model.early_exit_gate.weight", "model.early_exit_gate.bias")
"""Not wanted under another policy."""


def _transforms(config: AniraConfig) -> list[WeightTransform]:
    names = {
        "model.layers": "model.core",
        "input_layernorm_2": "attention_norm",
        "post_attention_layernorm_2": "mlp_norm",
    }
    if config.policy["name"] == "ouro" and config.policy["gate"] == "linear":
        names["model.early_exit_gate"] = "policy.decider.out"
    return [WeightRenaming(source, target) for source, target in names.items()]


OURO = Family("ouro", "ouro", _translate, "total_ut_steps", _transforms, policy=_policy, ignored=_GATE)
