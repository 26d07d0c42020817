"""Who may use the engine: everybody together, or, after an error, one at a time.

The engine cannot tell on whose tokens a tick has failed. So those that ran are tried again, each alone: the one that
fails again is to blame, and the others are answered.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager

Leave = Callable[[], None]
"""Leaves early, once the engine has done its work: a client may still be reading. A second call does nothing."""


class Turns:
    """Any number may be inside together; whoever must be alone waits for them to leave, and goes before newcomers."""

    def __init__(self) -> None:
        self.waiting = 0
        """How many are not inside yet."""
        self._inside = 0
        self._want_alone = 0
        self._moved = asyncio.Event()

    @asynccontextmanager
    async def together(self) -> AsyncIterator[Leave]:
        """Be inside with others, once nobody wants to be alone."""
        await self._until(lambda: not self._want_alone)
        with self._entered() as leave:
            yield leave

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[Leave]:
        """Be inside alone."""
        self._want_alone += 1
        with ExitStack() as left:
            left.callback(self._give_up_alone)
            await self._until(lambda: not self._inside)
            left.enter_context(self._entered())
            yield left.close

    @contextmanager
    def _entered(self) -> Iterator[Leave]:
        self._inside += 1
        with ExitStack() as left:
            left.callback(self._leave)
            yield left.close

    def _give_up_alone(self) -> None:
        self._want_alone -= 1
        self._move()

    async def _until(self, free: Callable[[], bool]) -> None:
        self.waiting += 1
        try:
            while not free():
                await self._moved.wait()
        finally:
            self.waiting -= 1

    def _leave(self) -> None:
        self._inside -= 1
        self._move()

    def _move(self) -> None:
        """Wake those who wait; each looks for itself whether it is its turn."""
        self._moved.set()
        self._moved = asyncio.Event()
