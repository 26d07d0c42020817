"""What is raised for the user: mistakes that can be corrected, and signals that asked to stop."""

import difflib
import signal
from collections.abc import Iterable, Sequence
from typing import Final

SAME_SIGNAL: Final = 0.5
"""Seconds in which a signal that comes again is still the same: `timeout` signals twice, and what a terminal or Slurm
sends to all processes, torchrun hands on to its own once more."""


class UserError(ValueError):
    """A mistake in what the user asked for; the message says what to change.

    The command line prints it as one line and exits with status 2. Anything else that is raised is our own bug and
    keeps its traceback.
    """


class Interrupted(KeyboardInterrupt):
    """A signal asked to stop, and what there was to save is saved.

    The command line prints one line and exits with status 128 + number, as a shell reports signals.
    """

    def __init__(self, number: int = signal.SIGINT, again: Sequence[str] = ()) -> None:
        super().__init__(number)
        self.number = number
        self.again = list(again)
        """Words of the command that goes on from here."""

    @property
    def status(self) -> int:
        """What the process returns."""
        return 128 + self.number


def nearest(word: str, known: Iterable[str]) -> str:
    """Return a hint that names the known word closest to `word`, or lists the known ones.

    >>> nearest("modulo", ["modulus", "operators"])
    "did you mean 'modulus'?"
    >>> nearest("x", ["mano", "brevo"])
    'known: brevo, mano'
    >>> nearest("18", ["0", "1", "2", "+"])
    'numbers go from 0 to 2 here'
    """
    names = sorted(known)
    numbers = sorted(int(name) for name in names if name.isdecimal())
    if word.isdecimal() and len(numbers) > 1 and numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"numbers go from {numbers[0]} to {numbers[-1]} here"
    close = difflib.get_close_matches(word, names, n=1)
    return f"did you mean {close[0]!r}?" if close else f"known: {', '.join(names)}"
