"""The cache of a model with per-token depth: keys and values once per token and executed iteration.

Prelude and coda use Hugging Face's ordinary layers. The core has a `SlotStore`, in which a token that has halted keeps
its last slot.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, Literal, cast, get_args

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor
from transformers.cache_utils import Cache, DynamicLayer

from anira.config import UserError
from anira.models.configuration import AniraConfig
from anira.models.slots import SlotStore, outlives_inference_mode

_SPARE_COLUMNS: Final = 64

KeyValueRule = Literal["exact", "overwrite"]
"""Whether a token keeps keys and values of each of its iterations, or of the last one alone."""


def core_store(config: AniraConfig, kv: KeyValueRule, num_rows: int = 0) -> SlotStore:
    """Return an empty store for the core of a model."""
    if kv not in get_args(KeyValueRule):
        raise UserError(f"kv must be one of {', '.join(get_args(KeyValueRule))}, not {kv!r}")
    if kv == "overwrite" and not config.shared_core:
        raise UserError("kv='overwrite' needs a shared core: layers of their own cannot read each other's keys")
    return SlotStore(config.num_core_layers, config.max_depth, num_rows, overwrite=kv == "overwrite")


class Columns:
    """Which columns of each row are tokens, and how deep they went; with room to spare, so that it rarely grows."""

    def __init__(self, batch: int, device: torch.device) -> None:
        self.count = 0
        """How many tokens a row holds, padding included."""
        self.full = True
        """Whether no column of any row is padding."""
        self._valid = torch.zeros((batch, 0), dtype=torch.bool, device=device)
        self._exit_depth = torch.zeros((batch, 0), dtype=torch.int16, device=device)

    @property
    def valid(self) -> Bool[Tensor, "batch columns"]:
        """Which columns are tokens, not padding."""
        return self._valid[:, : self.count]

    @property
    def exit_depth(self) -> Int[Tensor, "batch columns"]:
        """The depth of every token, 0 at padding."""
        return self._exit_depth[:, : self.count]

    @outlives_inference_mode
    def extend(self, valid: Bool[Tensor, "batch time"], *, full: bool) -> None:
        """Add columns for new tokens."""
        end = self.count + valid.shape[1]
        if end > self._valid.shape[1]:
            more = (0, max(_SPARE_COLUMNS, end // 2) + end - self._valid.shape[1])
            self._valid, self._exit_depth = (
                torch.nn.functional.pad(tensor, more) for tensor in (self._valid, self._exit_depth)
            )
        self._valid[:, self.count : end] = valid
        self._exit_depth[:, self.count : end] = 0
        self.count, self.full = end, self.full and full

    @outlives_inference_mode
    def select(self, rows: Tensor) -> None:
        """Keep these rows, in this order."""
        self._valid, self._exit_depth = self._valid.index_select(0, rows), self._exit_depth.index_select(0, rows)

    def tensors(self) -> tuple[Tensor, Tensor]:
        """Return all there is."""
        return self._valid, self._exit_depth


class DepthCache(Cache):
    """What `generate` passes from one call to the next; works in greedy search, sampling, beam search and cropping.

    `kv="overwrite"` keeps one slot per token and core layer, which each iteration writes anew: later tokens then see
    the keys and values of a token's last iteration in all of theirs. That is another function than the one that was
    trained; it is here to be compared with.
    """

    def __init__(self, config: AniraConfig, *, kv: KeyValueRule = "exact") -> None:
        num_layers = config.num_prelude_layers + config.num_coda_layers
        super().__init__(layers=[DynamicLayer() for _ in range(num_layers)])
        self.core = core_store(config, kv)
        self.columns: Columns | None = None
        self.signature = cache_signature(config)

    @property
    def exit_depth(self) -> Int[Tensor, "batch columns"] | None:
        """The depth of every token so far, 0 at padding: the depth trace of a generation."""
        return None if self.columns is None else self.columns.exit_depth.long()

    @property
    def num_slots(self) -> int:
        """Key-value slots in use in each core layer."""
        return self.core.used

    @property
    def core_nbytes(self) -> int:
        """Bytes of the core's slots in use."""
        return self.core.used * self.core.slot_nbytes()

    @property
    def nbytes(self) -> int:
        """Bytes of every tensor held between calls, spare room included."""
        pairs = [(layer.keys, layer.values) for layer in self.layers if isinstance(layer, DynamicLayer)]
        own = () if self.columns is None else self.columns.tensors()
        tensors = [*(t for pair in pairs for t in pair if t is not None), *own, *self.core.tensors()]
        return sum(tensor.nbytes for tensor in tensors)

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Return how many tokens a row holds."""
        return 0 if self.columns is None else self.columns.count

    def extend(self, valid: Bool[Tensor, "batch time"], max_depth: int, *, full: bool) -> Columns:
        """Add columns for new tokens, and iterations if this call may run more of them than earlier ones."""
        if self.columns is None:
            self.columns = Columns(len(valid), valid.device)
            self.core.add_rows(len(valid))
        self.columns.extend(valid, full=full)
        self.core.deepen(max_depth)
        return self.columns

    @contextmanager
    def unchanged_on_error(self) -> Iterator[None]:
        """Take back what a call has added to any layer if it does not come to its end, so that it can be repeated."""
        self.core.settle(np.full(self.core.num_rows, self.get_seq_length()))
        before = [(one, dict(vars(one))) for one in (*self.layers, self.columns) if one is not None]
        columns = self.columns
        try:
            with self.core.unchanged_on_error():
                yield
        except BaseException:
            # A stock layer replaces its tensors, it never writes into them; columns are written beyond their count.
            self.columns = columns
            for one, attributes in before:
                vars(one).update(attributes)
            raise

    def reset(self) -> None:
        """Forget everything."""
        super().reset()
        core = self.core
        self.core = SlotStore(len(core.pools), core.max_depth, overwrite=core.overwrite)
        self.columns = None

    def reorder_cache(self, beam_idx: Tensor) -> None:
        """Take over the rows of the beams that survive."""
        super().reorder_cache(cast(torch.LongTensor, beam_idx))
        self._select(beam_idx)

    def crop(self, tokens_to_remove: int) -> None:
        """Remove the last tokens of every row; the number is negative, as in Hugging Face's caches."""
        super().crop(tokens_to_remove)
        if self.columns is not None:
            self.columns.count -= abs(tokens_to_remove)
            self.core.crop(self.columns.count)

    def batch_repeat_interleave(self, repeats: int) -> None:
        """Repeat every row; the copies share the core's slots."""
        super().batch_repeat_interleave(repeats)
        if self.columns is not None:
            rows = torch.arange(self.core.num_rows, device=self.columns.valid.device)
            self._select(rows.repeat_interleave(repeats))

    def batch_select_indices(self, indices: Tensor) -> None:
        """Keep some rows."""
        super().batch_select_indices(indices)
        if self.columns is not None:
            rows = torch.arange(self.core.num_rows, device=self.columns.valid.device)
            self._select(rows[indices])

    def _select(self, rows: Int[Tensor, " rows"]) -> None:
        if self.columns is not None:
            self.columns.select(rows)
            self.core.select(rows.cpu().numpy())


def cache_signature(config: AniraConfig) -> dict[str, Any]:
    """Return what a cache must have in common with the model that reads it."""
    names = ("num_prelude_layers", "num_core_layers", "num_coda_layers", "num_key_value_heads", "head_dim", "freeze")
    return {name: getattr(config, name) for name in names}
