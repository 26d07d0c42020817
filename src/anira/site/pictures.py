"""The picture of a problem in the token view: BREVO's graph and MANO's expression, read off the question.

A picture is data that the page's script draws as it is: boxes with a text, and lines between them, in pixels.
"""

from collections.abc import Callable, Sequence
from graphlib import TopologicalSorter
from itertools import count
from typing import Any, Final, NamedTuple

Picture = dict[str, Any]
_LARGEST: Final = 400
"""Words of a question; a larger picture would be illegible."""
_LETTER, _PADDING, _HEIGHT = 8, 14, 26
"""Of a box: the width of a letter, what is left and right of them, and its height."""


class Node(NamedTuple):
    """A box, in which column and row it stands, and how it is drawn: plain, faint or strong."""

    text: str
    column: float
    row: float
    kind: str = "plain"
    turn: str = ""
    """A small text at its corner."""


def picture(task: str, question: str, answer: str) -> Picture | None:
    """Return the picture of a problem; None for tasks that have none, and for questions that are not the task's.

    >>> picture("mano", "+ 1 2 <ans>", "3")["boxes"][0]
    {'text': '+', 'x': 39.0, 'y': 23.0, 'width': 22, 'kind': 'plain', 'turn': ''}
    """
    words = question.split()
    if task not in _MADE_BY or len(words) > _LARGEST:
        return None
    try:
        return _MADE_BY[task](words, answer.split())
    except (ValueError, IndexError):  # records from elsewhere may hold anything
        return None


def _graph(words: Sequence[str], answer: Sequence[str]) -> Picture:
    """Return a graph from left to right: what a node depends on stands before it, with its place in the answer."""
    end = words.index("<query>")
    edges = list(zip(words[:end:2], words[1:end:2], strict=True))
    before: dict[str, list[str]] = {name: [] for edge in edges for name in edge}
    for parent, child in edges:
        before[child].append(parent)
    columns: dict[str, int] = {}
    for name in TopologicalSorter(before).static_order():
        columns[name] = max((columns[one] + 1 for one in before[name]), default=0)
    rows = _rows(before, columns)
    turns = {name: str(turn) for turn, name in enumerate(answer, 1)}
    kinds = {name: "plain" if name in turns else "faint" for name in before} | {words[end + 1]: "strong"}
    nodes = [Node(name, columns[name], rows[name], kinds[name], turns.get(name, "")) for name in before]
    places = {name: i for i, name in enumerate(before)}
    return _drawn(nodes, [(places[parent], places[child]) for parent, child in edges], gap=46, bow=26)


def _rows(before: dict[str, list[str]], columns: dict[str, int]) -> dict[str, float]:
    """Return the row of each node: about that of what it depends on, so that few edges cross."""
    rows: dict[str, float] = {}
    for column in range(max(columns.values()) + 1):
        means = {
            name: sum(rows[one] for one in parents) / max(1, len(parents))
            for name, parents in before.items()
            if columns[name] == column
        }
        for place, name in enumerate(sorted(means, key=lambda name: means[name])):
            rows[name] = place - (len(means) - 1) / 2
    return rows


def _tree(words: Sequence[str], _: Sequence[str]) -> Picture:
    """Return an expression in prefix notation as a tree, its operands from left to right."""
    symbols = [word for word in words if not word.startswith("<")]
    nodes = [Node("", 0, 0)] * len(symbols)
    edges: list[tuple[int, int]] = []
    columns = count()

    def place(at: int, row: int) -> int:
        """Place what begins here, and return where the rest begins."""
        operator = symbols[at][0] in "+-*"
        end = place(at + 1, row + 1) if operator else at + 1
        nodes[at] = Node(symbols[at], next(columns), row, "plain" if operator else "faint")
        if operator:
            right, end = end, place(end, row + 1)
            edges.extend([(at, at + 1), (at, right)])
        return end

    if place(0, 0) != len(symbols):
        raise ValueError("there is more than one expression")
    return _drawn(nodes, edges, gap=4, bow=0)


_MADE_BY: Final[dict[str, Callable[[Sequence[str], Sequence[str]], Picture]]] = {"brevo": _graph, "mano": _tree}


def _drawn(nodes: Sequence[Node], edges: Sequence[tuple[int, int]], *, gap: int, bow: int) -> Picture:
    """Lay boxes out, `gap` pixels between columns; an edge bows upwards by `bow` for each column that it passes."""
    width = _LETTER * max(len(node.text) for node in nodes) + _PADDING
    steps, first = (width + gap, _HEIGHT + 20), min(node.row for node in nodes)
    flat = [((node.column + 0.5) * steps[0], (node.row - first + 0.5) * steps[1]) for node in nodes]
    bows = [bow * (abs(nodes[a].column - nodes[b].column) - 1) for a, b in edges]
    above = max((up - (flat[a][1] + flat[b][1]) / 2 for (a, b), up in zip(edges, bows, strict=True)), default=0)
    places = [(x, y + max(0, above + 2)) for x, y in flat]
    boxes = [
        {"text": node.text, "x": x, "y": y, "width": width, "kind": node.kind, "turn": node.turn}
        for node, (x, y) in zip(nodes, places, strict=True)
    ]
    lines = [_line(places[a], places[b], up) for (a, b), up in zip(edges, bows, strict=True)]
    size = [max(axis) + step / 2 for axis, step in zip(zip(*places, strict=True), steps, strict=True)]
    return {"size": size, "boxes": boxes, "lines": lines}


def _line(start: tuple[float, float], end: tuple[float, float], bow: float) -> str:
    middle = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2 - 2 * bow
    return "M{:g} {:g}Q{:g} {:g} {:g} {:g}".format(*start, *middle, *end)
