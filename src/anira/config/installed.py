"""What installed packages offer: their entry points."""

import sys
from functools import cache
from importlib.metadata import EntryPoints, entry_points


def installed(group: str) -> EntryPoints:
    """Return the entry points of one group.

    Reading the metadata of every installed package takes 50 ms, and one command asks dozens of times: they are read
    once for each search path.
    """
    return _read(group, tuple(sys.path))


@cache
def _read(group: str, path: tuple[str, ...]) -> EntryPoints:
    return entry_points(group=group)
