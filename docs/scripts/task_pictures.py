"""A picture of each task, from an instance that the task itself made or read."""

import math
import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from anira import make_task
from anira.site.pictures import picture
from docs.scripts import drawing

_STEP: Final = 60
Node = tuple[str, float, float, str]
"""Text, place, and how it is drawn."""


def _instance(name: str, question: str | None = None, seed: int = 0, **options: Any) -> Any:
    task = make_task(name, options)
    rows = task.read(question) if question else task.rows(seed=seed, stream="train", start=0, count=1)
    return task.instance(rows, 0)


def _laid_out(nodes: Sequence[Node], lines: Sequence[str], title: str, width: int = 44) -> str:
    made = [{"text": text, "x": x, "y": y, "width": width, "kind": kind, "turn": ""} for text, x, y, kind in nodes]
    size = [max(x for _, x, _, _ in nodes) + width / 2, max(y for _, _, y, _ in nodes) + 16]
    return drawing.boxes({"size": size, "boxes": made, "lines": list(lines)}, title)


def mano() -> str:
    """Return an expression as a tree."""
    found = _instance("mano", "+ + - 18 7 11 15 <ans>")
    made = picture("mano", found.question, found.answer)
    assert made is not None
    return drawing.boxes(made, f"MANO: {found.question} has the value {found.answer}")


def brevo() -> str:
    """Return a graph; small numbers are places in the answer."""
    question = "n14 n12 n27 n02 n02 n16 n27 n14 n14 n21 n16 n12 n14 n16 <query> n12 <ans>"
    found = _instance("brevo", question)
    made = picture("brevo", found.question, found.answer)
    assert made is not None
    return drawing.boxes(made, f"BREVO: what n12 depends on, in the order of the answer: {found.answer}")


def depo() -> str:
    """Return a cycle: where a query starts, and where k hops lead."""
    question = "v37 v28 v48 v46 v08 v49 v49 v35 v28 v04 v11 v37 v35 v27 v04 v48 v46 v08 v27 v11 <query-02> v04 <ans>"
    found = _instance("depo", question)
    names = found.picture.splitlines()[0].split(" > ")[:-1]
    turn = [2 * math.pi * i / len(names) - math.pi / 2 for i in range(len(names))]
    places = [(190 + 160 * math.cos(one), 90 + 74 * math.sin(one)) for one in turn]
    ends = {"v04": "strong", found.answer: "strong"}
    nodes = [(name, x, y, ends.get(name, "faint")) for name, (x, y) in zip(names, places, strict=True)]
    lines = [_straight(a, b) for a, b in zip(places, [*places[1:], places[0]], strict=True)]
    return _laid_out(nodes, lines, f"DEPO: two hops from v04 along the cycle lead to {found.answer}")


def lano() -> str:
    """Return a sentence with its derivation."""
    found = _instance("lano", "3 1 2 1 3 2 <eos>", start_symbol=10)
    spans = [
        (symbol, int(low), int(high))
        for symbol, low, high in re.findall(r"^(\d+) -> .*\((\d+)\.\.(\d+)\)$", found.picture, re.MULTILINE)
    ]
    words = found.question.split()[:-1]
    (root, *_), *parts = spans
    nodes = [(root, 30 + (len(words) - 1) / 2 * _STEP, 14.0, "strong")]
    nodes += [(symbol, 30 + ((low + high) / 2 - 1) * _STEP, 64.0, "plain") for symbol, low, high in parts]
    nodes += [(word, 30.0 + i * _STEP, 114.0, "faint") for i, word in enumerate(words)]
    lines = [_straight(nodes[0][1:3], node[1:3]) for node in nodes[1 : len(parts) + 1]]
    for (_, low, high), node in zip(parts, nodes[1:], strict=False):
        lines += [_straight(node[1:3], (30.0 + i * _STEP, 114.0)) for i in range(low - 1, high)]
    return _laid_out(nodes, lines, f"LANO: the sentence {' '.join(words)} of the grammar below 10", width=30)


def clrs() -> str:
    """Return what is sorted, and where each value goes."""
    found = _instance("clrs", "sort:\nkey: [0.33 0.772 0.241 0.399 0.103]\npred:")
    keys = re.findall(r"[\d.]+", found.question)
    ordered = re.findall(r"[\d.]+", found.answer)
    nodes = [(key, 30.0 + 74 * i, 14.0, "plain") for i, key in enumerate(keys)]
    nodes += [(key, 30.0 + 74 * i, 100.0, "strong") for i, key in enumerate(ordered)]
    lines = [_straight((30 + 74 * keys.index(key), 14), (30 + 74 * i, 100)) for i, key in enumerate(ordered)]
    return _laid_out(nodes, lines, "CLRS-Text: five values, and their order", width=58)


def words() -> str:
    """Return the letters of a word, and the product after each of them."""
    step = 76
    task = make_task("words")
    rows = task.read("1 2 4 5")
    letters = task.instance(rows, 0).question.split()
    products = [f"{value:.0f}" for value in task.probes(rows, 0)["product"] if not math.isnan(value)]
    nodes = [(letter, 100.0 + step * i, 14.0, "faint") for i, letter in enumerate(letters)]
    nodes += [(product, 100.0 + step * i, 70.0, "strong") for i, product in enumerate(products)]
    down = [_straight((100 + step * i, 14), (100 + step * i, 70)) for i in range(len(letters))]
    on = [_straight((100 + step * i, 70), (100 + step * (i + 1), 70)) for i in range(len(letters) - 1)]
    labels = [("letter", 24.0, 14.0, "plain"), ("product", 24.0, 70.0, "plain")]
    return _laid_out([*labels, *nodes], [*down, *on], "WORDS: every product needs the one before", width=62)


def wordmath() -> str:
    """Return the clauses of a story, and the number after each of them."""
    story = "Ana has 5 apples . Then she finds 3 apples . She gives half to a friend . How many apples does Ana have ?"
    found = _instance("wordmath", story)
    steps = re.findall(r"(\d+) (\S) (\d+) = (\d+)", found.answer)
    clauses = [" ".join(one.split()) for one in found.question.split(" .")][: len(steps) + 1]
    values = [steps[0][0], *(result for *_, result in steps)]
    signs = ["", *(f"{sign} {amount}" for _, sign, amount, _ in steps)]
    nodes = [(clause, 130.0, 14.0 + 44 * i, "faint") for i, clause in enumerate(clauses)]
    parts = [drawing.box(x, y, 250, 28, fill=drawing.FAINT) + drawing.text(x, y, clause) for clause, x, y, _ in nodes]
    for i, (value, sign) in enumerate(zip(values, signs, strict=True)):
        parts.append(drawing.text(292, 14 + 44 * i, sign))
        parts.append(drawing.box(350, 14 + 44 * i, 44, 28, fill=drawing.STRONG))
        parts.append(drawing.text(350, 14 + 44 * i, value))
    inner = ["<g transform='translate(8 10)'>", *parts, "</g>"]
    return drawing.document(inner, (392, 48 + 44 * (len(values) - 1)), f"WORDMATH: {story} {values[-1]}")


def _straight(start: Sequence[float], end: Sequence[float]) -> str:
    return "M{:g} {:g}L{:g} {:g}".format(*start[:2], *end[:2])


TASKS: Final[dict[str, Callable[[], str]]] = {
    "mano": mano,
    "brevo": brevo,
    "depo": depo,
    "lano": lano,
    "clrs": clrs,
    "words": words,
    "wordmath": wordmath,
}
"""Name -> what draws it."""
