"""Answers as they are written: whole, or in pieces as server-sent events.

{"id": "cmpl-1f", "object": "text_completion", "created": 1765000000, "model": "mano", "choices": [
  {"index": 0, "text": "3", "finish_reason": "stop", "logprobs": null,
   "token_ids": [8, 2], "depth": [4, 1],                  # the last token ends the answer
   "prompt_token_ids": [1, 5, 6, 7, 3], "prompt_depth": [1, 1, 2, 3, 4]}],
 "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7, "mean_depth": 2.5}}
"""

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

from anira.inference.engine import Handle, Token
from anira.serving.asking import Asked
from anira.serving.service import Service
from anira.serving.text import TextStream

Piece = dict[str, Any]
Send = Callable[[Piece], Awaitable[None]]
"""Takes one piece of an answer."""


class Answer:
    """The answer to one request, which has one prompt or several."""

    def __init__(self, service: Service, asked: Asked, prompts: Sequence[list[int]]) -> None:
        self.service, self.asked, self.prompts = service, asked, prompts
        self._head = {
            "id": f"cmpl-{uuid.uuid4().hex}",
            "object": "text_completion",
            "created": int(time.time()),
            "model": service.name,
        }
        self._depths: list[int] = []

    async def whole(self) -> Piece:
        """Return it when it is finished: all its pieces, put together."""
        choices: list[Piece] = [{} for _ in self.prompts]

        async def keep(piece: Piece) -> None:
            for one in piece["choices"]:
                _add(choices[one["index"]], one)

        await self.pieces(keep)
        return {**self._head, "choices": choices, "usage": self.usage}

    async def pieces(self, send: Send) -> None:
        """Send it as it comes: tokens with their text, and at the end of each choice the reason and its prompt."""
        await _all_of([self._choice(index, prompt, send) for index, prompt in enumerate(self.prompts)])

    @property
    def last_piece(self) -> Piece:
        """What follows the last choice: the usage."""
        return {**self._head, "choices": [], "usage": self.usage}

    @property
    def usage(self) -> Piece:
        """How many tokens were read and written, and the mean depth of those that were written."""
        read, written = sum(map(len, self.prompts)), len(self._depths)
        counts = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
        return {**counts, "mean_depth": round(sum(self._depths) / max(1, written), 6)}

    async def _choice(self, index: int, prompt: list[int], send: Send) -> None:
        decode = self.service.tokenizer.decode
        text = TextStream(lambda ids: str(decode(list(ids), skip_special_tokens=True)), self.asked.stop)

        async def put(handle: Handle, tokens: list[Token]) -> bool:
            texts = [text.add(token.id) for token in tokens if not text.stopped]
            read = tokens[: len(texts)]
            self._note(read)
            await send(self._piece(index, "".join(texts), read))
            return not text.stopped

        handle = await self.service.generate(prompt, self.asked, put)
        self.service.metrics.note_tokens([], prompt=len(prompt))
        end = self._piece(index, text.finish(), [])
        reason = "stop" if text.stopped else handle.reason
        end["choices"][0] |= {
            "finish_reason": reason,
            "prompt_token_ids": prompt,
            "prompt_depth": list(handle.prompt_depth),
        }
        await send(end)

    def _note(self, tokens: Sequence[Token]) -> None:
        depths = [token.exit_depth for token in tokens]
        self._depths += depths
        self.service.metrics.note_tokens(depths)

    def _piece(self, index: int, text: str, tokens: Sequence[Token]) -> Piece:
        choice = {
            "index": index,
            "text": text,
            "finish_reason": None,
            "logprobs": None,
            "token_ids": [token.id for token in tokens],
            "depth": [token.exit_depth for token in tokens],
        }
        return {**self._head, "choices": [choice]}


def _add(choice: Piece, piece: Piece) -> None:
    """Put a piece of a choice to what there is of it: text and lists grow, and the reason comes at the end.

    >>> choice = {"text": "a", "depth": [1], "finish_reason": None}
    >>> _add(choice, {"text": "b", "depth": [], "finish_reason": "length"})
    >>> choice
    {'text': 'ab', 'depth': [1], 'finish_reason': 'length'}
    """
    for name, value in piece.items():
        grows = name in ("text", "token_ids", "depth")
        choice[name] = choice[name] + value if grows and name in choice else value


async def _all_of(works: Sequence[Coroutine[Any, Any, None]]) -> None:
    """Do all of it; where one fails or nobody wants it any more, end the others too."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
