"""The facts of the machine: what a measured figure depends on, and what fits into it."""

import os
import platform
import resource
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from anira.config.errors import UserError

_LIMITS: Final = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")  # of containers


def machine() -> dict[str, Any]:
    """Return what a figure of speed depends on, and when it was measured."""
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def memory() -> int:
    """Return how many bytes of memory a process can have: the machine's, or less where it is confined."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    limits += [int(text) for text in map(_text, _LIMITS) if text.isdecimal()]
    confined, _ = resource.getrlimit(resource.RLIMIT_AS)
    return min([*limits, confined] if confined != resource.RLIM_INFINITY else limits)


def check_room(needed: float, what: str, room: int | None = None, place: str = "this machine's memory") -> None:
    """Raise a UserError if something needs more bytes than there are, of memory by default.

    >>> check_room(4e12, "--batch-size 1000000", room=16 * 10**9)
    Traceback (most recent call last):
    anira.config.errors.UserError: --batch-size 1000000 takes about 4 TB, and this machine's memory has 16 GB
    """
    there = memory() if room is None else room
    if needed > there:
        raise UserError(f"{what} takes about {size(needed)}, and {place} has {size(there)}")


def size(count: float) -> str:
    """Write a number of bytes shortly.

    >>> size(1500), size(23.6e9), size(1e30)
    ('2 kB', '24 GB', '1e+12 EB')
    """
    for unit in ("bytes", "kB", "MB", "GB", "TB", "PB"):
        if count < 1000:
            return f"{count:.0f} {unit}"
        count /= 1000
    return f"{count:.3g} EB"


def _text(file: str) -> str:
    try:
        return Path(file).read_text().strip()
    except OSError:
        return ""


def _cpu_model() -> str:
    lines = _text("/proc/cpuinfo").splitlines()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()
