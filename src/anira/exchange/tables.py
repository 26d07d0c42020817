"""Rows of Parquet and Arrow files from elsewhere, read by a process of its own.

Their decoder trusts what it reads: a damaged or hostile file makes it ask for a terabyte, or ends the process that it
runs in. So it runs in another one (table_child.py), which has a limit of memory and nothing to lose.
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from anira.config import UserError

_CHILD = Path(__file__).with_name("table_child.py")
_CHUNK = 8192  # rows that are decoded at a time


def read_table(file: Path, form: str, *, longest: int, columns: Sequence[str]) -> Iterator[dict[str, Any] | UserError]:
    """Yield the rows of a file as those of `columns` that it has; instead of a row that is too long, a UserError.

    `form` is Parquet or Arrow, `longest` the most bytes of text in a row. A file that cannot be read raises one.
    """
    words = [sys.executable, "-P", str(_CHILD), str(file), form, str(longest), str(_CHUNK), *columns]
    last: dict[str, Any] = {}
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as child:
        try:
            assert child.stdout is not None
            for line in child.stdout:
                last = json.loads(line) if line.endswith("\n") else {}
                if "row" in last:
                    yield last["row"]
                elif "long" in last:
                    yield too_long(last["long"], longest)
        finally:
            child.kill()
    if "end" not in last:
        reason = last.get("error", "it is damaged, or takes far more memory than a file of its size should")
        raise UserError(f"{file}: cannot be read as {form}: {reason}")


def too_long(size: int, longest: int) -> UserError:
    """Return what is wrong with a row of so many bytes."""
    return UserError(f"the row has {size:,} bytes, and none may have more than {longest:,}")
