"""How a string was derived, read off the inside pass."""

from typing import NamedTuple

from anira.tasks.lano.normal_form import NormalForm, normal_form
from anira.tasks.lano.prefix_probabilities import PrefixProbabilities


class Node(NamedTuple):
    """A symbol of the normal form that derives tokens start .. end - 1."""

    symbol: int
    start: int
    end: int


def outline(chart: PrefixProbabilities, levels: int) -> list[str]:
    """Return the rules of the upper levels of a sentence's derivation; `chart` has read the whole sentence.

    >>> from anira.tasks.lano.grammar import CFG3B
    >>> chart = PrefixProbabilities(CFG3B.restricted(10))
    >>> for token in (3, 1, 2, 1, 3, 2):
    ...     chance = chart.append(token)
    >>> outline(chart, 2)
    ['10 -> 7 9 8  (1..6)', '7 -> 3 1  (1..2)', '9 -> 2 1  (3..4)', '8 -> 3 2  (5..6)']
    """
    form, own = normal_form(chart.grammar), len(chart.grammar.nonterminals)
    nodes, lines = [Node(form.start, 0, len(chart))], []
    for _ in range(levels):
        children = [_children(chart, form, node) for node in nodes]
        for node, below in zip(nodes, children, strict=True):
            names = [form.names[child.symbol].removeprefix("@") for child in below]
            lines.append(f"{form.names[node.symbol]} -> {' '.join(names)}  ({node.start + 1}..{node.end})")
        nodes = [child for below in children for child in below if child.symbol < own]
    return lines


def _children(chart: PrefixProbabilities, form: NormalForm, node: Node) -> list[Node]:
    """Return the right side of the rule that the grammar itself has for a node.

    Where several derivations are possible, each node takes its likeliest rule and split.
    """
    written = {rule.head for rule in form.lexical}
    own = len(chart.grammar.nonterminals)
    children, rest = [], node
    while True:
        left, right = _split(chart, form, rest)
        children.append(left)
        if right.symbol < own or right.symbol in written:
            return [*children, right]
        rest = right  # a symbol of the normal form only, for what is left of a longer rule


def _split(chart: PrefixProbabilities, form: NormalForm, node: Node) -> tuple[Node, Node]:
    found, rules = [], [rule for rule in form.binary if rule.head == node.symbol]
    for middle in range(node.start + 1, node.end):
        lefts, rights = chart.cell(node.start, middle), chart.cell(middle, node.end)
        for rule in rules:
            if rule.left in lefts and rule.right in rights:
                weight = rule.probability * lefts[rule.left] * rights[rule.right]
                found.append((weight, Node(rule.left, node.start, middle), Node(rule.right, middle, node.end)))
    _, left, right = max(found)
    return left, right
