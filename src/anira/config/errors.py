"""The one exception for mistakes that the user can correct."""

import difflib
from collections.abc import Iterable


class UserError(ValueError):
    """A mistake in what the user asked for; the message says what to change.

    The command line prints it as one line and exits with status 2. Anything else that is raised is our own bug and
    keeps its traceback.
    """


def nearest(word: str, known: Iterable[str]) -> str:
    """Return a hint that names the known word closest to `word`, or lists the known ones.

    >>> nearest("modulo", ["modulus", "operators"])
    "did you mean 'modulus'?"
    >>> nearest("x", ["mano", "brevo"])
    'known: brevo, mano'
    """
    names = sorted(known)
    close = difflib.get_close_matches(word, names, n=1)
    return f"did you mean {close[0]!r}?" if close else f"known: {', '.join(names)}"
