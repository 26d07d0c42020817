"""Prelude, recurrent core and coda: stock Llama layers, put together; and what an iteration's input is."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.distributed.fsdp import FSDPModule
from transformers import Cache
from transformers.models.llama.modeling_llama import LlamaDecoderLayer, LlamaRotaryEmbedding, rotate_half

from anira.models.attention import Plan
from anira.models.blocks import ScaledEmbedding, make_layer, project_keys
from anira.models.configuration import AniraConfig
from anira.models.noise import position_noise
from anira.models.norm import RMSNorm

Rope = tuple[Float[Tensor, "*tokens head"], Float[Tensor, "*tokens head"]]


class Backbone(nn.Module):
    """The layers, without the policy and without the head."""

    def __init__(self, config: AniraConfig) -> None:
        super().__init__()
        self.config = config
        # Plain copies of what every call asks for: an attribute of a Hugging Face config costs microseconds.
        self.injection, self.initial, self.num_core_layers = (
            config.injection,
            config.initial_state,
            config.num_core_layers,
        )
        self.shared_core, self.freeze, self.core_norm = config.shared_core, config.freeze, config.core_norm
        num_prelude, num_core, num_coda = config.num_prelude_layers, config.num_core_layers, config.num_coda_layers
        groups = 1 if config.shared_core else config.max_depth
        vocabulary = (config.vocab_size, config.hidden_size)
        scale = config.embedding_scale
        self.embed_tokens = nn.Embedding(*vocabulary) if scale == 1 else ScaledEmbedding(*vocabulary, scale)
        # The index of a prelude or coda layer is its place in the cache; core layers have a store of their own.
        self.prelude = nn.ModuleList(make_layer(config, i) for i in range(num_prelude))
        self.core = nn.ModuleList(make_layer(config, i % num_core) for i in range(groups * num_core))
        self.coda = nn.ModuleList(make_layer(config, num_prelude + i) for i in range(num_coda))
        self.norm = RMSNorm(config.hidden_size, config.rms_norm_eps, stock=config.rms_norm == "stock")
        self.rotary = LlamaRotaryEmbedding(cast(Any, config))
        concat = config.injection == "concat-linear"
        self.adapter = nn.Linear(2 * config.hidden_size, config.hidden_size, bias=False) if concat else None

    def rope(self, like: Tensor, position_ids: Int[Tensor, "batch time"]) -> Rope:
        """Return the cosines and sines of the rotary embedding."""
        cos, sin = self.rotary(like, position_ids)
        return cos, sin

    def initial_state(
        self, h0: Float[Tensor, "*tokens dim"], positions: Int[Tensor, "*tokens"]
    ) -> Float[Tensor, "*tokens dim"]:
        """Return h^(0), the state before the first iteration."""
        if self.initial == "zero":
            return torch.zeros_like(h0)
        if self.initial == "random":
            return self.config.initial_state_std * position_noise(positions, h0.shape[-1], h0.dtype)
        return h0

    def inject(self, h: Float[Tensor, "*tokens dim"], h0: Float[Tensor, "*tokens dim"]) -> Float[Tensor, "*tokens dim"]:
        """Return the input of an iteration: the state, joined with the prelude's output if so configured."""
        if self.adapter is not None:
            joined: Tensor = self.adapter(torch.cat([h, h0], dim=-1))
            return joined
        return h + h0 if self.injection == "add" else h

    def end_iteration(self, h: Float[Tensor, "*tokens dim"]) -> Float[Tensor, "*tokens dim"]:
        """Return the state after an iteration, from what its last layer gives."""
        return self.norm(h) if self.core_norm == "fed-back" else h

    def before_coda(self, h: Float[Tensor, "*tokens dim"]) -> Float[Tensor, "*tokens dim"]:
        """Return what the coda reads, from states."""
        return self.norm(h) if self.core_norm == "coda" else h

    def before_head(self, z: Float[Tensor, "*tokens dim"]) -> Float[Tensor, "*tokens dim"]:
        """Return what the head reads, from what the coda gives, or from states where there is no coda."""
        return z if self.core_norm == "fed-back" and not len(self.coda) else self.norm(z)

    def core_layers(self, depth: int) -> list[LlamaDecoderLayer]:
        """Return the layers of iteration `depth`: always the same ones if the core is shared."""
        layers = cast(list[LlamaDecoderLayer], list(self.core))
        start = 0 if self.shared_core else (depth - 1) * self.num_core_layers
        return layers[start : start + self.num_core_layers]


def run_layers(
    layers: Iterable[nn.Module],
    x: Float[Tensor, "batch time dim"],
    mask: Tensor | None,
    rope: Rope,
    *,
    past: Cache | None = None,
    plan: Plan | None = None,
) -> Float[Tensor, "batch time dim"]:
    """Run stock layers on rows; `past` is the cache of prelude and coda, `plan` the attention of the core."""
    for layer in layers:
        x = layer(x, attention_mask=mask, past_key_values=past, position_embeddings=rope, plan=plan)
    return x


def project_key_values(
    layer: nn.Module, x: Float[Tensor, "tokens dim"], rope: Rope
) -> tuple[Float[Tensor, "tokens heads head"], Float[Tensor, "tokens heads head"]]:
    """Return the keys and values that a layer would compute from its inputs, without running the rest of it."""
    with _gathered(layer):
        attention: Any = layer.self_attn
        y = cast(nn.Module, layer.input_layernorm)(x)
        keys, values = project_keys(attention, y), attention.v_proj(y).view(len(x), -1, attention.head_dim)
    cos, sin = rope
    return keys * cos.unsqueeze(1) + rotate_half(keys) * sin.unsqueeze(1), values


@contextmanager
def _gathered(layer: nn.Module) -> Iterator[None]:
    """Hold the parameters of a layer that FSDP has spread over processes, for what is not a call of the layer."""
    if not isinstance(layer, FSDPModule):
        yield
        return
    layer.unshard()
    try:
        yield
    finally:
        layer.reshard()
