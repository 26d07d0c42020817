"""What a benchmark returns, laid out for people: facts in a line each, then a table of each list of rows."""

import shutil
from collections.abc import Sequence
from typing import Any

from anira.config import layout

Row = dict[str, Any]


def result_text(result: Row) -> str:
    """Write a whole result.

    >>> speeds = [{"what": "ours", "bar": 10.0, "met": False}]
    >>> print(result_text({"machine": {"cores": 2}, "repeats": 5, "speeds": speeds}))
    machine  cores 2
    repeats  5
    <BLANKLINE>
    speeds  bar  met
    ours    10   NO
    """
    facts = {name: value for name, value in result.items() if not isinstance(value, list)}
    width = max(map(len, facts))
    lines = [f"{_label(name):{width}}  {_cell(name, value)}" for name, value in facts.items()]
    tables = [_table(name, rows) for name, rows in result.items() if isinstance(rows, list)]
    return "\n\n".join(["\n".join(lines), *tables])


def _table(name: str, rows: Sequence[Row]) -> str:
    """Lay rows out under one head; where their fields differ or the terminal is too narrow, each is a block."""
    if any(row.keys() != rows[0].keys() for row in rows):
        return "\n\n".join(map(_block, rows))
    first, *others = map(_label, rows[0])
    head = [name if first == "what" else first, *others]
    table = layout(head, [[_cell(*field) for field in row.items()] for row in rows])
    fits = max(map(len, table.splitlines())) <= shutil.get_terminal_size((100, 24)).columns
    return table if fits else "\n\n".join(map(_block, rows))


def _block(row: Row) -> str:
    what, *facts = row.items()
    return "\n".join([str(what[1]), *(f"  {_label(name):28} {_cell(name, value)}" for name, value in facts)])


def _label(name: str) -> str:
    return name.replace("_", " ")


def _cell(name: str, value: Any) -> str:
    """Write one value; a bar that is not met stands out.

    >>> [_cell("value", value) for value in (None, True, 12345.6, 0.12345, 7, {"cores": 2, "system": "Linux"})]
    ['', 'yes', '12,346', '0.123', '7', 'cores 2, system Linux']
    >>> _cell("met", False), _cell("least", False)
    ('NO', 'no')
    """
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "NO" if name.endswith("met") else "no"
        case float():
            return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
        case int():
            return f"{value:,}"
        case dict():
            return ", ".join(f"{_label(name)} {_cell(name, each)}" for name, each in value.items())
    return str(value)
