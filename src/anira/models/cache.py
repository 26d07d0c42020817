"""The cache of a model with per-token depth: keys and values once per token and executed iteration.

Prelude and coda use Hugging Face's ordinary layers. The core has a `SlotStore`: one pool of key-value slots a core
layer, and a table that says which slot stands for a token in each iteration. A token that has halted keeps pointing
to its last slot.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial, wraps
from typing import Any, ClassVar, ParamSpec, TypeVar, cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from transformers.cache_utils import Cache, DynamicLayer

from anira.models.configuration import AniraConfig

_SPARE_COLUMNS = 64

P = ParamSpec("P")
T = TypeVar("T")

Look = tuple[Bool[Tensor, "rows columns"] | None, Callable[[int], tuple[Tensor, Tensor]]]
"""Which columns of some rows are seen in an iteration, None for all; and their keys and values, layer by layer."""


def _outlives_inference_mode(make: Callable[P, T]) -> Callable[P, T]:
    """Make what is kept between calls of ordinary tensors: those of inference mode can never be written to outside."""

    @wraps(make)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> T:
        with torch.inference_mode(False):
            return make(*args, **kwargs)

    return wrapped


class SlotStore:
    """Key-value slots of the core, packed without holes, and the table that addresses them.

    Two tokens with depths 1 and 3, of a model with max_depth 3 and freeze = "state", own slots 0, 3 and 1, 2, 4:
    token 0 its input state and its exit state, token 1 its three input states. (A token that runs to the end needs no
    slot for its last state: nothing reads it.) The table, one row an iteration, is then [[0, 1], [3, 2], [3, 4]].
    """

    kept: ClassVar[bool] = True
    """Whether anything is read after the call."""

    def __init__(self, num_layers: int, max_depth: int) -> None:
        self.pools: list[Tensor | None] = [None] * num_layers
        self.used = 0
        self.max_depth = max_depth
        self.num_columns = 0
        """How many tokens a row holds, padding included."""
        self._columns: _Columns | None = None
        self.full = True
        """Whether no column of any row is padding."""
        self.skips = False
        """Whether a token may be without a slot in some iteration (policies that skip)."""

    @property
    def table(self) -> Int[Tensor, "depth batch columns"]:
        """Which slot stands for a token in each iteration; -1 is none."""
        assert self._columns is not None
        return self._columns.table[..., : self.num_columns]

    @property
    def valid(self) -> Bool[Tensor, "batch columns"]:
        """Which columns are tokens, not padding."""
        assert self._columns is not None
        return self._columns.valid[:, : self.num_columns]

    @property
    def exit_depth(self) -> Int[Tensor, "batch columns"]:
        """The depth of every token, 0 at padding."""
        assert self._columns is not None
        return self._columns.exit_depth[:, : self.num_columns]

    @property
    def batch(self) -> int:
        """How many rows there are, 0 before the first call."""
        return 0 if self._columns is None else len(self._columns.valid)

    @property
    def dense(self) -> bool:
        """Whether every column of every row has a slot in every iteration, so that no mask is needed."""
        return self.full and not self.skips

    @_outlives_inference_mode
    def extend(self, valid: Bool[Tensor, "batch time"], max_depth: int, *, full: bool) -> None:
        """Add columns for new tokens, and iterations if this call may run more of them than earlier ones."""
        first, last = self.num_columns, self.num_columns + valid.shape[1]
        if self._columns is None:
            self._columns = _Columns.empty(self.max_depth, len(valid), last, valid.device)
        elif last > self._columns.valid.shape[1]:
            spare = _Columns.empty(self.max_depth, len(valid), last - first + _SPARE_COLUMNS, valid.device)
            self._columns = self._columns.cut(first).join(spare)
        if max_depth > self.max_depth:
            table = self._columns.table
            more = table[-1:].expand(max_depth - self.max_depth, -1, -1)
            self._columns = replace(self._columns, table=torch.cat([table, more]))
            self.max_depth = max_depth
        self._columns.valid[:, first:last] = valid
        self.num_columns = last
        self.full = self.full and full

    def allocate(
        self,
        depth: int | Int[Tensor, " tokens"],
        rows: Int[Tensor, " tokens"],
        columns: Int[Tensor, " tokens"] | None,
        *,
        onwards: bool,
    ) -> slice:
        """Give each token a new slot for iteration `depth`, and for the later ones too if `onwards`.

        Without columns the tokens are in the last one. A tensor of depths gives each token an iteration of its own to
        start from.
        """
        slots = slice(self.used, self.used + len(rows))
        number = torch.arange(slots.start, slots.stop, dtype=torch.int32, device=rows.device)
        table = self.table
        place: tuple[Tensor | slice, ...] = (rows,) if columns is None else (rows, columns)
        if columns is None:
            table = table[..., -1]
            if len(rows) == self.batch:
                place = (slice(None),)  # views are cheaper than index arrays
        if isinstance(depth, int):
            table[(slice(depth - 1, self.max_depth if onwards else depth), *place)] = number
        else:
            later = torch.arange(1, self.max_depth + 1, device=rows.device)[:, None] >= depth
            place = (slice(None), *place)
            table[place] = torch.where(later, number, table[place])
        self.used = slots.stop
        return slots

    def put(self, layer: int, slots: slice, keys: Float[Tensor, "n heads head"], values: Tensor) -> None:
        """Write keys and values of one core layer into slots."""
        pool = self.pools[layer]
        if pool is None or slots.stop > len(pool):
            pool = self._grow(layer, slots, keys)
        pool[slots, 0] = keys
        pool[slots, 1] = values

    @_outlives_inference_mode
    def _grow(self, layer: int, slots: slice, like: Float[Tensor, "n heads head"]) -> Tensor:
        """Make room for these slots, and some more."""
        pool, spare = self.pools[layer], max(64, slots.stop // 8)
        grown = torch.empty((slots.stop + spare, 2, *like.shape[1:]), dtype=like.dtype, device=like.device)
        if pool is not None:
            grown[: slots.start] = pool[: slots.start]
        self.pools[layer] = grown
        return grown

    def look(self, depth: int, rows: Int[Tensor, " rows"] | None) -> Look:
        """Return which columns of these rows, or of all, are seen in an iteration, and what gives keys and values."""
        slots = self.table[depth - 1] if rows is None else self.table[depth - 1].index_select(0, rows)
        if self.dense:
            return None, partial(self._gather, slots)
        return slots >= 0, partial(self._gather, slots.clamp(min=0))

    def _gather(self, slots: Int[Tensor, "rows columns"], layer: int) -> tuple[Tensor, Tensor]:
        """Return keys and values of these slots, each (rows, heads, columns, head)."""
        pool = self.pools[layer]
        assert pool is not None
        both = pool.index_select(0, slots.reshape(-1)).view(*slots.shape, *pool.shape[1:])
        return both[:, :, 0].transpose(1, 2), both[:, :, 1].transpose(1, 2)

    @_outlives_inference_mode
    def select(self, rows: Tensor) -> None:
        """Keep these rows, in this order; a row may be taken several times and then shares its slots."""
        if self._columns is not None:
            self._columns = self._columns.rows(rows)
            self._collect()

    @_outlives_inference_mode
    def crop(self, num_columns: int) -> None:
        """Keep the first columns."""
        if self._columns is not None:
            self._columns, self.num_columns = self._columns.cut(num_columns), num_columns
            self._collect()

    @contextmanager
    def unchanged_on_error(self) -> Iterator[None]:
        """Take back what a call has added if it does not come to its end."""
        names = ("used", "max_depth", "num_columns", "_columns", "full", "skips")
        before = {name: getattr(self, name) for name in names}
        try:
            yield
        except BaseException:
            vars(self).update(before)
            if self._columns is not None:
                self._columns.clear(self.num_columns)
            raise

    def nbytes(self) -> int:
        """Return the bytes of every tensor held."""
        tensors = [*self.pools, *(() if self._columns is None else self._columns.tensors())]
        return sum(tensor.nbytes for tensor in tensors if tensor is not None)

    def _collect(self) -> None:
        """Drop the slots that no token points to any more and number the others anew."""
        assert self._columns is not None
        kept, number = torch.unique(self._columns.table, return_inverse=True)
        holes = int(bool(len(kept)) and bool(kept[0] < 0))
        kept = kept[holes:]
        self.used = len(kept)
        if self.used and int(kept[-1]) == self.used - 1:
            return  # only the last slots went: nothing to move
        self._columns = replace(self._columns, table=(number - holes).to(torch.int32))
        self.pools = [None if pool is None else pool.index_select(0, kept) for pool in self.pools]


@dataclass(frozen=True)
class _Columns:
    """What is known of every column of every row; some columns may be spare, so that not every call must grow it."""

    table: Int[Tensor, "depth batch columns"]
    valid: Bool[Tensor, "batch columns"]
    exit_depth: Int[Tensor, "batch columns"]

    @staticmethod
    def empty(max_depth: int, batch: int, columns: int, device: torch.device) -> "_Columns":
        """Return columns without tokens."""
        return _Columns(
            torch.full((max_depth, batch, columns), -1, dtype=torch.int32, device=device),
            torch.zeros((batch, columns), dtype=torch.bool, device=device),
            torch.zeros((batch, columns), dtype=torch.int16, device=device),
        )

    def tensors(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return all there is."""
        return self.table, self.valid, self.exit_depth

    def clear(self, first: int) -> None:
        """Make the columns from `first` on spare again."""
        self.table[..., first:] = -1
        self.valid[:, first:] = False
        self.exit_depth[:, first:] = 0

    def cut(self, columns: int) -> "_Columns":
        """Return the first columns."""
        return _Columns(*(tensor[..., :columns].contiguous() for tensor in self.tensors()))

    def join(self, other: "_Columns") -> "_Columns":
        """Return these columns, then the others."""
        return _Columns(*(torch.cat(pair, dim=-1) for pair in zip(self.tensors(), other.tensors(), strict=True)))

    def rows(self, rows: Tensor) -> "_Columns":
        """Return these rows, in this order."""
        return _Columns(*(tensor.index_select(-2, rows) for tensor in self.tensors()))


class DepthCache(Cache):
    """What `generate` passes from one call to the next; works in greedy search, sampling, beam search and cropping."""

    def __init__(self, config: AniraConfig) -> None:
        num_layers = config.num_prelude_layers + config.num_coda_layers
        super().__init__(layers=[DynamicLayer() for _ in range(num_layers)])
        self.core = SlotStore(config.num_core_layers, config.max_depth)
        self.signature = cache_signature(config)

    @property
    def exit_depth(self) -> Int[Tensor, "batch columns"] | None:
        """The depth of every token so far, 0 at padding: the depth trace of a generation."""
        return self.core.exit_depth.long() if self.core.batch else None

    @property
    def num_slots(self) -> int:
        """Key-value slots in use in each core layer."""
        return self.core.used

    @property
    def nbytes(self) -> int:
        """Bytes of every tensor held between calls, spare room included."""
        pairs = [(layer.keys, layer.values) for layer in self.layers if isinstance(layer, DynamicLayer)]
        return sum(t.nbytes for pair in pairs for t in pair if t is not None) + self.core.nbytes()

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Return how many tokens a row holds."""
        return self.core.num_columns

    @contextmanager
    def unchanged_on_error(self) -> Iterator[None]:
        """Take back what a call has added to any layer if it does not come to its end, so that it can be repeated."""
        before = [(layer, dict(vars(layer))) for layer in self.layers]
        try:
            with self.core.unchanged_on_error():
                yield
        except BaseException:
            for layer, attributes in before:  # a stock layer replaces its tensors, it never writes into them
                vars(layer).update(attributes)
            raise

    def reset(self) -> None:
        """Forget everything."""
        super().reset()
        self.core = SlotStore(len(self.core.pools), self.core.max_depth)

    def reorder_cache(self, beam_idx: Tensor) -> None:
        """Take over the rows of the beams that survive."""
        super().reorder_cache(cast(torch.LongTensor, beam_idx))
        self.core.select(beam_idx)

    def crop(self, tokens_to_remove: int) -> None:
        """Remove the last tokens of every row; the number is negative, as in Hugging Face's caches."""
        super().crop(tokens_to_remove)
        self.core.crop(self.core.num_columns - abs(tokens_to_remove))

    def batch_repeat_interleave(self, repeats: int) -> None:
        """Repeat every row; the copies share the core's slots."""
        super().batch_repeat_interleave(repeats)
        if self.core.batch:
            rows = torch.arange(self.core.batch, device=self.core.valid.device)
            self.core.select(rows.repeat_interleave(repeats))

    def batch_select_indices(self, indices: Tensor) -> None:
        """Keep some rows."""
        super().batch_select_indices(indices)
        if self.core.batch:
            rows = torch.arange(self.core.batch, device=self.core.valid.device)
            self.core.select(rows[indices])


def cache_signature(config: AniraConfig) -> dict[str, Any]:
    """Return what a cache must have in common with the model that reads it."""
    names = ("num_prelude_layers", "num_core_layers", "num_coda_layers", "num_key_value_heads", "head_dim", "freeze")
    return {name: getattr(config, name) for name in names}
