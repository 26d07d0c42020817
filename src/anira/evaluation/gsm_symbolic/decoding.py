"""Greedy answers to a batch of prompts, with the depth of every token, from our models and from any of transformers'.

Prompts are padded on the left. A row ends at an end-of-sequence token or where the text has the stop mark; rows that
have ended leave the batch once they are half of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import torch
from jaxtyping import Int
from numpy.typing import NDArray
from torch import Tensor

from anira.evaluation.sessions import Fed, Session

Array = NDArray[Any]
_WINDOW: Final = 8
"""Tokens at the end of a row in which stop marks are looked for, and more where one has more characters."""


@dataclass(frozen=True)
class Written:
    """An answer: what was written before the stop mark, and what is known of each token that was read on the way."""

    prompt: tuple[int, ...]
    ids: tuple[int, ...]
    """Tokens of the answer, an end-of-sequence token included."""
    generated: tuple[int, ...]
    """All tokens that were written, a stop mark included."""
    text: str
    tokens: Mapping[str, Array]
    """As in `Fed`, for the prompt and all tokens of the answer but the last, which nothing has read."""
    ended: bool
    """By itself, not by the largest number of tokens."""
    hides: bool = False


@dataclass
class _Row:
    prompt: tuple[int, ...]
    ids: list[int] = field(default_factory=list)
    parts: list[Mapping[str, Array]] = field(default_factory=list)
    hides: bool = False
    ended: bool = False


@dataclass(frozen=True, kw_only=True)
class Ends:
    """Where an answer ends."""

    tokenizer: Any
    ids: frozenset[int]
    stops: tuple[str, ...]
    most: int
    """Tokens after which it ends in any case."""

    def text(self, ids: Sequence[int]) -> str:
        """Return tokens as text, without marks such as the end of the sequence."""
        return str(self.tokenizer.decode(list(ids), skip_special_tokens=True))

    def reached(self, ids: Sequence[int]) -> bool:
        """Say whether an answer ends here by itself."""
        window = max([_WINDOW, *map(len, self.stops)])
        return ids[-1] in self.ids or self._place(self.text(ids[-window:])) >= 0

    def cut(self, ids: Sequence[int]) -> tuple[list[int], str]:
        """Return the tokens that stand before the first stop mark, and the text that does."""
        text = self.text(ids)
        place = self._place(text)
        if place < 0:
            return list(ids), text
        count = len(ids)
        while count and len(self.text(ids[:count])) > place:
            count -= 1
        return list(ids[:count]), text[:place]

    def _place(self, text: str) -> int:
        """Return where the first stop mark begins, or -1."""
        return min((place for mark in self.stops if (place := text.find(mark)) >= 0), default=-1)


def end_ids(model: Any, tokenizer: Any) -> frozenset[int]:
    """Return the tokens that end a sequence, by the model's generation settings and the tokenizer."""
    named = getattr(model.generation_config, "eos_token_id", None)
    listed = named if isinstance(named, list | tuple) else [named]
    return frozenset(token for token in (*listed, tokenizer.eos_token_id) if token is not None)


@torch.no_grad()
def write_answers(
    session: Session, prompts: Sequence[Sequence[int]], ends: Ends, device: torch.device
) -> list[Written]:
    """Write an answer to each prompt, the most likely token each time."""
    rows = [_Row(tuple(prompt)) for prompt in prompts]
    ids, mask = left_padded(prompts, device)
    live = list(range(len(rows)))
    for _ in range(ends.most):
        fed = session.feed(ids, mask)
        chosen = fed.logits.argmax(-1)
        _note(rows, live, fed, chosen, mask[:, -ids.shape[1] :], ends)
        kept = [place for place, number in enumerate(live) if not rows[number].ended]
        if not kept:
            break
        if 2 * len(kept) <= len(live):
            index = torch.tensor(kept, device=device)
            session.keep(index)
            chosen, mask, live = chosen[index], mask[index], [live[place] for place in kept]
        ids, mask = chosen[:, None], torch.nn.functional.pad(mask, (0, 1), value=1)
    return [_written(row, ends) for row in rows]


def left_padded(
    prompts: Sequence[Sequence[int]], device: torch.device
) -> tuple[Int[Tensor, "batch time"], Int[Tensor, "batch time"]]:
    """Return prompts as one batch, padded on the left with token 0, and its mask."""
    width = max(map(len, prompts))
    ids = torch.tensor([[0] * (width - len(prompt)) + list(prompt) for prompt in prompts], device=device)
    mask = torch.tensor([[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in prompts], device=device)
    return ids, mask


def _note(rows: list[_Row], live: Sequence[int], fed: Fed, chosen: Tensor, valid: Tensor, ends: Ends) -> None:
    """Add to each row that has not ended what was read and what comes next."""
    tokens = {name: values.cpu().numpy() for name, values in fed.tokens.items()}
    valid_now, following = valid.bool().cpu().numpy(), chosen.tolist()
    for place, number in enumerate(live):
        row = rows[number]
        if not row.ended:
            row.parts.append({name: values[place][valid_now[place]] for name, values in tokens.items()})
            row.ids.append(following[place])
            row.hides = row.hides or fed.hides
            row.ended = ends.reached(row.ids)


def _written(row: _Row, ends: Ends) -> Written:
    ids, text = ends.cut(row.ids)
    read = len(row.prompt) + max(len(ids) - 1, 0)
    tokens = {name: np.concatenate([part[name] for part in row.parts])[:read] for name in row.parts[0]}
    return Written(row.prompt, tuple(ids), tuple(row.ids), text, tokens, row.ended, row.hides)
