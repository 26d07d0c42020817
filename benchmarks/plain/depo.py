"""DEPO in plain Python: draw one cycle, walk along it, write it down."""

from collections.abc import Mapping
from functools import cache
from itertools import accumulate
from random import Random

from anira.tasks.depo import DepoConfig

BOS, ANSWER, END_OF_ANSWER, FIRST_QUERY = range(1, 5)  # 0 is padding; the names follow the queries
IGNORE = -100


def generate(rng: Random, config: DepoConfig, knob: int | None = None) -> tuple[list[int], list[int]]:
    """Return the input ids and the labels of one row.

    The sizes of a fixed-knob set, which the task takes in turn, are drawn here: there is no row index.
    """
    size = draw_size(rng, config) if knob is None else rng.choice(config.fixed_sizes)
    num_queries = min(size, config.max_queries) if knob is None else config.eval_queries
    first_name = FIRST_QUERY + config.max_hops
    nodes = rng.sample(range(first_name, first_name + config.max_nodes), size)
    successor = dict(zip(nodes, [*nodes[1:], nodes[0]], strict=True))
    ids = write_edges(rng, successor)
    labels = [IGNORE] * len(ids)
    for start in rng.sample(nodes, num_queries):
        hops = knob or rng.randint(1, config.max_hops)
        answer = solve(successor, start, hops)
        ids += [FIRST_QUERY + hops - 1, start, ANSWER, answer, END_OF_ANSWER]
        labels += [IGNORE, IGNORE, IGNORE, answer, IGNORE]
    return ids, labels


def draw_size(rng: Random, config: DepoConfig) -> int:
    """Return the number of nodes of a training row."""
    sizes, weights = _size_law(config.min_nodes, config.max_nodes, config.size_law)
    return rng.choices(sizes, cum_weights=weights)[0]


@cache
def _size_law(low: int, high: int, law: str) -> tuple[range, list[float]]:
    sizes = range(low, high + 1)
    return sizes, list(accumulate(1 / (n + high**0.5) if law == "reference" else 1.0 for n in sizes))


def write_edges(rng: Random, successor: Mapping[int, int]) -> list[int]:
    """Return `<bos>` and the edges in random order."""
    edges = list(successor.items())
    rng.shuffle(edges)
    ids = [BOS]
    for edge in edges:
        ids += edge
    return ids


def solve(successor: Mapping[int, int], start: int, hops: int) -> int:
    """Return the node that many hops away.

    >>> solve({81: 82, 82: 67, 67: 81}, start=82, hops=4)
    67
    """
    node = start
    for _ in range(hops):
        node = successor[node]
    return node
