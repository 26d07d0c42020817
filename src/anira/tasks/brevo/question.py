"""Reading a BREVO question that a person typed, with an error for everything that makes it unanswerable."""

from collections import Counter
from graphlib import CycleError, TopologicalSorter
from typing import Final

from anira.config import UserError
from anira.tasks.base import question_ids
from anira.tasks.brevo.graph import DEGREE
from anira.tasks.vocab import ANSWER, Vocab

QUERY: Final = "<query>"

Edges = list[tuple[int, int]]  # (dependency, dependent)


def parse(question: str, vocab: Vocab) -> tuple[Edges, int]:
    """Return the edges and the query of `p c p c ... <query> q`, as token ids.

    `<bos>` in front and `<ans>` at the end may be left out.
    """
    _, *ids, _ = question_ids(vocab, question, end=ANSWER)
    marker = vocab.id(QUERY)
    if ids.count(marker) != 1 or ids[-2:-1] != [marker]:
        raise UserError(
            f"a question is edges, one {QUERY} and one node, as in `n01 n02 {QUERY} n02`: {question!r} is not"
        )
    *nodes, _, query = ids
    for token in (*nodes, query):
        if vocab.tokens[token].startswith("<"):
            raise UserError(f"{vocab.tokens[token]} cannot stand where a node is expected")
    if len(nodes) % 2:
        raise UserError(f"edges are pairs of a dependency and its dependent, but {len(nodes)} nodes precede {QUERY}")
    edges = list(zip(nodes[::2], nodes[1::2], strict=True))
    _check(edges, query, vocab)
    return edges, query


def _check(edges: Edges, query: int, vocab: Vocab) -> None:
    """Raise a UserError unless the edges form a graph of the task and the query depends on something."""
    for edge, times in Counter(edges).items():
        if times > 1:
            raise UserError(f"the edge {vocab.decode(edge)} is written {times} times")
    parents: dict[int, list[int]] = {}
    for parent, child in edges:
        parents.setdefault(child, []).append(parent)
    for node, found in parents.items():
        if len(found) > DEGREE:
            raise UserError(
                f"{vocab.tokens[node]} depends on {len(found)} nodes directly; at most {DEGREE} are allowed"
            )
    try:
        TopologicalSorter(parents).prepare()
    except CycleError as error:
        raise UserError(f"the graph must not have a cycle: {vocab.decode(error.args[1])}") from None
    if query not in parents:
        raise UserError(f"{vocab.tokens[query]} depends on nothing: ask for a node that is second in some edge")
