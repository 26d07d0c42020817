"""Speed of the tasks: the vectorised generators beside plain ones, and how fast the command line starts.

Both generators of a task run in this process and this thread, in turn, so that a busy machine slows both alike.
"""

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import import_module
from random import Random
from typing import Any, Final

from anira.config import UserError
from anira.config.machine import machine
from anira.tasks import BLOCK, make_task
from benchmarks.clrs import clrs_speeds

BARS: Final = {"mano": 10.0, "brevo": 5.0, "depo": 10.0, "words": 10.0, "wordmath": 10.0}
"""How many times as fast as its plain generator a task must be."""
STARTUP_AIM: Final = 0.5  # seconds
STARTUPS: Final = {"anira --help": ["--help"], "anira tasks": ["tasks"]}


@dataclass(frozen=True, kw_only=True)
class Speed:
    """Medians over the repeats, in CPU time."""

    task: str
    rows: int
    instances_per_second: float
    tokens_per_second: float
    plain_instances_per_second: float
    plain_tokens_per_second: float
    ratio: float
    bar: float
    met: bool


def bench(*, rows: int, repeats: int, report: Callable[[str], None]) -> dict[str, Any]:
    """Measure everything; `report` is told what comes next."""
    if rows < BLOCK or rows % BLOCK:
        raise UserError(f"--rows must be a multiple of {BLOCK}, the block in which rows are generated, not {rows}")
    speeds = []
    for name, bar in BARS.items():
        report(f"{name}: {repeats} x {rows} rows")
        speeds.append(asdict(_speed(name, rows=rows, repeats=repeats, bar=bar)))
    clrs = [asdict(speed) for speed in clrs_speeds(rows=rows, repeats=repeats, report=report)]
    report("start of the command line")
    startup = _startup(max(3, repeats))
    facts = {"machine": machine(), "time": "CPU time of one thread", "repeats": repeats}
    return {**facts, "tasks": speeds, "clrs": clrs, "startup": startup}


def _speed(name: str, *, rows: int, repeats: int, bar: float) -> Speed:
    task = make_task(name)
    generate = import_module(f"benchmarks.plain.{name}").generate

    def fast(repeat: int) -> int:
        # A seed of its own for every repeat: nothing is in the cache of blocks.
        return int(task.rows(seed=repeat, stream="train", start=0, count=rows).lengths.sum())

    def plain(repeat: int) -> int:
        rng = Random(repeat)
        return sum(len(ids) for ids, _ in [generate(rng, task.config) for _ in range(rows)])

    fast(repeats)  # the first call pays for what is loaded and allocated once
    pairs = [(_timed(fast, repeat), _timed(plain, repeat)) for repeat in range(repeats)]
    (seconds, tokens), (plain_seconds, plain_tokens) = (_medians(side) for side in zip(*pairs, strict=True))
    return Speed(
        task=name,
        rows=rows,
        instances_per_second=rows / seconds,
        tokens_per_second=tokens / seconds,
        plain_instances_per_second=rows / plain_seconds,
        plain_tokens_per_second=plain_tokens / plain_seconds,
        ratio=plain_seconds / seconds,
        bar=bar,
        met=plain_seconds / seconds >= bar,
    )


def _timed(work: Callable[[int], int], repeat: int) -> tuple[float, int]:
    start = time.process_time()
    tokens = work(repeat)
    return time.process_time() - start, tokens


def _medians(measured: tuple[tuple[float, int], ...]) -> tuple[float, float]:
    seconds, tokens = zip(*measured, strict=True)
    return statistics.median(seconds), statistics.median(tokens)


def _startup(repeats: int) -> list[dict[str, Any]]:
    out = []
    for command, words in STARTUPS.items():
        seconds = statistics.median(_child_seconds(words) for _ in range(repeats))
        out.append({"command": command, "seconds": seconds, "aim": STARTUP_AIM, "met": seconds <= STARTUP_AIM})
    return out


def _child_seconds(words: list[str]) -> float:
    """Return the wall time of a command in a new process."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "anira.cli", *words], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start
