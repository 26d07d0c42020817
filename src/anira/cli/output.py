"""The one place that prints: results on stdout, all else on stderr, with nothing in them that a terminal would obey."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from anira.config import UserError, json_text, printable

_VERDICTS = {"supported": "green", "contradicted": "red", "inconclusive": "yellow", "not testable": "dim"}


def say(text: object = "") -> None:
    """Print a result."""
    _write(printable(str(text)), sys.stdout)


def say_coloured(text: str) -> None:
    """Print a result that has our colours in it; its caller has made what came from elsewhere printable."""
    _write(text, sys.stdout)


def say_page(text: str) -> None:
    """Print sentences and tables; on a terminal verdicts in colour, sentences wrapped and tables cut at its width."""
    if sys.stdout is None or not sys.stdout.isatty():
        say(text)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(file=sys.stdout, highlight=False)
    with console.capture() as captured:
        for line in printable(text).split("\n"):
            shown, is_table = Text(line), "  " in line
            for word, colour in _VERDICTS.items():
                shown.highlight_regex(rf"\b{word}\b", colour)
            console.print(shown, no_wrap=is_table, overflow="ellipsis" if is_table else "fold")
    _write(captured.get().removesuffix("\n"), sys.stdout)


def say_json(value: Any, *, indent: int | None = None) -> None:
    """Print a result for scripts."""
    _write(json_text(value, indent=indent), sys.stdout)


def tell(text: object) -> None:
    """Print how things stand, at once."""
    _write(printable(str(text)), sys.stderr)
    flush()


def flush() -> None:
    """Hand on what was printed so far."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            with _failures_named(stream):
                stream.flush()


def _write(text: str, stream: TextIO | None) -> None:
    if stream is None:  # the parent process closed it
        return
    coding = stream.encoding or "utf-8"
    # A terminal that has only ASCII shows other characters written out; an error would be no help.
    with _failures_named(stream):
        stream.write(text.encode(coding, "backslashreplace").decode(coding) + "\n")


@contextmanager
def _failures_named(stream: TextIO) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        name = "stdout" if stream is sys.stdout else "stderr"
        raise UserError(f"cannot write to {name}: {error.strerror or error}") from error
