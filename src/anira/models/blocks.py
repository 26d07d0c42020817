"""One layer, as released families have it: stock Llama's, with norms and biases where each family puts them."""

import copy
from typing import Any, Final

import torch
from jaxtyping import Float
from torch import Tensor, nn
from transformers import Cache
from transformers.models.llama.modeling_llama import LlamaAttention, LlamaDecoderLayer

from anira.models.attention import NAME
from anira.models.configuration import AniraConfig
from anira.models.norm import RMSNorm

_BIASED: Final = {"qk": ("q_proj", "k_proj"), "qkv": ("q_proj", "k_proj", "v_proj")}
"""attention_bias -> the projections that have one, where not all do."""


class FourNormLayer(LlamaDecoderLayer):
    """A layer with a norm after each branch too: of what the branch adds (Ouro), or of the sum (Huginn).

    branch: x + norm(attention(norm(x))); sum: norm(x + attention(norm(x))); and alike with the feed-forward part.
    """

    def __init__(self, config: Any, layer_idx: int) -> None:
        super().__init__(config, layer_idx)
        self.of_sum = config.block_norm == "sum"
        self.attention_norm: nn.Module
        self.mlp_norm: nn.Module

    def forward(
        self,
        hidden_states: Float[Tensor, "batch time dim"],
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        past_key_values: Cache | None = None,
        use_cache: bool | None = False,
        position_embeddings: tuple[Tensor, Tensor] | None = None,
        **kwargs: Any,
    ) -> Float[Tensor, "batch time dim"]:
        """Run the layer; the arguments are those of the stock one."""
        attended, _ = self.self_attn(
            hidden_states=self.input_layernorm(hidden_states),
            attention_mask=attention_mask,
            past_key_values=past_key_values,
            position_embeddings=position_embeddings,
            **kwargs,
        )
        x = self._join(hidden_states, attended, self.attention_norm)
        return self._join(x, self.mlp(self.post_attention_layernorm(x)), self.mlp_norm)

    def _join(self, x: Tensor, branch: Tensor, norm: nn.Module) -> Tensor:
        joined: Tensor = norm(x + branch) if self.of_sum else x + norm(branch)
        return joined


def make_layer(config: AniraConfig, layer_idx: int) -> nn.Module:
    """Return a layer with the norms and biases that the configuration asks for.

    >>> layer = make_layer(AniraConfig(hidden_size=8, num_attention_heads=2, attention_bias="qk"), 0)
    >>> layer.self_attn.q_proj.bias is not None, layer.self_attn.v_proj.bias is None
    (True, True)
    """
    own: Any = copy.copy(config)
    own._attn_implementation_internal = NAME  # the attention of layers is ours, whatever is set on the model's later
    layer: Any = (LlamaDecoderLayer if config.block_norm == "pre" else FourNormLayer)(own, layer_idx)
    layer.self_attn = _attention(own, layer_idx)
    names = ["input_layernorm", "post_attention_layernorm"]
    names += ["attention_norm", "mlp_norm"] if config.block_norm != "pre" else []
    for name in names:
        setattr(layer, name, RMSNorm(config.hidden_size, config.rms_norm_eps, stock=config.rms_norm == "stock"))
    module: nn.Module = layer
    return module


def _attention(config: Any, layer_idx: int) -> nn.Module:
    """Return stock attention: Llama's, or Qwen3's if queries and keys are normed; some biases may go."""
    biases = config.attention_bias
    if config.qk_norm:
        from transformers.models.qwen3.modeling_qwen3 import Qwen3Attention

        attention: Any = Qwen3Attention(config, layer_idx)
        for name in ("q_norm", "k_norm"):
            setattr(attention, name, RMSNorm(config.head_dim, config.rms_norm_eps, stock=config.rms_norm == "stock"))
    else:
        attention = LlamaAttention(config, layer_idx)
    for name in () if isinstance(biases, bool) else ("q_proj", "k_proj", "v_proj", "o_proj"):
        if name not in _BIASED[biases]:
            getattr(attention, name).register_parameter("bias", None)
    module: nn.Module = attention
    return module


def project_keys(attention: Any, y: Float[Tensor, "tokens dim"]) -> Float[Tensor, "tokens heads head"]:
    """Return a layer's keys, before rotation, from its normed inputs."""
    keys: Tensor = attention.k_proj(y).view(len(y), -1, attention.head_dim)
    norm = getattr(attention, "k_norm", None)
    return keys if norm is None else norm(keys)


class ScaledEmbedding(nn.Embedding):
    """An embedding whose output is multiplied by a constant."""

    def __init__(self, num: int, dim: int, scale: float) -> None:
        super().__init__(num, dim)
        self.scale = scale

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 (torch's own name)
        """Return the embeddings of tokens, scaled."""
        return super().forward(input) * torch.tensor(self.scale, dtype=self.weight.dtype)
