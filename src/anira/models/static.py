"""Decoding in fixed shapes: every row runs every iteration, those that have halted are masked, the cache has one size.

The core is run as in the parallel graph, over keys and values of all iterations: nothing depends on values, so that
`torch.compile(fullgraph=True)` makes one graph of a step, and the host never waits. It saves no work: it is for small
batches on devices where launching a kernel costs more than running it. It gives what the other execution gives.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Int
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from transformers.cache_utils import Cache

from anira.config import UserError
from anira.models.cache import cache_signature
from anira.models.configuration import AniraConfig
from anira.models.host import looking_is_free


class StaticDepthCache(Cache):
    """Keys and values of `max_length` tokens per row, in every layer and for every iteration of the core.

    Pass it as `past_key_values`, or let `generate(cache_implementation="static")` make one.
    """

    def __init__(
        self, config: AniraConfig, batch_size: int, max_length: int, *, dtype: torch.dtype, device: Any = None
    ) -> None:
        super().__init__(layers=[])
        self.signature, self.max_length, self.max_depth = cache_signature(config), max_length, config.max_depth
        outer = config.num_prelude_layers + config.num_coda_layers
        assert config.num_key_value_heads is not None and config.head_dim is not None
        shape = (2, batch_size, config.num_key_value_heads, max_length, config.head_dim)

        def room(count: int) -> list[Tensor]:
            return [torch.zeros(shape, dtype=dtype, device=device) for _ in range(count)]

        self.outer = room(outer)
        self.core = [room(config.num_core_layers) for _ in range(config.max_depth)]
        self.valid = torch.zeros((batch_size, max_length), dtype=torch.bool, device=device)
        self.visible = torch.zeros((config.max_depth, batch_size, max_length), dtype=torch.bool, device=device)
        self.depths = torch.zeros((batch_size, max_length), dtype=torch.long, device=device)
        self.length = torch.zeros((), dtype=torch.long, device=device)

    @property
    def is_compileable(self) -> bool:
        """Hugging Face's `generate` compiles a step on its own, on devices where that pays."""
        return True

    @property
    def exit_depth(self) -> Int[Tensor, "batch columns"]:
        """The depth of every token so far, 0 at padding."""
        return self.depths[:, : self.get_seq_length()]

    @property
    def nbytes(self) -> int:
        """Bytes of every tensor, whether it is in use or not."""
        return sum(tensor.nbytes for tensor in self._tensors())

    def _tensors(self) -> Iterator[Tensor]:
        yield from self.outer
        yield from (tensor for level in self.core for tensor in level)
        yield from (self.valid, self.visible, self.depths)

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Return how many tokens a row holds."""
        return int(self.length)

    def get_max_cache_shape(self, layer_idx: int = 0) -> int:
        """Return how many tokens a row can hold."""
        return self.max_length

    @contextmanager
    def unchanged_on_error(self) -> Iterator[None]:
        """Run a call, without gradients: the length moves at its end, and what a failed one wrote is written over."""
        with torch.no_grad():
            yield

    def reset(self) -> None:
        """Forget everything."""
        for tensor in (*self._tensors(), self.length):
            tensor.zero_()

    def reorder_cache(self, beam_idx: Tensor) -> None:
        """Take over the rows of the beams that survive."""
        for tensor in self._tensors():
            rows = {5: 1, 3: 1}.get(tensor.dim(), 0)
            tensor.copy_(tensor.index_select(rows, beam_idx))

    def crop(self, tokens_to_remove: int) -> None:
        """Remove the last tokens of every row; the number is negative, as in Hugging Face's caches."""
        self.length.sub_(abs(tokens_to_remove))


@dataclass(frozen=True)
class StaticCall:
    """The new tokens of one call, where they stand in the cache, and whom they see."""

    cache: StaticDepthCache
    columns: Int[Tensor, " time"]
    valid: Bool[Tensor, "batch time"]
    mask: Bool[Tensor, "batch 1 time columns"]

    @staticmethod
    def begin(
        cache: StaticDepthCache, attention_mask: Tensor | None, batch: int, time: int, device: torch.device
    ) -> "StaticCall":
        """Give new tokens their columns; of the mask only what says which of them are padding is read."""
        if batch != len(cache.valid):
            raise UserError(f"the static cache has {len(cache.valid)} rows, and the batch {batch}")
        if looking_is_free(cache.length) and int(cache.length) + time > cache.max_length:
            raise UserError(f"the static cache is full: it has room for {cache.max_length} tokens per row")
        columns = cache.length + torch.arange(time, device=device)
        valid = torch.ones((batch, time), dtype=torch.bool, device=device)
        if attention_mask is not None:
            valid = attention_mask[:, -time:].bool()
        cache.valid.index_copy_(1, columns, valid)
        everywhere = torch.arange(cache.max_length, device=device)
        mask = (everywhere <= columns[:, None]) & cache.valid[:, None, None, :]
        return StaticCall(cache, columns, valid, mask | (everywhere == columns[:, None]))

    def positions(self) -> Int[Tensor, "batch time"]:
        """Return positions, counted over the tokens that are not padding."""
        return (self.cache.valid.long().cumsum(1) - 1).clamp(min=0).index_select(1, self.columns)

    def layers(self) -> "StaticAttention":
        """Return the attention of prelude and coda."""
        return StaticAttention(self, self.cache.outer, self.mask)

    def iteration(self, depth: int, see: Bool[Tensor, "batch time"] | None) -> "StaticAttention":
        """Return the attention of an iteration, in which some tokens may be invisible."""
        visible = self.cache.visible[depth - 1]
        visible.index_copy_(1, self.columns, torch.ones_like(self.valid) if see is None else see)
        own = torch.arange(self.cache.max_length, device=visible.device) == self.columns[:, None]
        return StaticAttention(self, self.cache.core[depth - 1], self.mask & (visible[:, None, None, :] | own))

    def end(self, exit_depth: Int[Tensor, "batch time"]) -> None:
        """Note the depths of the new tokens: they are in the cache now."""
        self.cache.depths.index_copy_(1, self.columns, exit_depth)
        self.cache.length.add_(len(self.columns))


class StaticAttention:
    """Attention over the whole of a cache of fixed size, new tokens included."""

    def __init__(self, call: StaticCall, layers: list[Tensor], mask: Bool[Tensor, "batch 1 time columns"]) -> None:
        self._columns, self._layers, self._mask = call.columns, layers, mask

    def attend(self, module: Any, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, **options: Any) -> Tensor:
        """Write keys and values of the new tokens, and attend."""
        keys, values = self._layers[module.layer_idx]
        keys.index_copy_(2, self._columns, k)
        values.index_copy_(2, self._columns, v)
        grouped = module.num_key_value_groups > 1
        out = scaled_dot_product_attention(q, keys, values, self._mask, scale=module.scaling, enable_gqa=grouped)
        return out.transpose(1, 2)
