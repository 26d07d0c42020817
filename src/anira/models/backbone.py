"""Prelude, recurrent core and coda: stock Llama layers, put together; and what an iteration's input is."""

import copy
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.distributed.fsdp import FSDPModule
from transformers import Cache
from transformers.models.llama.modeling_llama import LlamaDecoderLayer, LlamaRotaryEmbedding, rotate_half

from anira.models.attention import NAME, Plan
from anira.models.configuration import AniraConfig
from anira.models.noise import position_noise

Rope = tuple[Float[Tensor, "*tokens head"], Float[Tensor, "*tokens head"]]


def _unit(x: Float[Tensor, "*tokens dim"], eps: float) -> tuple[Tensor, Tensor]:
    """Return x divided by its root mean square, and what it was multiplied with to get there."""
    square = torch.linalg.vector_norm(x, dim=-1, keepdim=True).square_()
    scale = torch.rsub(square, eps, alpha=-1 / x.shape[-1]).rsqrt_()  # eps + square / dim in one operation
    return x * scale, scale


class _Norm(torch.autograd.Function):
    """The norm below, with half as many operations in the backward pass as autograd would need."""

    @staticmethod
    def forward(ctx: Any, x: Float[Tensor, "*tokens dim"], weight: Float[Tensor, " dim"], eps: float) -> Tensor:
        unit, scale = _unit(x, eps)
        ctx.save_for_backward(unit, weight, scale)
        return unit * weight

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        unit, weight, scale = ctx.saved_tensors
        d_weight = gradient * unit
        along = (d_weight @ weight).unsqueeze(-1) / weight.shape[0]  # what would change the length alone
        return (gradient * weight).addcmul_(unit, -along).mul_(scale), d_weight.flatten(0, -2).sum(0), None


class RMSNorm(nn.Module):
    """Root mean square norm, inside in float32 or better. (Llama's own casts float64 down; exactness tests need it.)"""

    def __init__(self, hidden_size: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.eps = eps

    def forward(self, x: Float[Tensor, "*tokens dim"]) -> Float[Tensor, "*tokens dim"]:
        """Return x divided by its root mean square, times the weight."""
        weight = self.weight.to(x.dtype)  # of a sharded model in mixed precision it comes in bfloat16, x in float32
        # torch has a kernel for some devices, and compilers fuse the plain form; the rest is left to us.
        if x.is_cpu and x.dtype in (torch.float32, torch.float64) and not torch.compiler.is_compiling():
            if not torch.is_grad_enabled():
                return _unit(x, self.eps)[0].mul_(weight)
            y: Tensor = _Norm.apply(x, weight, self.eps)
            return y
        return nn.functional.rms_norm(x, weight.shape, weight, self.eps)


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
        self.shared_core, self.freeze = config.shared_core, config.freeze
        num_prelude, num_core, num_coda = config.num_prelude_layers, config.num_core_layers, config.num_coda_layers
        groups = 1 if config.shared_core else config.max_depth
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        # The index of a prelude or coda layer is its place in the cache; core layers have a store of their own.
        own = _layer_config(config)
        self.prelude = nn.ModuleList(_layer(own, i) for i in range(num_prelude))
        self.core = nn.ModuleList(_layer(own, i % num_core) for i in range(groups * num_core))
        self.coda = nn.ModuleList(_layer(own, num_prelude + i) for i in range(num_coda))
        self.norm = RMSNorm(config.hidden_size, config.rms_norm_eps)
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
        keys, values = (
            project(y).view(len(x), -1, attention.head_dim) for project in (attention.k_proj, attention.v_proj)
        )
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


def _layer_config(config: AniraConfig) -> AniraConfig:
    """Return the configuration as layers see it: their attention is ours, whatever is set on the model's later."""
    own = copy.copy(config)
    own._attn_implementation_internal = NAME
    return own


def _layer(config: Any, layer_idx: int) -> nn.Module:
    layer: nn.Module = LlamaDecoderLayer(config, layer_idx)  # reads the fields that both configurations have
    layer.input_layernorm = RMSNorm(config.hidden_size, config.rms_norm_eps)
    layer.post_attention_layernorm = RMSNorm(config.hidden_size, config.rms_norm_eps)
    return layer
