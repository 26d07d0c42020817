"""The documents of all shards in their order, over and over, from any place on."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Self

from anira.config import UserError
from anira.text.shards import LeftOut, Shard


@dataclass(frozen=True, order=True, kw_only=True)
class Place:
    """Where a reader stands: before a token of a document."""

    epoch: int = 0
    """How often all shards have been read."""
    shard: int = 0
    group: int = 0
    row: int = 0
    offset: int = 0
    """Tokens of the document that have been read, its first mark among them."""

    def stored(self) -> dict[str, int]:
        """Return the place as plain values."""
        return asdict(self)

    @classmethod
    def load(cls, values: Mapping[str, Any]) -> Self:
        """Return a place from plain values; a UserError refuses what is none."""
        names = set(cls.__dataclass_fields__)
        if set(values) != names or not all(isinstance(value, int) and value >= 0 for value in values.values()):
            raise UserError(f"{dict(values)} is not a place in text")
        return cls(**values)


class Document(NamedTuple):
    """A row of a shard, and where it stands."""

    place: Place
    cell: str | LeftOut


def read_documents(shards: Sequence[Shard], start: Place) -> Iterator[Document]:
    """Yield all rows from a place on; after the last shard comes the first again, in the next epoch."""
    if start.shard >= len(shards):
        raise UserError(f"shard {start.shard} was read last, and there are only {len(shards)}: the data have changed")
    epoch, first, group, row = start.epoch, start.shard, start.group, start.row
    while True:
        for number in range(first, len(shards)):
            for found in shards[number].rows(group, row):
                place = Place(epoch=epoch, shard=number, group=found.group, row=found.row)
                yield Document(place, found.cell)
            group = row = 0
        epoch, first = epoch + 1, 0


def is_held_out(shard: str, group: int, row: int, share: float) -> bool:
    """Say whether a row is among the share that training never reads; only its address decides.

    >>> sum(is_held_out("part_0.parquet", 0, row, 0.1) for row in range(1000))
    113
    """
    digest = hashlib.blake2b(f"{shard}/{group}/{row}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) < share * 2**64
