"""Speed of CLRS: the training mixture, and every subtask at size 32. The bars are absolute.

There is no plain generator to stand beside. dm-clrs, which the rows are tested against, makes about 250 rows of the
mixture a second; it is too large to be installed for a benchmark.
"""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from anira.tasks.clrs import Clrs

MIXTURE_BAR: Final = 4000.0
SUBTASK_BAR: Final = 150.0
SIZE: Final = 32


@dataclass(frozen=True, kw_only=True)
class ClrsSpeed:
    """Medians over the repeats, in CPU time."""

    what: str
    size: int | None
    """None: the sizes of training."""
    rows: int
    instances_per_second: float
    tokens_per_second: float
    bar: float
    met: bool


def clrs_speeds(*, rows: int, repeats: int, report: Callable[[str], None]) -> list[ClrsSpeed]:
    """Measure the mixture on `rows` rows, and one block of each subtask."""
    task = Clrs()
    report(f"clrs: {repeats} x {rows} rows of all subtasks")
    speeds = [_speed(task, "mixture", None, rows, repeats, MIXTURE_BAR)]
    report(f"clrs: {repeats} x {task.block} rows of each subtask at size {SIZE}")
    return speeds + [_speed(part, part.subtask, SIZE, task.block, repeats, SUBTASK_BAR) for part in task.parts()]


def _speed(task: Clrs, what: str, size: int | None, rows: int, repeats: int, bar: float) -> ClrsSpeed:
    seconds, tokens = [], []
    for repeat in range(repeats):
        start = time.process_time()
        # A seed of its own for every repeat: nothing is in the cache of blocks.
        made = task.rows(seed=repeat, stream="train", start=0, count=rows, knob=size)
        seconds.append(time.process_time() - start)
        tokens.append(int(made.lengths.sum()))
    usual = statistics.median(seconds)
    return ClrsSpeed(
        what=what,
        size=size,
        rows=rows,
        instances_per_second=rows / usual,
        tokens_per_second=statistics.median(tokens) / usual,
        bar=bar,
        met=rows / usual >= bar,
    )
