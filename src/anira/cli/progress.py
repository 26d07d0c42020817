"""How far a long command is: a bar on a terminal, a plain line every few seconds in a log. On stderr."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from anira.cli.output import tell
from anira.config import printable

_SECONDS_BETWEEN_LINES = 5.0


@contextmanager
def progress(total: int, label: str) -> Iterator[Callable[[int], None]]:
    """Yield a function that is told how many rows were finished since its last call."""
    if sys.stderr.isatty():
        with _bar(total, label) as advance:
            yield advance
    else:
        yield _lines(total, label)


@contextmanager
def _bar(total: int, label: str) -> Iterator[Callable[[int], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
    )
    start, done = time.monotonic(), 0
    # transient: the command's last line says what was done, the bar need not stay
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(printable(label), total=total, rate="")

        def advance(rows: int) -> None:
            nonlocal done
            done += rows
            bar.update(task, advance=rows, rate=rate(done, time.monotonic() - start))

        yield advance


def _lines(total: int, label: str) -> Callable[[int], None]:
    start = last = time.monotonic()
    done = 0

    def advance(rows: int) -> None:
        nonlocal done, last
        done += rows
        now = time.monotonic()
        if now - last >= _SECONDS_BETWEEN_LINES:
            last = now
            tell(f"{label}: {done} of {total} rows, {rate(done, now - start)}")

    return advance


def rate(rows: int, seconds: float) -> str:
    """Write a speed.

    >>> rate(30000, 1.5)
    '20,000 rows/s'
    """
    return f"{rows / max(seconds, 1e-9):,.0f} rows/s"
