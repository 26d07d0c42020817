"""Keys and values of a row's earlier tokens, laid out so that no iteration copies them.

What an iteration sees of settled tokens is two runs of memory. Slots that are seen from one iteration to the last (what
a halted token has left, or the last iteration of one that never halted) come first, ordered by that iteration: those
seen in iteration d are a prefix. Slots that are seen in one iteration alone follow, ordered by it. Three tokens of
depths 1, 3 and 2, in a model with max_depth 3 and freeze = "state":

    iteration         seen onwards                    seen once
    slots             token 0 from 2 | 1 and 2 from 3 | tokens 0, 1, 2 in 1 | tokens 1, 2 in 2
    iteration 2 sees  ^^^^^^^^^^^^^^                                          ^^^^^^^^^^^^^^^^
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import torch
from torch import Tensor

from anira.models.host import Numbers, on_device

ONCE: Final = 1 << 20
"""Added to the iteration of a slot that is seen in it alone."""


class Settled:
    """A row's settled slots in every layer; never written to, so that copies of a row can share them.

    `layers` are keys and values, each (2, heads, slots, head), None for layers of another store; `kinds` say when a
    slot is seen, in ascending order.
    """

    def __init__(self, layers: Sequence[Tensor | None], kinds: Numbers, columns: Numbers) -> None:
        self.layers, self.kinds, self.columns = list(layers), kinds, columns
        self._runs: dict[int, list[tuple[int, int]]] = {}

    def __len__(self) -> int:
        return len(self.kinds)

    def seen(self, depth: int) -> list[tuple[int, int]]:
        """Return the runs of slots that iteration `depth` sees: start and end of each."""
        if depth not in self._runs:
            bounds = np.searchsorted(self.kinds, [depth + 1, ONCE + depth, ONCE + depth + 1])
            runs = [(0, int(bounds[0])), (int(bounds[1]), int(bounds[2]))]
            self._runs[depth] = [run for run in runs if run[0] < run[1]]
        return self._runs[depth]

    def before(self, column: int) -> "Settled":
        """Return the slots of tokens before a column."""
        kept = np.flatnonzero(self.columns < column)
        layers = [None if x is None else x.index_select(2, on_device(kept, x.device)) for x in self.layers]
        return Settled(layers, self.kinds[kept], self.columns[kept])

    def join(self, other: "Settled") -> "Settled":
        """Return the slots of both, in their order; every kind is a run in each, so that this is one copy."""
        kinds = np.union1d(self.kinds, other.kinds)
        cuts = [(one, *np.searchsorted(one.kinds, [kind, kind + 1])) for kind in kinds for one in (self, other)]

        def layer(number: int) -> Tensor | None:
            pieces = [(one.layers[number], start, stop) for one, start, stop in cuts if start < stop]
            whole = [x[:, :, start:stop] for x, start, stop in pieces if x is not None]
            return torch.cat(whole, dim=2) if whole else self.layers[number]

        return Settled(
            [layer(number) for number in range(len(self.layers))],
            np.concatenate([self.kinds[:0], *(one.kinds[start:stop] for one, start, stop in cuts)]),
            np.concatenate([self.columns[:0], *(one.columns[start:stop] for one, start, stop in cuts)]),
        )


def kinds_of(table: Numbers) -> tuple[Numbers, Numbers, Numbers] | None:
    """Return the slots in a table (iteration, column) with kind and column of each, ordered by kind.

    None if one is seen in several iterations and not in the last (policies that skip iterations). The example above:

    >>> slots, kinds, columns = kinds_of(np.array([[0, 1, 2], [5, 3, 4], [5, 6, 7]]))
    >>> slots.tolist(), (kinds % ONCE).tolist(), columns.tolist()
    ([5, 6, 7, 0, 1, 2, 3, 4], [2, 3, 3, 1, 1, 1, 2, 2], [0, 1, 2, 0, 1, 2, 1, 2])
    """
    last = table[-1]
    stays = np.logical_and.accumulate((table == last)[::-1], axis=0)[::-1] & (last >= 0)
    onwards = len(table) - stays.sum(0) + 1  # the first iteration from which on the last slot is seen
    ends = np.flatnonzero(last >= 0)
    depth, column = np.nonzero((table >= 0) & ~stays)
    slots = np.concatenate([last[ends], table[depth, column]])
    if len(np.unique(slots)) < len(slots):
        return None
    kinds = np.concatenate([onwards[ends], ONCE + depth + 1])
    order = np.argsort(kinds, kind="stable")
    return slots[order], kinds[order], np.concatenate([ends, column])[order]
