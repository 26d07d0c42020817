"""One client of the soak: good, slow, impatient and malformed requests over a plain socket, each accounted for."""

import asyncio
import json
import socket
import struct
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any, Final

from anira.config import json_text

_PATIENCE: Final = 400.0
"""Seconds after which a request without an answer is lost; the server itself gives up before."""
_MALFORMED: Final = (
    b"",
    b"{",
    b"[[[[" * 1000,
    b'{"prompt": NaN}',
    b'{"prompt": "a", "max_tokens": 0}',
    b'{"prompt": "a", "max_tokens": 1e99}',
    b'{"prompt": [99999]}',
    b'{"prompt": [-1]}',
    b'{"prompt": "a", "threshold": 1e999}',
    b'{"prompt": "a", "nonsense": 1}',
    b'{"prompt": "a", "n": 5}',
    b"\xff\xfe\x00",
)


class Client:
    """Does one thing after the other, and counts how each ended.

    answered: the whole answer came, and it is JSON as it should be. refused: 429. late: the server said that its time
    limit was over. rejected: nonsense was refused with 4xx. left: this client went away on purpose. lost: anything
    else. Beside these, answers that are `differing` from the first one to the same question.
    """

    def __init__(self, port: int, draw: Random, answers: dict[Any, Any]) -> None:
        self.port, self.draw, self._answers = port, draw, answers
        self.counts: Counter[str] = Counter()
        self.kinds: Counter[str] = Counter()
        self.losses: list[str] = []
        self.differing = 0

    async def act(self, until: float) -> None:
        """Act until a moment."""
        while time.monotonic() < until:
            kind = self.draw.choices(list(KINDS), [weight for weight, _ in KINDS.values()])[0]
            self.kinds[kind] += 1
            try:
                outcome = await asyncio.wait_for(KINDS[kind][1](self), _PATIENCE)
            except (OSError, EOFError, ValueError, KeyError, TimeoutError, asyncio.IncompleteReadError) as error:
                outcome = "lost"
                self.losses.append(f"{kind}: {type(error).__name__} {error}"[:100])
            self.counts[outcome] += 1
            await asyncio.sleep(self.draw.random() * 0.05)

    async def page(self, path: str) -> str:
        """Return what a page says."""
        reader, writer = await self._connect()
        writer.write(f"GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n".encode())
        text = (await reader.read()).decode()
        writer.close()
        return text

    async def whole(self) -> str:
        """Ask, and wait for all of it."""
        asked = self._question()
        status, body = await self._exchange(json_text(asked).encode())
        return self._judged(asked, status, json.loads(body)["choices"][0] if status == 200 else None)

    async def stream(self, pause: float = 0.0) -> str:
        """Ask for a stream, and read it to its end."""
        asked = self._question()
        reader, writer = await self._ask({**asked, "stream": True})
        status = int((await reader.readline()).split()[1])
        lines = []
        while line := await reader.readline():
            lines.append(line)
            await asyncio.sleep(pause)
        writer.close()
        pieces = [line.removeprefix(b"data: ").strip() for line in lines if line.startswith(b"data: ")]
        if status != 200:
            return self._judged(asked, status, None)
        if pieces and b'"code": "timeout"' in pieces[-1]:
            return "late"
        if not pieces or pieces[-1] != b"[DONE]":
            raise EOFError(f"a stream broke off: {pieces[-1:]}")
        choices = [one for piece in pieces[:-1] for one in json.loads(piece)["choices"]]
        names = ("token_ids", "depth")
        return self._judged(asked, status, {name: [i for one in choices for i in one[name]] for name in names})

    async def slow(self) -> str:
        """Read a stream slowly."""
        return await self.stream(pause=0.02)

    async def leave(self) -> str:
        """Go away in the middle of a stream, as a process that is killed does."""
        reader, writer = await self._ask({**self._question(), "stream": True, "max_tokens": 64})
        for _ in range(self.draw.randrange(20)):
            await reader.readline()
        self._reset(writer)
        return "left"

    async def vanish(self) -> str:
        """Ask, and go away without waiting; or in the middle of asking."""
        body = json_text(self._question()).encode()
        _, writer = await self._connect()
        writer.write(_head(len(body)) + body[: self.draw.choice([0, len(body) // 2, len(body)])])
        await writer.drain()
        await asyncio.sleep(self.draw.random() * 0.1)
        self._reset(writer)
        return "left"

    async def nonsense(self) -> str:
        """Send what is no request."""
        status, body = await self._exchange(self.draw.choice(_MALFORMED))
        if status == 429:
            return "refused"
        if not 400 <= status < 500 or "message" not in json.loads(body)["error"]:
            raise ValueError(f"nonsense was answered with {status}")
        return "rejected"

    async def oversized(self) -> str:
        """Send more than is allowed."""
        status, _ = await self._exchange(b"x" * 50_000)
        if status != 413:
            raise ValueError(f"a large body was answered with {status}")
        return "rejected"

    async def garbage(self) -> str:
        """Send what is not even HTTP."""
        reader, writer = await self._connect()
        writer.write(self.draw.randbytes(100) + b"\r\n\r\n")
        answer = await reader.read()
        writer.close()
        if b" 400 " not in answer[:20]:
            raise ValueError(f"garbage was answered with {answer[:20]!r}")
        return "rejected"

    def _question(self) -> dict[str, Any]:
        """Return one of a few hundred questions, so that answers can be compared."""
        rule: dict[str, Any] = self.draw.choice([{}, {}, {"exit_depth": 2}, {"select": "quantile", "threshold": 0.8}])
        size = self.draw.choice([1, 5, 20, 100])
        sampling = self.draw.choice([{}, {"temperature": 1.0, "seed": self.draw.randrange(3)}])
        return {"prompt": "abcde" * size, "max_tokens": self.draw.choice([1, 8, 32]), **rule, **sampling}

    def _judged(self, asked: dict[str, Any], status: int, choice: dict[str, Any] | None) -> str:
        if status in (429, 408):
            return "refused" if status == 429 else "late"
        if choice is None:
            raise ValueError(f"a good request was answered with {status}")
        if len(choice["token_ids"]) != len(choice["depth"]) or not 1 <= len(choice["depth"]) <= asked["max_tokens"]:
            raise ValueError("an answer has not the tokens that were asked for")
        found = [choice["token_ids"], choice["depth"]]
        self.differing += self._answers.setdefault(json_text(asked), found) != found
        return "answered"

    async def _exchange(self, body: bytes) -> tuple[int, bytes]:
        reader, writer = await self._connect()
        writer.write(_head(len(body)) + body)
        answer = await reader.read()
        writer.close()
        head, _, rest = answer.partition(b"\r\n\r\n")
        return int(head.split()[1]), rest

    async def _ask(self, fields: dict[str, Any]) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await self._connect()
        body = json_text(fields).encode()
        writer.write(_head(len(body)) + body)
        return reader, writer

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.port)

    def _reset(self, writer: asyncio.StreamWriter) -> None:
        """Close a connection without a word."""
        own = writer.get_extra_info("socket")
        own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.close()


def _head(length: int) -> bytes:
    lines = ["POST /v1/completions HTTP/1.1", "host: localhost", "content-type: application/json", "connection: close"]
    return "\r\n".join([*lines, f"content-length: {length}", "", ""]).encode()


KINDS: Final[dict[str, tuple[float, Callable[[Client], Awaitable[str]]]]] = {
    "whole": (6, Client.whole),
    "stream": (6, Client.stream),
    "slow": (1, Client.slow),
    "leave": (3, Client.leave),
    "vanish": (2, Client.vanish),
    "nonsense": (3, Client.nonsense),
    "oversized": (1, Client.oversized),
    "garbage": (1, Client.garbage),
}
"""What clients do -> how often, and how."""
