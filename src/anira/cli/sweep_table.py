"""How the runs of a sweep stand: a live table on a terminal, a line for every change in a log. On stderr."""

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from anira.cli.output import tell
from anira.cli.runs import cells, duration
from anira.config import UserError, layout, printable

if TYPE_CHECKING:
    from anira.sweeps.queue import Place

Show = Callable[[Sequence["Place"]], None]
HEAD: Final = ("run", "seed", "state", "step", "left", "accuracy", "depth")


@contextmanager
def live_table() -> Iterator[Show]:
    """Yield a function that shows how runs stand, called again and again."""
    if not sys.stderr.isatty():
        yield _Lines()
        return
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(stderr=True), refresh_per_second=2, transient=True) as live:
        yield lambda places: live.update(_table(places, room=live.console.size.height - 4))


class _Lines:
    """Says what has changed since the last call, and when a run has come another quarter of its way."""

    def __init__(self) -> None:
        self.before: dict[str, tuple[str, int]] = {}

    def __call__(self, places: Sequence["Place"]) -> None:
        for place in places:
            now = place.standing, 4 * place.status.step // max(1, place.run.config.steps)
            if self.before.get(place.run.id) != now:
                self.before[place.run.id] = now
                tell(f"{place.run.label}: {_sentence(place)}")


def _sentence(place: "Place") -> str:
    status, steps = place.status, place.run.config.steps
    if place.standing == "failed":
        return f"failed: {place.reason}"
    numbers = [] if status.accuracy is None else [f"accuracy {status.accuracy:.3f}", f"depth {status.depth:.2f}"]
    at = [f"step {status.step} of {steps}"] if place.standing in ("running", "stopped", "elsewhere") else []
    words = {"elsewhere": "another process trains it", "blocked": "not begun: a run that it waits for failed"}
    return ", ".join([words.get(place.standing, place.standing), *at, *numbers])


def _table(places: Sequence["Place"], room: int) -> Any:
    """Return a table of the runs; where the terminal is too small, those under way come first."""
    from rich.table import Table

    order = {"running": 0, "elsewhere": 1, "failed": 2, "stopped": 3, "ready": 4}
    shown = places
    if len(places) > room:
        shown = sorted(places, key=lambda place: order.get(place.standing, 5))[: max(1, room - 1)]
    table = Table(*HEAD, box=None, pad_edge=False, caption=summary(places), caption_justify="left")
    colours = {"running": "green", "failed": "red", "finished": "dim"}
    for place in shown:
        name, *rest = row(place)
        table.add_row(printable(name), *rest, style=colours.get(place.standing, ""))
    if len(shown) < len(places):
        table.add_row(f"and {len(places) - len(shown)} more")
    return table


def row(place: "Place") -> list[str]:
    """Write how a run of a sweep stands."""
    changes = "".join(f" {name}={value}" for name, value in place.run.changes.items())
    seed, _, *numbers = cells(place.run.config, place.status)
    return [place.run.config.preset + changes, seed, place.standing, *numbers]


def summary(places: Sequence["Place"]) -> str:
    """Count the runs by how they stand.

    >>> summary([])
    'no runs'
    """
    counts = Counter(place.standing for place in places)
    return ", ".join(f"{count} {name}" for name, count in counts.items()) or "no runs"


def close(places: Sequence["Place"], *, done: bool) -> None:
    """Say how a sweep ended; runs that failed are the user's error."""
    failed = [place for place in places if place.standing == "failed"]
    tell(f"{summary(places)}{'' if done else '; the same words again go on'}")
    if failed:
        first = f"{failed[0].run.label}: {failed[0].reason}"
        raise UserError(f"{len(failed)} of {len(places)} runs failed; {first}")


def estimate_table(places: Sequence["Place"], jobs: int) -> str:
    """Return the runs with the work that is left in them, and how long that takes with `jobs` of them at a time."""
    from anira.sweeps.launch import PER_THREAD, work_left

    rows, flops, seconds = [], 0.0, 0.0
    for place in places:
        work, time = work_left(place)
        flops, seconds = flops + work, seconds + time
        name, seed, _, step, _, *_ = row(place)
        rows.append(
            [name, seed, place.status.state, step, f"{work:.1e}" if work else "", duration(time) if work else ""]
        )
    left = [place for place in places if place.status.state != "finished"]
    at_a_time = max(1, min(jobs, len(left)))
    table = layout(["run", "seed", "state", "step", "FLOPs left", "time left"], rows)
    note = (
        f"{len(places)} runs, {len(left)} to do: {flops:.1e} FLOPs, about {duration(seconds / at_a_time)} with "
        f"{at_a_time} at a time\ntimes: as a run's own last steps took, else {PER_THREAD:.0e} FLOP/s for each thread; "
        "without evaluations"
    )
    return f"{table}\n{note}"
