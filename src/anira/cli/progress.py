"""How far a long command is: a bar on a terminal, a plain line every few seconds in a log. On stderr."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from anira.cli.output import tell
from anira.config import printable

_SECONDS_BETWEEN_LINES = 5.0


class Bar:
    """A bar on a terminal, which goes when the command ends: its last line says what was done. Elsewhere, nothing."""

    def __init__(self, total: int, label: str = "") -> None:
        self.total, self.label = total, label
        self._bar: Any = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            label, text = (TextColumn(f"{{task.{name}}}", markup=False) for name in ("description", "fields[text]"))
            columns = (label, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), text)
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._bar.__enter__()
            self._bar.add_task(printable(self.label), total=self.total, text="")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.__exit__(kind, error, tb)

    def move(self, done: int, text: str) -> bool:
        """Show how much is done, and a text beside it; return whether there is a bar."""
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=done, text=text)
        return self._bar is not None

    def print(self, text: str) -> None:
        """Print something that stays, above the bar if there is one."""
        if self._bar is not None:
            self._bar.console.print(printable(text), highlight=False, markup=False)
        else:
            tell(text)


@contextmanager
def progress(total: int, label: str) -> Iterator[Callable[[int], None]]:
    """Yield a function that is told how many rows were finished since its last call."""
    start = last = time.monotonic()
    done = 0

    def advance(rows: int) -> None:
        nonlocal done, last
        done += rows
        now = time.monotonic()
        speed = rate(done, now - start)
        if not bar.move(done, speed) and now - last >= _SECONDS_BETWEEN_LINES:
            last = now
            tell(f"{label}: {done} of {total} rows, {speed}")

    with Bar(total, label) as bar:
        yield advance


def rate(rows: int, seconds: float) -> str:
    """Write a speed.

    >>> rate(30000, 1.5)
    '20,000 rows/s'
    """
    return f"{rows / max(seconds, 1e-9):,.0f} rows/s"
