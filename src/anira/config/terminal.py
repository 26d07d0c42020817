"""Text for terminals: what a file or a name from elsewhere says is shown, never obeyed."""

import os
import shlex
from collections.abc import Sequence
from pathlib import Path


def printable(text: str) -> str:
    r"""Return text with everything a terminal would act on, or that would change how the rest reads, written out.

    Control characters (colours, titles, the cursor), marks that turn the direction of writing, and halves of characters
    become what Python calls them; ends of lines and tabs stay.

    >>> print(printable("run \x1b[31m1\r \u202e"))
    run \x1b[31m1\r \u202e
    """
    lines = text.split("\n")  # most are printable as a whole, which is quickly seen
    return "\n".join(line if line.isprintable() else _written_out(line) for line in lines)


def command(*words: str | Path) -> str:
    """Return a command that a shell reads as exactly these words.

    >>> command("anira", "analyze", Path("my runs/a"), "--evaluation", "final")
    "anira analyze 'my runs/a' --evaluation final"
    """
    return " ".join(_quoted(word) for word in words)


def _written_out(line: str) -> str:
    return "".join(one if one.isprintable() or one == "\t" else _escaped(one) for one in line)


def _escaped(one: str) -> str:
    return one.encode("unicode_escape").decode()


def _quoted(word: str | Path) -> str:
    text = str(word)
    if isinstance(word, Path) and text.startswith("-"):
        text = f"./{text}"  # or it would be read as an option
    if text.isprintable():
        return shlex.quote(text)
    plain = (chr(byte) if 32 <= byte < 127 and byte not in b"\\'" else f"\\x{byte:02x}" for byte in os.fsencode(text))
    return f"$'{''.join(plain)}'"


def layout(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Align columns under their heads.

    >>> print(layout(["knob", "n"], [["3", "100"], ["all", "200"]]))
    knob  n
    3     100
    all   200
    """
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = [[f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)] for row in (head, *rows)]
    return "\n".join("  ".join(line).rstrip() for line in lines)
