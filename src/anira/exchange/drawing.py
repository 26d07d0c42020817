"""An instance as a person reads it: the problem, and the probes under the tokens."""

from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Any

from anira.config import printable
from anira.exchange.rows import probe_values
from anira.tasks import IGNORE, BlockTask, Rows

_GAP = 2  # spaces between columns
_ANCHORS = {
    "input": "compared with the depth at the token itself",
    "target": "compared with the depth one position earlier, where the token is predicted",
}


def draw_instance(task: BlockTask, rows: Rows, i: int) -> str:
    """Return picture, question, answer and meta, one below the other."""
    instance, knob = task.instance(rows, i), int(rows.knob[i])
    facts = {
        "question": instance.question,
        "answer": instance.answer,
        task.knob.name: f"{knob} ({task.knob.split(knob)})",
        **instance.meta,
    }
    width = max(map(len, facts))
    margin = "\n" + " " * (width + 4)  # a value of several lines stays in its column
    lines = instance.picture.splitlines() + [
        f"{name:{width}}  {margin.join(str(value).rstrip().splitlines())}" for name, value in facts.items()
    ]
    return "\n".join(f"  {line}" for line in lines)


def draw_probes(task: BlockTask, rows: Rows, i: int, *, width: int) -> str:
    """Return a table with the tokens as columns and a probe in each line, cut into bands that fit `width`.

    A probe that is nowhere defined in a band has no line there.
    """
    tokens = [visible(task.vocab.tokens[token]) for token in rows.ids(i)]
    lines = {
        "position": [str(position) for position in range(len(tokens))],
        "token": tokens,
        **_answers(task, rows, i),
        **{name: [_cell(value) for value in values] for name, values in probe_values(task, rows, i).items()},
    }
    return "\n\n".join(draw_bands(lines, width=width))


def draw_bands(
    lines: dict[str, list[str]], *, width: int, shade: Callable[[int, str], str] = lambda i, cell: cell
) -> Iterator[str]:
    """Yield lines of cells, each line after its name, cut into bands that fit `width`.

    `shade` may colour a cell of the line of tokens. A line that says nothing in a band is left out of it.
    """
    label_width = max(map(len, lines))
    widths = [max(map(len, column)) for column in zip(*lines.values(), strict=True)]
    for start, end in _bands(widths, room=width - label_width - _GAP):
        band = []
        for name, cells in lines.items():
            if {*cells[start:end]} <= {".", ""}:
                continue
            padded = [f"{cells[k]:>{widths[k]}}" for k in range(start, end)]
            shown = [shade(start + k, cell) for k, cell in enumerate(padded)] if name == "token" else padded
            band.append((" " * _GAP).join([f"{name:{label_width}}", *shown]).rstrip())
        yield "\n".join(band)


def _answers(task: BlockTask, rows: Rows, i: int) -> dict[str, list[str]]:
    """Return the line that says what is supervised; answers that are no tokens of the row stand where they are due."""
    labels = rows.labels[i, : rows.lengths[i]].tolist()
    if not rows.is_dense(i):
        return {"supervised": ["*" if label != IGNORE else "" for label in labels]}
    return {
        "predicts": ["" if label == IGNORE else visible(task.vocab.tokens[label]) for label in [*labels[1:], IGNORE]]
    }


def visible(token: str) -> str:
    r"""Return a token as a table shows it: a newline would break the line.

    >>> visible("\n"), visible("<bos>")
    ('\\n', '<bos>')
    """
    return printable(token).replace("\n", "\\n").replace("\t", "\\t")


def legend(task: BlockTask) -> str:
    """Explain the marks and every probe of the table."""
    names, anchors = max(len(probe.name) for probe in task.probe_specs), max(map(len, _ANCHORS))
    lines = [f"  {probe.name:{names}}  {probe.anchor:{anchors}}  {probe.meaning}" for probe in task.probe_specs]
    used = dict.fromkeys(probe.anchor for probe in task.probe_specs)
    anchor_lines = [f"  anchor {anchor}: {_ANCHORS[anchor]}" for anchor in used]
    return "\n".join(["  * supervised token, . undefined", *anchor_lines, *lines])


def _cell(value: Any) -> str:
    """Write one probe value.

    >>> [_cell(value) for value in (None, 2.0, 0.25, [7.0, 9.0])]
    ['.', '2', '0.25', '7,9']
    """
    if value is None:
        return "."
    return ",".join(map(_cell, value)) if isinstance(value, list) else f"{value:g}"


def _bands(widths: list[int], *, room: int) -> list[tuple[int, int]]:
    """Cut columns into ranges that are at most `room` wide; a column that is wider stands alone.

    >>> _bands([3, 3, 3], room=8)
    [(0, 2), (2, 3)]
    """
    bands, start = [], 0
    ends = list(accumulate(width + _GAP for width in widths))
    for column in range(1, len(widths)):
        used = ends[column] - (ends[start - 1] if start else 0) - _GAP
        if used > room:
            bands.append((start, column))
            start = column
    return [*bands, (start, len(widths))]
