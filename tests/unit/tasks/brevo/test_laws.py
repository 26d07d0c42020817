"""The random laws of the vectorised generator and of the plain one, against the specification and by enumeration."""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations, pairwise, permutations
from typing import NamedTuple

import numpy as np
import pytest
from scipy import stats

from anira.tasks.brevo import Brevo, BrevoConfig
from benchmarks.plain import brevo as plain

Edges = list[tuple[int, int]]


class Sizes(NamedTuple):
    edges: float
    answer: float
    reachable_edges: float
    longest_chain: float
    tokens: float


# Means of 4000 graphs of the reference generator for each number of nodes, as printed: the last digit is rounded.
REFERENCE_COUNT = 4000
REFERENCE = {
    3: ("2.5", "1.75", "2.3", "1.75", "11.8"),
    5: ("6.5", "3.23", "5.4", "2.6", "21"),
    10: ("18.3", "6.28", "12.2", "4.4", "48"),
    15: ("30.0", "9.02", "18.3", "5.6", "74"),
    20: ("41.4", "11.4", "23.4", "6.4", "99"),
    25: ("51.9", "13.4", "26.9", "6.7", "122"),
    30: ("63.0", "15.4", "30.9", "7.2", "146"),
}


def vectorised_texts(nodes: int, count: int, max_nodes: int) -> Iterator[list[int]]:
    rows = Brevo(BrevoConfig(max_nodes=max_nodes)).rows(seed=1, stream="train", start=0, count=count, knob=nodes)
    return (rows.ids(i) for i in range(count))


def plain_texts(nodes: int, count: int, max_nodes: int) -> Iterator[list[int]]:
    rng, config = random.Random(1), BrevoConfig(max_nodes=max_nodes)
    return (plain.generate(rng, config, nodes)[0] for _ in range(count))


Texts = Callable[[int, int, int], Iterator[list[int]]]
both = pytest.mark.parametrize("texts", [vectorised_texts, plain_texts])


def problem(ids: list[int]) -> tuple[Edges, int]:
    marker = ids.index(3)
    return list(zip(ids[1:marker:2], ids[2:marker:2], strict=True)), ids[marker + 1]


def measure(edges: Edges, query: int) -> Sizes:
    """Measure a graph by its definitions: reachability to a fixed point, chains by the longest path from each node."""
    reached = {query}
    while more := {parent for parent, child in edges if child in reached} - reached:
        reached |= more
    inner = [edge for edge in edges if edge[1] in reached]
    chain, tips = 0, {query}
    while tips := {parent for parent, child in inner if child in tips}:
        chain += 1
    return Sizes(len(edges), len(reached) - 1, len(inner), chain, 2 * len(edges) + len(reached) - 1 + 5)


def rounding(text: str) -> float:
    return 0.5 * 10.0 ** -len(text.partition(".")[2])


@both
@pytest.mark.parametrize("nodes", REFERENCE)
def test_means_agree_with_the_reference_generator(texts: Texts, nodes: int) -> None:
    count = 4000
    found = []
    for ids in texts(nodes, count, 30):
        sizes = measure(*problem(ids))
        assert len(ids) == sizes.tokens
        found.append(sizes)
    values = np.array(found)
    error = values.std(axis=0) * np.sqrt(1 / count + 1 / REFERENCE_COUNT)
    for name, mean, text, deviation in zip(Sizes._fields, values.mean(axis=0), REFERENCE[nodes], error, strict=True):
        assert abs(mean - float(text)) < 4 * deviation + rounding(text), name


def enumerate_law(nodes: int) -> Counter[Sizes]:
    """Return the exact probability of every combination of sizes, by walking through all that can be drawn."""
    out: Counter[Sizes] = Counter()
    most = (nodes - 1) // 4 + 1

    def grow(node: int, edges: Edges, chance: Fraction) -> None:
        if node == nodes:
            out[measure(edges, nodes - 1)] += chance  # type: ignore[assignment]
            return
        pool = [i for i in range(node) if sum(parent == i for parent, _ in edges) < 4]
        limit = min(4, len(pool))
        for size in range(1, limit + 1):
            choices = list(combinations(pool, size))
            for parents in choices:
                grow(node + 1, edges + [(p, node) for p in parents], chance / limit / len(choices))

    for leaves in range(1, most + 1):
        grow(leaves, [], Fraction(1, most))
    return out


def chi_square(observed: Counter, expected: dict, count: int) -> float:
    """Return the p-value; outcomes expected fewer than 5 times are taken together."""
    assert set(observed) <= set(expected)
    common = [outcome for outcome in expected if expected[outcome] * count >= 5]
    seen = [observed[outcome] for outcome in common]
    wanted = [float(expected[outcome]) * count for outcome in common]
    if (rest := count - sum(wanted)) > 5:
        seen.append(count - sum(seen))
        wanted.append(rest)
    return float(stats.chisquare(seen, wanted, sum_check=False).pvalue)


@pytest.fixture(scope="module")
def law_of_six() -> Counter[Sizes]:
    # Six nodes are the fewest where the leaves vary and a node can have all its 4 dependents before the last one comes.
    law = enumerate_law(6)
    assert sum(law.values()) == 1
    return law


@both
def test_six_nodes_follow_the_exact_law(texts: Texts, law_of_six: Counter[Sizes]) -> None:
    count = 12_000
    observed = Counter(measure(*problem(ids)) for ids in texts(6, count, 30))
    assert chi_square(observed, law_of_six, count) > 1e-3


@both
def test_names_and_edge_orders_are_uniform(texts: Texts) -> None:
    # With 3 nodes and 3 edges (a b, a c, b c) the text shows both the names in topological order and the edge order.
    observed: Counter = Counter()
    for ids in texts(3, 8000, 3):
        edges, query = problem(ids)
        if len(edges) == 3:
            first = next(parent for parent, child in edges if (child, query) in edges)
            middle = next(child for parent, child in edges if (child, query) in edges)
            names = (first, middle, query)
            observed[names, tuple(sorted(range(3), key=lambda k: edges[k]))] += 1
    kinds = [(names, order) for names in permutations([5, 6, 7]) for order in permutations(range(3))]
    assert chi_square(observed, dict.fromkeys(kinds, Fraction(1, 36)), observed.total()) > 1e-3


@both
@pytest.mark.parametrize("max_nodes", [9, 30])
def test_names_come_from_the_whole_range(texts: Texts, max_nodes: int) -> None:
    observed = Counter(ids[ids.index(3) + 1] - 4 for ids in texts(5, 4000, max_nodes))
    assert chi_square(observed, dict.fromkeys(range(1, max_nodes + 1), Fraction(1, max_nodes)), 4000) > 1e-3


@both
@pytest.mark.parametrize("nodes", [2, 3, 8, 17, 30])
def test_graphs_are_acyclic_and_degrees_bounded(texts: Texts, nodes: int) -> None:
    for ids in texts(nodes, 300, 30):
        edges, query = problem(ids)
        assert len(set(edges)) == len(edges)
        assert max(Counter(parent for parent, _ in edges).values()) <= 4
        assert max(Counter(child for _, child in edges).values()) <= 4
        assert query not in {parent for parent, _ in edges}
        assert query in {child for _, child in edges}
        assert len({node for edge in edges for node in edge}) <= nodes
        layers = list(layers_of(edges))
        assert sum(map(len, layers)) == len({node for edge in edges for node in edge})


def layers_of(edges: Edges) -> Iterator[set[int]]:
    """Take away all nodes without dependencies, again and again; what lies on a cycle never comes."""
    left = {node for edge in edges for node in edge}
    while layer := left - {child for parent, child in edges if parent in left}:
        yield layer
        left -= layer


def test_a_node_can_have_four_dependents_and_four_dependencies() -> None:
    graphs = [problem(ids)[0] for ids in vectorised_texts(30, 50, 30)]
    assert max(max(Counter(parent for parent, _ in edges).values()) for edges in graphs) == 4
    assert max(max(Counter(child for _, child in edges).values()) for edges in graphs) == 4


@pytest.mark.parametrize("law", ["reference", "uniform"])
def test_training_sizes_of_both_generators_follow_the_law(law: str) -> None:
    config, count = BrevoConfig(max_nodes=12, min_nodes=4, size_law=law), 40_000
    weights = {n: 1 / (n + 12**0.5) if law == "reference" else 1.0 for n in range(4, 13)}
    law_of_sizes = {n: weight / sum(weights.values()) for n, weight in weights.items()}
    rng = random.Random(0)
    drawn = Counter(plain.draw_size(rng, config) for _ in range(count))
    assert chi_square(drawn, law_of_sizes, count) > 1e-3
    rows = Brevo(config).rows(seed=0, stream="train", start=0, count=count)
    assert chi_square(Counter(rows.knob.tolist()), law_of_sizes, count) > 1e-3


def test_the_training_mixture_has_the_size_of_the_reference() -> None:
    # Under the reference weights: 25.4 edges, 7.59 answer nodes, 63 tokens a row.
    rows = Brevo().rows(seed=0, stream="train", start=0, count=8192)
    answers = (rows.labels != -100).sum(axis=1) - 1
    edges = (rows.lengths - answers - 5) / 2
    for values, text in ((edges, "25.4"), (answers, "7.59"), (rows.lengths, "63")):
        error = 4 * values.std() / np.sqrt(len(rows)) + rounding(text)
        assert abs(values.mean() - float(text)) < error


def test_cost_grows_with_the_knob() -> None:
    means = [np.mean([measure(*problem(ids)) for ids in vectorised_texts(n, 400, 30)], axis=0) for n in (3, 8, 16, 30)]
    assert all((larger > smaller).all() for smaller, larger in pairwise(means))
