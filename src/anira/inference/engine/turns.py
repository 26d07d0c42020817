"""When the engine reads out what has left the core, and lets new tokens in.

Prelude, coda and head take about as long for one token as for several. If they ran as soon as anyone stops, rows at
full depth would end up each in another iteration, and every tick would run all layers, for a token each.
"""

from collections.abc import Mapping, Set
from typing import Final

from anira.inference.engine.requests import Handle

PATIENCE: Final = 2
"""Requests that wait for each one inside: 0 to 3 were measured (docs/serving.md)."""


def is_time(running: Mapping[int, Handle], inside: Set[int]) -> bool:
    """Say whether enough requests wait, by row; `inside` are the rows that have tokens in the core.

    One whose reader is behind does not wait, and one whose prompt is not all in yet always does.
    """
    waiting = [
        handle
        for row, handle in running.items()
        if handle.fed < len(handle.prompt) or (row not in inside and (handle.chunks or not handle.paused))
    ]
    return len(waiting) >= PATIENCE * len(inside)
