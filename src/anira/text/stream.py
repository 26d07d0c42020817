"""Documents as one stream of tokens, which is the same for any number of processes and goes on from any token.

Documents are read in blocks. Every process reads all of them, which is cheap; each tokenises (and filters) its share,
which is not; then they exchange what they have. So all hold the same stream, each document was tokenised once, and
nobody's speed, nor the number of processes, changes what the stream is.
"""

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from jaxtyping import Bool, Int

from anira.config import UserError
from anira.text.overlap import OverlapFilter
from anira.text.reader import Document, Place, is_held_out, read_documents
from anira.text.shards import LeftOut, Shard
from anira.text.sources import fingerprint
from anira.text.tokenizing import Ids, TextTokenizer

_BYTES: Final = 1 << 20  # of text that are tokenised at a time,
_DOCUMENTS: Final = 1024  # and documents

Exchange = Callable[[list[Ids | None]], list[list[Ids | None]]]
"""Gives what each process has made of its share of a block, in the order of processes, to all of them."""


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Which documents a stream has."""

    held_out: float = 0.0
    """The share of documents that training does not read."""
    want_held_out: bool = False
    overlap: OverlapFilter | None = None


@dataclass(frozen=True)
class Taken:
    """The next tokens of a stream."""

    ids: Int[np.ndarray, " tokens"]
    starts: Bool[np.ndarray, " tokens"]
    """Where a document begins."""


@dataclass
class _Piece:
    """A document that was read: its tokens, or why it has none."""

    place: Place
    ids: Ids | LeftOut


class TokenStream:
    """The tokens of all documents that a selection keeps, epoch after epoch."""

    def __init__(
        self,
        shards: Sequence[Shard],
        tokenizer: TextTokenizer,
        selection: Selection,
        *,
        rank: int = 0,
        world: int = 1,
        exchange: Exchange | None = None,
    ) -> None:
        self.shards, self.tokenizer, self.selection = shards, tokenizer, selection
        self.rank, self.world = rank, world
        self._exchange: Exchange = exchange or (lambda mine: [mine])
        self._go_to(Place(), Counter())

    def _go_to(self, place: Place, counts: Counter[str]) -> None:
        self.place, self.counts = place, counts
        self._pieces: deque[_Piece] = deque()
        self._documents = read_documents(self.shards, place)

    def take(self, count: int, *, once: bool = False) -> Taken:
        """Return the next `count` tokens; with `once` fewer, where the last document of the first epoch ends."""
        ids, starts = np.empty(count, dtype=np.int32), np.zeros(count, dtype=bool)
        done = 0
        while done < count:
            piece = self._next_piece()
            if once and piece.place.epoch:
                return Taken(ids[:done], starts[:done])
            if isinstance(piece.ids, LeftOut):
                self._check_progress(piece)
                self.counts[piece.ids] += 1
                self._pass(piece)
                continue
            first = self.place.offset
            part = piece.ids[first : first + count - done]
            ids[done : done + len(part)] = part
            starts[done] = first == 0
            done += len(part)
            self.place = replace(piece.place, offset=first + len(part))
            if first + len(part) == len(piece.ids):
                self.counts["documents"] += 1
                self._pass(piece)
        return Taken(ids, starts)

    def _pass(self, piece: _Piece) -> None:
        """Go to the row after a piece; there may be none in its group, and then the next group's first is meant."""
        self._pieces.popleft()
        self.place = replace(piece.place, row=piece.place.row + 1, offset=0)

    def _next_piece(self) -> _Piece:
        while not self._pieces:
            self._pieces.extend(self._read_block())
        return self._pieces[0]

    def _check_progress(self, piece: _Piece) -> None:
        """Raise a UserError if the shards have been read to their end without finding a single document."""
        if piece.place.epoch and not self.counts["documents"]:
            found = ", ".join(f"{number} {why}" for why, number in sorted(self.counts.items()) if number)
            raise UserError(f"there is no document to read in {self.shards[0].name} and the shards after it: {found}")

    def _read_block(self) -> list[_Piece]:
        documents: list[Document] = []
        size, whole = 0, False
        while size < _BYTES and len(documents) < _DOCUMENTS and not whole:
            document = next(self._documents)
            cell = document.cell if self._is_wanted(document) else LeftOut.HELD_OUT
            documents.append(document._replace(cell=cell))
            size += 0 if isinstance(cell, LeftOut) else len(cell)
            whole = document.place.epoch > documents[0].place.epoch  # a small corpus is not read over and over at once
        texts = [one.cell for one in documents if not isinstance(one.cell, LeftOut)]
        found = iter(self._tokenised(texts))
        return [_Piece(one.place, one.cell if isinstance(one.cell, LeftOut) else next(found)) for one in documents]

    def _is_wanted(self, document: Document) -> bool:
        selection, place = self.selection, document.place
        if not selection.held_out:
            return True
        name = self.shards[place.shard].name.rpartition("/")[2]
        return is_held_out(name, place.group, place.row, selection.held_out) == selection.want_held_out

    def _tokenised(self, texts: Sequence[str]) -> list[Ids | LeftOut]:
        """Return the tokens of documents, of which this process makes every `world`-th."""
        mine = texts[self.rank :: self.world]
        overlap = self.selection.overlap
        keep = [overlap is None or not overlap.overlaps(text) for text in mine]
        made = iter(self.tokenizer.encode([text for text, kept in zip(mine, keep, strict=True) if kept]))
        shares = self._exchange([next(made) if kept else None for kept in keep])
        found = [shares[i % self.world][i // self.world] for i in range(len(texts))]
        return [LeftOut.OVERLAP if ids is None else ids for ids in found]

    def state(self) -> dict[str, Any]:
        """Return where the stream stands, and what it has read and left out, as plain values."""
        return {
            "place": self.place.stored(),
            "counts": dict(self.counts),
            "shards": fingerprint(self.shards),
            "tokenizer": self.tokenizer.fingerprint(),
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go to where a stream stood; a UserError refuses other data and another tokenizer."""
        try:
            place, counts = Place.load(state["place"]), Counter({str(k): int(v) for k, v in state["counts"].items()})
            shards, tokenizer = state["shards"], state["tokenizer"]
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise UserError(f"the checkpoint does not say where its run stood in the text ({error})") from error
        if shards != fingerprint(self.shards):
            raise UserError("the shards are not those that the run began with: their names or sizes have changed")
        if tokenizer != self.tokenizer.fingerprint():
            raise UserError(f"tokenizer {self.tokenizer.name!r} is not the one that the run began with")
        self._go_to(place, counts)
