"""The paper's equations written out: one token after the other; no batch, no padding, no mask, no cache.

This is the oracle of the differential test. It takes a model's configuration and weights, and shares no code with it,
not even the layers. Token i is computed from start to end before token i + 1: prelude, every iteration of the core,
coda. Causality needs no mask then: later tokens do not exist yet. All arithmetic is float64, and autograd through this
graph gives the gradients that the model's must equal.

What a token leaves behind is a pair (keys, values) per layer and, in the core, per iteration. A halted token goes
through the remaining iterations too: its update is weighed by 0, and the straight-through gradient needs the update.
"""

import math
from collections import defaultdict
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import torch
from tests.equivalence.naive_decisions import Ask, Decision, decide, softmax
from torch import Tensor
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

KeysValues = tuple[Tensor, Tensor]

ACTIVATIONS = {"silu": lambda x: x / (1 + torch.exp(-x)), "relu": lambda x: x * (x > 0)}


@dataclass(frozen=True)
class Token:
    """What comes out for one token."""

    logits: Tensor
    decision: Decision


class NaiveModel:
    """A model's equations over its weights, which it copies, so that both collect their own gradients."""

    def __init__(self, config: Any, weights: dict[str, Tensor]) -> None:
        self.config = config
        self.weights = {name: weight.detach().double().clone().requires_grad_() for name, weight in weights.items()}
        self.turns: dict[int, tuple[Tensor, Tensor]] = {}

    def row(self, ids: list[int], positions: list[int], asks: list[Ask]) -> list[Token]:
        """Compute the tokens of one row; `asks` says how each decides its depth."""
        memory: dict[Any, list[KeysValues]] = defaultdict(list)
        iterations = max(ask.max_depth for ask in asks)
        return [self.token(*token, memory, iterations) for token in zip(ids, positions, asks, strict=True)]

    def token(self, token_id: int, position: int, ask: Ask, memory: Any, iterations: int) -> Token:
        prelude = self.stack("prelude", self.weights["model.embed_tokens.weight"][token_id], position, memory)
        decision = decide(self.config.policy, ask, prelude, self.decider)
        state = self.initial_state(prelude, position)
        last: list[KeysValues] = []  # per core layer: keys and values of the last executed iteration
        for depth in range(1, iterations + 1):
            weight = decision.weight(depth)
            x, left = self.inject(state, prelude), []
            for layer in range(self.config.num_core_layers):
                previous = last[layer] if self.config.freeze == "kv" and depth > 1 else None
                name = f"model.core.{self.core_index(depth, layer)}."
                x = self.layer(name, x, position, memory["core", depth, layer], weight, previous)
                left.append(memory["core", depth, layer][-1])
            state, last = weight * x + (1 - weight) * state, left
            decision.observe(depth, state)
        coda = self.stack("coda", decision.exit_state, position, memory)
        head = "model.embed_tokens.weight" if self.config.tie_word_embeddings else "lm_head.weight"
        return Token(self.weights[head] @ self.rms_norm("model.norm.", coda), decision)

    def stack(self, part: str, x: Tensor, position: int, memory: Any) -> Tensor:
        count = self.config.num_prelude_layers if part == "prelude" else self.config.num_coda_layers
        for layer in range(count):
            x = self.layer(f"model.{part}.{layer}.", x, position, memory[part, layer])
        return x

    def core_index(self, depth: int, layer: int) -> int:
        return layer if self.config.shared_core else (depth - 1) * self.config.num_core_layers + layer

    def initial_state(self, prelude: Tensor, position: int) -> Tensor:
        if self.config.initial_state == "prelude":
            return prelude
        if self.config.initial_state == "zero":
            return torch.zeros_like(prelude)
        return self.config.initial_state_std * position_normals(position, len(prelude))

    def inject(self, state: Tensor, prelude: Tensor) -> Tensor:
        if self.config.injection == "none":
            return state
        if self.config.injection == "add":
            return state + prelude
        return self.weights["model.adapter.weight"] @ torch.cat([state, prelude])

    # One Llama layer for one token. Its keys and values are appended to what earlier tokens left in `seen`.

    def layer(
        self,
        name: str,
        x: Tensor,
        position: int,
        seen: list[KeysValues],
        weight: Tensor | float = 1.0,
        previous: KeysValues | None = None,
    ) -> Tensor:
        normed = self.rms_norm(name + "input_layernorm.", x)
        fresh = self.keys_values(name + "self_attn.", normed, position)
        seen.append(fresh if previous is None else blend(weight, fresh, previous))
        x = x + self.attention(name + "self_attn.", normed, position, seen)
        return x + self.mlp(name + "mlp.", self.rms_norm(name + "post_attention_layernorm.", x))

    def keys_values(self, name: str, normed: Tensor, position: int) -> KeysValues:
        shape = (self.config.num_key_value_heads, self.config.head_dim)
        keys, values = (self.linear(name + part, normed).view(shape) for part in ("k_proj.", "v_proj."))
        return self.rotate(keys, position), values

    def attention(self, name: str, normed: Tensor, position: int, seen: list[KeysValues]) -> Tensor:
        shape = (self.config.num_attention_heads, self.config.head_dim)
        queries = self.rotate(self.linear(name + "q_proj.", normed).view(shape), position)
        keys, values = (torch.stack(part) for part in zip(*seen, strict=True))
        group = self.config.num_attention_heads // self.config.num_key_value_heads
        read = []
        for head, query in enumerate(queries):
            scores = keys[:, head // group] @ query / math.sqrt(self.config.head_dim)
            read.append(softmax(scores) @ values[:, head // group])
        return self.linear(name + "o_proj.", torch.cat(read))

    def mlp(self, name: str, x: Tensor) -> Tensor:
        gate = ACTIVATIONS[self.config.hidden_act](self.linear(name + "gate_proj.", x))
        return self.linear(name + "down_proj.", gate * self.linear(name + "up_proj.", x))

    def linear(self, name: str, x: Tensor) -> Tensor:
        y = self.weights[name + "weight"] @ x
        return y + self.weights[name + "bias"] if name + "bias" in self.weights else y

    def rms_norm(self, name: str, x: Tensor) -> Tensor:
        return self.weights[name + "weight"] * x / torch.sqrt((x * x).mean() + self.config.rms_norm_eps)

    def rotate(self, x: Tensor, position: int) -> Tensor:
        """Turn each head's pairs (x[k], x[k + half]) by angles that grow with the position."""
        (first, second), (cos, sin) = x.chunk(2, dim=-1), self.turn(position)
        return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)

    def turn(self, position: int) -> tuple[Tensor, Tensor]:
        """Return cosines and sines from the stock module: it rounds them to float32, which no formula of ours would."""
        if position not in self.turns:
            half, like = self.config.head_dim // 2, torch.zeros(1, dtype=torch.float64)
            cos, sin = LlamaRotaryEmbedding(self.config)(like, torch.tensor([[position]]))
            self.turns[position] = cos[0, 0, :half], sin[0, 0, :half]
        return self.turns[position]

    def decider(self, h: Tensor) -> Tensor:
        """Return the logits of a decision: LayerNorm, Linear, SiLU, Linear (paper, appendix)."""
        h = h.detach() if self.config.policy["detach"] else h
        centred = h - h.mean()
        normed = centred / torch.sqrt((centred * centred).mean() + 1e-5)
        normed = self.weights["policy.decider.norm.weight"] * normed + self.weights["policy.decider.norm.bias"]
        return self.linear("policy.decider.out.", ACTIVATIONS["silu"](self.linear("policy.decider.up.", normed)))


def blend(weight: Tensor | float, fresh: KeysValues, previous: KeysValues) -> KeysValues:
    """Return what a token shows under freeze = "kv": an executed iteration's own keys and values, else the last ones.

    The weight is exactly 0 or 1. It carries the straight-through gradient, as in the update of the state.
    """
    keys, values = (weight * new + (1 - weight) * old for new, old in zip(fresh, previous, strict=True))
    return keys, values


def position_normals(position: int, width: int) -> Tensor:
    """Return the normal numbers of a position, cut at 3: hashed bits, to a uniform number, through the inverse CDF."""
    bits = [splitmix(splitmix(position) + channel) & (2**23 - 1) for channel in range(width)]
    law = NormalDist()
    low, high = law.cdf(-3), law.cdf(3)
    shares = [low + (high - low) * (number + 0.5) / 2**23 for number in bits]
    return torch.tensor([law.inv_cdf(share) for share in shares], dtype=torch.float64)


def splitmix(x: int) -> int:
    """Scramble a 64-bit number (Steele, Lea, Flood 2014)."""
    x = (x + 0x9E3779B97F4A7C15) % 2**64
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % 2**64
    return x ^ (x >> 31)
