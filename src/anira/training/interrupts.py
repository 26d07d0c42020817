"""Signals that ask a run to stop: Ctrl-C, and SIGTERM, which Slurm, `timeout` and `kill` send."""

import signal
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, Final, Self

from anira.config import SAME_SIGNAL, Interrupted

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """Lets the step in progress finish, and its checkpoint be written, when a signal comes; a second one ends it all.

    `tell` is called at once, because a step can take long. Outside the main thread, where Python hears no signals,
    nothing is done.
    """

    def __init__(self, tell: Callable[[], None]) -> None:
        self.asked = 0
        """Number of the signal that came, or 0."""
        self._tell = tell
        self._since = 0.0
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            heeded = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
            self._before = {number: signal.signal(number, self._note) for number in heeded}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if not self.asked:
            self.asked, self._since = number, time.monotonic()
            self._tell()
        elif time.monotonic() - self._since > SAME_SIGNAL:
            raise Interrupted(number)
