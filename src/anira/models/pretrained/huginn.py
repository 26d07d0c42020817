"""Huginn-0125 (Geiping et al. 2025): norms of the sums, embeddings times the root of the width, adjacent rotary pairs.

`ln_f` is applied twice, before and after the coda. Its gate-less exits are our policy `huginn`, which can be attached.
"""

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from transformers.core_model_loading import Chunk, WeightConverter, WeightTransform

from anira.config import UserError
from anira.models.configuration import AniraConfig
from anira.models.pretrained import raven
from anira.models.pretrained.family import Family, Original, need
from anira.models.pretrained.operations import FlatBiases, PairsToHalves


def _translate(config: Original) -> dict[str, Any]:
    fields = raven.translate(config)
    scale = math.sqrt(fields["hidden_size"])  # the code computes it, whatever init_values says
    return {
        **fields,
        "block_norm": "sum",
        "core_norm": "coda",
        "attention_bias": "qk" if config.get("qk_bias", True) else False,
        "embedding_scale": scale,
        "initial_state_std": fields["initial_state_std"] * scale,
        "rope_parameters": {"rope_type": "default", "rope_theta": float(need(config, "rope_base"))},
    }


def _transforms(config: AniraConfig) -> list[WeightTransform]:
    norms = {
        "norm_1": "input_layernorm",
        "norm_2": "attention_norm",
        "norm_3": "post_attention_layernorm",
        "norm_4": "mlp_norm",
    }
    biases = ["self_attn.q_proj.bias", "self_attn.k_proj.bias"]
    return [
        *raven.transforms(norms, [PairsToHalves()]),
        WeightConverter("attn.qk_bias", biases, [Chunk(dim=0), FlatBiases(), PairsToHalves()]),
    ]


def _verify(model: Any, ignored: Mapping[str, Tensor]) -> None:
    """Hold the file's table of cosines and sines against the configuration that ours come from."""
    if "freqs_cis" not in ignored:
        return
    table = ignored["freqs_cis"].float()[0, :, 0]
    ours = model.model.rope(table, torch.arange(len(table))[None])
    ours = torch.stack([part[0, :, : table.shape[1]].to(table.device) for part in ours], dim=-1)
    if not torch.allclose(ours, table, atol=0.01):  # the file may be in half precision
        raise UserError("freqs_cis in the file is not what rope_base in config.json gives: one of them was changed")


HUGINN = Family(
    "huginn",
    "huginn_raven",
    _translate,
    "mean_recurrence",
    _transforms,
    mark=".norm_3.",
    ignored=("freqs_cis",),
    verify=_verify,
)
