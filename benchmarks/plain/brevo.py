"""BREVO in plain Python: draw one graph, search it, write it down."""

from functools import cache
from itertools import accumulate
from random import Random

from anira.tasks.brevo import BrevoConfig

BOS, EOS, QUERY, ANSWER, FIRST_NAME = range(1, 6)  # 0 is padding
IGNORE = -100

Edges = list[tuple[int, int]]


def generate(rng: Random, config: BrevoConfig, knob: int | None = None) -> tuple[list[int], list[int]]:
    """Return the input ids and the labels of one row."""
    size = draw_size(rng, config) if knob is None else knob
    edges, query = draw_graph(rng, size, config.max_nodes)
    return write(edges, query, solve(edges, query))


def draw_size(rng: Random, config: BrevoConfig) -> int:
    """Return the number of nodes of a training row."""
    sizes, weights = _size_law(config.min_nodes, config.max_nodes, config.size_law)
    return rng.choices(sizes, cum_weights=weights)[0]


@cache
def _size_law(low: int, high: int, law: str) -> tuple[range, list[float]]:
    sizes = range(low, high + 1)
    return sizes, list(accumulate(1 / (n + high**0.5) if law == "reference" else 1.0 for n in sizes))


def draw_graph(rng: Random, size: int, max_nodes: int) -> tuple[Edges, int]:
    """Return shuffled edges (dependency, dependent) and the query."""
    nodes = rng.sample(range(1, max_nodes + 1), size)
    leaves = rng.randint(1, (size - 1) // 4 + 1)
    available = nodes[:leaves]
    dependents = dict.fromkeys(nodes, 0)
    edges = []
    for node in nodes[leaves:]:
        for parent in rng.sample(available, rng.randint(1, min(4, len(available)))):
            edges.append((parent, node))
            dependents[parent] += 1
            if dependents[parent] == 4:
                available.remove(parent)
        available.append(node)
    rng.shuffle(edges)
    return edges, nodes[-1]


def solve(edges: Edges, query: int) -> list[int]:
    """Return all that the query depends on in depth-first postorder, smaller names first.

    >>> solve([(19, 5), (8, 5), (5, 12), (18, 12), (8, 18)], 12)
    [8, 19, 5, 18]
    """
    parents: dict[int, list[int]] = {}
    for parent, child in sorted(edges):
        parents.setdefault(child, []).append(parent)
    order: list[int] = []
    entered = {query}

    def visit(node: int) -> None:
        for parent in parents.get(node, ()):
            if parent not in entered:
                entered.add(parent)
                visit(parent)
        order.append(node)

    visit(query)
    return order[:-1]


def write(edges: Edges, query: int, answer: list[int]) -> tuple[list[int], list[int]]:
    """Return the ids and labels of a row; a name n has the id n + 4."""
    shift = FIRST_NAME - 1
    question = [BOS, *[node + shift for edge in edges for node in edge], QUERY, query + shift, ANSWER]
    target = [*[node + shift for node in answer], EOS]
    return question + target, [IGNORE] * len(question) + target
