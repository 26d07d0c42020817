"""DEPO: the random laws of both generators against exact ones, and what every option changes."""

import random
from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import permutations, product
from typing import NamedTuple

import numpy as np
import pytest
from scipy import stats

from anira.config import UserError
from anira.tasks.depo import Depo, DepoConfig
from benchmarks.plain import depo as plain

ROW = "v31 v32 v17 v31 v32 v17"  # the cycle v31 > v32 > v17 > v31


class Text(NamedTuple):
    """One row taken apart: edges and queries (hops, start, answer) as names, and its number of tokens."""

    edges: list[tuple[str, str]]
    queries: list[tuple[int, str, str]]
    length: int


Texts = Callable[[DepoConfig, int | None, int], list[Text]]


def parse(words: list[str]) -> Text:
    head = next(p for p, word in enumerate(words) if word.startswith("<query"))
    queries = [(int(words[p][7:9]), words[p + 1], words[p + 3]) for p in range(head, len(words), 5)]
    return Text(list(zip(words[1:head:2], words[2:head:2], strict=True)), queries, len(words))


@cache
def vectorised_texts(config: DepoConfig, knob: int | None, count: int) -> list[Text]:
    task = Depo(config)
    rows = task.rows(seed=1, stream="train", start=0, count=count, knob=knob)
    return [parse(task.vocab.decode(rows.ids(i)).split()) for i in range(count)]


@cache
def plain_texts(config: DepoConfig, knob: int | None, count: int) -> list[Text]:
    rng, vocab = random.Random(1), Depo(config).vocab
    return [parse(vocab.decode(plain.generate(rng, config, knob)[0]).split()) for _ in range(count)]


# The rows are fixed, so a test passes always or never. A p-value below this does not happen to one of a hundred laws
# that hold; every wrong law that we thought of gives less than 1e-9.
CHANCE = 1e-5
both = pytest.mark.parametrize("texts", [vectorised_texts, plain_texts])


def chi_square(observed: Counter, expected: dict) -> float:
    """Return the p-value of counts against probabilities."""
    assert set(observed) <= set(expected)
    total = observed.total()
    return float(stats.chisquare([observed[k] for k in expected], [p * total for p in expected.values()]).pvalue)


def uniform(outcomes: object) -> dict:
    kinds = list(outcomes)  # type: ignore[call-overload]
    return dict.fromkeys(kinds, 1 / len(kinds))


def size_law(low: int, high: int) -> dict[int, float]:
    weights = {n: 1 / (n + high**0.5) for n in range(low, high + 1)}
    return {n: weight / sum(weights.values()) for n, weight in weights.items()}


@both
def test_sizes_follow_the_reference_law(texts: Texts) -> None:
    law = size_law(3, 50)
    assert law[3] == pytest.approx(0.0554, abs=5e-5)
    assert law[50] == pytest.approx(0.0098, abs=5e-5)
    assert sum(n * p for n, p in law.items()) == pytest.approx(19.7, abs=0.05)
    observed = Counter(len(text.edges) for text in texts(DepoConfig(), None, 8192))
    assert chi_square(observed, law) > CHANCE
    assert chi_square(observed, uniform(law)) < 1e-9


@both
def test_means_of_the_training_mixture(texts: Texts) -> None:
    rows = texts(DepoConfig(), None, 8192)
    means = {
        "19.7": np.array([len(text.edges) for text in rows]),
        "8.68": np.array([len(text.queries) for text in rows]),
        "83.8": np.array([text.length for text in rows]),
    }
    for wanted, values in means.items():
        rounding = 0.5 * 10.0 ** -len(wanted.partition(".")[2])
        assert abs(values.mean() - float(wanted)) < 4 * values.std() / np.sqrt(len(rows)) + rounding, wanted
    assert max(text.length for text in rows) == 151
    for text in rows:
        assert text.length == 1 + 2 * len(text.edges) + 5 * min(len(text.edges), 10)


@both
def test_cycles_and_written_orders_are_uniform(texts: Texts) -> None:
    # Four names on four nodes: 6 cycles, each in 24 orders of its edges.
    config = DepoConfig(max_nodes=4, min_nodes=4, max_hops=3)
    observed = Counter(tuple(text.edges) for text in texts(config, None, 8192))
    cycles = [("v01", *rest) for rest in permutations(["v02", "v03", "v04"])]
    edge_lists = [zip(cycle, [*cycle[1:], cycle[0]], strict=True) for cycle in cycles]
    kinds = [order for edges in edge_lists for order in permutations(edges)]
    assert len(set(kinds)) == 144
    assert chi_square(observed, uniform(kinds)) > CHANCE


@both
def test_names_come_from_the_whole_pool_at_every_size(texts: Texts) -> None:
    config = DepoConfig(max_nodes=30, min_nodes=6, eval_sizes=(6,))
    rows = texts(config, 2, 8192)
    first = Counter(text.edges[0] for text in rows)
    names = [f"v{i:02d}" for i in range(1, 31)]
    assert chi_square(first, uniform((a, b) for a, b in product(names, names) if a != b)) > CHANCE
    assert all(len({source for source, _ in text.edges}) == 6 for text in rows)


@both
def test_starts_are_distinct_and_do_not_depend_on_the_written_order(texts: Texts) -> None:
    # Which edges the first two starts are the sources of: any two places, in any order.
    config = DepoConfig(max_nodes=5, min_nodes=5)
    observed: Counter = Counter()
    for text in texts(config, None, 8192):
        sources = [source for source, _ in text.edges]
        (_, first, _), (_, second, _), *_ = text.queries
        observed[sources.index(first), sources.index(second)] += 1
        assert len({start for _, start, _ in text.queries}) == 5
    assert chi_square(observed, uniform(permutations(range(5), 2))) > CHANCE


@both
def test_starts_do_not_depend_on_the_cycle(texts: Texts) -> None:
    # How far the second start lies behind the first along the cycle: 1 .. 4 nodes, equally often.
    config = DepoConfig(max_nodes=5, min_nodes=5)
    observed: Counter = Counter()
    for text in texts(config, None, 8192):
        successor = dict(text.edges)
        (_, first, _), (_, second, _), *_ = text.queries
        observed[next(k for k in range(1, 5) if plain.solve(successor, first, k) == second)] += 1  # type: ignore[arg-type]
    assert chi_square(observed, uniform(range(1, 5))) > CHANCE


@both
def test_hops_are_uniform_and_every_query_draws_its_own(texts: Texts) -> None:
    config = DepoConfig(max_nodes=10, min_nodes=2)
    pairs = Counter((text.queries[0][0], text.queries[1][0]) for text in texts(config, None, 8192))
    assert chi_square(pairs, uniform(product(range(1, 5), repeat=2))) > CHANCE


@pytest.mark.parametrize("count", [100, 4096, 5000])
def test_fixed_knob_sets_are_balanced(count: int) -> None:
    sizes = Counter(len(text.edges) for text in vectorised_texts(DepoConfig(), 2, count))
    assert set(sizes) == {10, 20, 30, 40, 50}
    assert max(sizes.values()) - min(sizes.values()) <= 1


@both
@pytest.mark.parametrize("knob", [1, 2, 3, 4])
def test_the_knob_is_the_number_of_hops(texts: Texts, knob: int) -> None:
    for text in texts(DepoConfig(), knob, 200):
        ((hops, start, answer),) = text.queries
        assert hops == knob == walk_length(text, start, answer)


def walk_length(text: Text, start: str, answer: str) -> int:
    """Return how many edges lead from start to answer, at least one."""
    successor, node, hops = dict(text.edges), start, 0
    while hops == 0 or node != answer:
        node, hops = successor[node], hops + 1
    return hops


def test_knob_of_a_training_row_is_its_longest_walk() -> None:
    rows = Depo().rows(seed=1, stream="train", start=0, count=500)
    texts = vectorised_texts(DepoConfig(), None, 500)
    assert rows.knob.tolist() == [max(hops for hops, _, _ in text.queries) for text in texts]


def test_padding_is_zero_and_only_answers_are_labelled() -> None:
    rows = Depo().rows(seed=0, stream="train", start=0, count=4096)
    beyond = np.arange(rows.input_ids.shape[1]) >= rows.lengths[:, None]
    assert (rows.input_ids[beyond] == 0).all()
    assert (rows.input_ids[~beyond] > 0).all()
    labelled = rows.labels != -100
    assert (rows.labels[labelled] == rows.input_ids[labelled]).all()
    assert (rows.input_ids[np.roll(labelled, -1, axis=1)] == Depo().vocab.id("<ans>")).all()
    assert labelled.sum() == (rows.input_ids == Depo().vocab.id("<ans>")).sum()


def sizes_of(config: DepoConfig, knob: int | None = None, count: int = 2000) -> list[int]:
    return [len(text.edges) for text in vectorised_texts(config, knob, count)]


def test_max_nodes_sets_names_and_sizes() -> None:
    small, large = DepoConfig(max_nodes=8), DepoConfig(max_nodes=255)
    assert (max(sizes_of(small)), len(Depo(small).vocab)) == (8, 16)
    assert (max(sizes_of(large)), len(Depo(large).vocab)) == (255, 263)
    assert Depo(large).vocab.tokens[8:10] == ("v001", "v002")
    assert Depo(large).vocab.tokens[-1] == "v255"
    assert Depo(DepoConfig(max_nodes=99)).vocab.tokens[-1] == "v99"


def test_min_nodes_sets_the_smallest_training_size() -> None:
    assert min(sizes_of(DepoConfig())) == 3
    assert min(sizes_of(DepoConfig(min_nodes=2, max_nodes=9))) == 2
    assert set(sizes_of(DepoConfig(min_nodes=50))) == {50}


def test_max_hops_sets_the_walks_and_their_tokens() -> None:
    for texts in (vectorised_texts, plain_texts):
        rows = texts(DepoConfig(max_hops=12), None, 500)
        assert {hops for text in rows for hops, _, _ in text.queries} == set(range(1, 13))
        assert max(walk_length(text, start, y) for text in rows for _, start, y in text.queries) == 12
    task = Depo(DepoConfig(max_hops=12))
    assert (task.knob.seen, task.knob.maximum) == (tuple(range(1, 13)), 12)
    assert task.vocab.tokens[4:16:11] == ("<query-01>", "<query-12>")
    with pytest.raises(UserError, match="K = 5 is out of range: it goes from 1 to 4"):
        Depo().rows(seed=0, stream="eval", start=0, count=1, knob=5)


def test_max_queries_bounds_the_queries_of_training_rows() -> None:
    for texts in (vectorised_texts, plain_texts):
        for text in texts(DepoConfig(max_queries=4), None, 200):
            assert len(text.queries) == min(len(text.edges), 4)
    assert max(len(text.queries) for text in vectorised_texts(DepoConfig(max_queries=60), None, 500)) > 40


def test_size_law_moves_the_mean_size() -> None:
    # E[n] is 19.7 under the reference law and 26.5 under the uniform one; n has a standard deviation of about 14.
    error = 4 * 14 / np.sqrt(4096)
    for texts in (vectorised_texts, plain_texts):
        for law, wanted in (("reference", 19.7), ("uniform", 26.5)):
            rows = texts(DepoConfig(size_law=law), None, 4096)  # type: ignore[arg-type]
            assert abs(np.mean([len(text.edges) for text in rows]) - wanted) < error


@pytest.mark.parametrize(
    ("config", "sizes"),
    [
        (DepoConfig(), (10, 20, 30, 40, 50)),
        (DepoConfig(max_nodes=49), (10, 20, 30, 40)),
        (DepoConfig(max_nodes=8), (8,)),
        (DepoConfig(max_hops=10), (20, 30, 40, 50)),
        (DepoConfig(max_nodes=15, max_hops=12), (15,)),
        (DepoConfig(eval_sizes=(7, 9)), (7, 9)),
    ],
)
def test_eval_sizes_are_the_sizes_of_fixed_knob_sets(config: DepoConfig, sizes: tuple[int, ...]) -> None:
    assert config.fixed_sizes == sizes
    assert sizes_of(config, knob=1, count=2 * len(sizes)) == [*sizes, *sizes]
    assert {len(text.edges) for text in plain_texts(config, 1, 200)} == set(sizes)


def test_eval_queries_share_the_knob_and_keep_the_cycles() -> None:
    one, five = (vectorised_texts(DepoConfig(eval_queries=n), 3, 100) for n in (1, 5))
    for single, several in zip(one, five, strict=True):
        assert single.edges == several.edges
        assert single.queries == several.queries[:1]
        assert [hops for hops, _, _ in several.queries] == [3] * 5
        assert len({start for _, start, _ in several.queries}) == 5
    assert all(len(text.queries) == 5 for text in plain_texts(DepoConfig(eval_queries=5), 3, 20))


def test_eval_options_leave_training_rows_alone_and_training_options_the_others() -> None:
    plainly, other = Depo(), Depo(DepoConfig(eval_sizes=(7, 9), eval_queries=3))
    rows = [task.rows(seed=0, stream="train", start=0, count=50) for task in (plainly, other)]
    assert (rows[0].input_ids == rows[1].input_ids).all()
    other = Depo(DepoConfig(max_queries=2, min_nodes=9, size_law="uniform"))
    rows = [task.rows(seed=0, stream="train", start=0, count=50, knob=2) for task in (plainly, other)]
    assert (rows[0].input_ids == rows[1].input_ids).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_nodes": 256}, "max_nodes <= 255"),
        ({"min_nodes": 1}, "2 <= min_nodes"),
        ({"min_nodes": 51}, "min_nodes <= max_nodes"),
        ({"max_hops": 0}, "max_hops must be 1 to 99"),
        ({"max_hops": 100, "max_nodes": 200}, "max_hops must be 1 to 99"),
        ({"max_queries": 0}, "max_queries must be at least 1"),
        ({"size_law": "references"}, "unknown size_law 'references': did you mean 'reference'"),
        ({"eval_sizes": ()}, "at least one size"),
        ({"eval_sizes": (10, 4)}, "wraps around an evaluation cycle of 4 nodes: choose eval_sizes above"),
        ({"max_nodes": 8, "max_hops": 8}, "wraps around an evaluation cycle of 8 nodes: choose max_nodes above"),
        ({"eval_sizes": (10, 60)}, "eval size 60 is above max_nodes = 50"),
        ({"eval_queries": 0}, "eval_queries must be 1 to 10"),
        ({"eval_queries": 11}, "eval_queries must be 1 to 10, the smallest eval size"),
    ],
)
def test_contradictions_are_refused(options: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        DepoConfig(**options)


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ("", "asks nothing"),
        (ROW, "asks nothing"),
        ("<query-01> v01 <ans>", "0 names stand before the query"),
        ("v31 v32 v17 <query-01> v31 <ans>", "3 names stand before the query"),
        ("v31 v32 <ans> v31 <query-01> v31", "'<ans>' cannot stand among the edges"),
        ("v31 v32 v17 ? <query-01> v31", "'[?]' cannot stand among the edges"),
        ("v31 v32 v32 v17 <query-01> v31", "v17 has no successor"),
        ("v31 v32 v31 v17 <query-01> v31", "v31 has 2 successors"),
        ("v31 v32 v17 v32 v32 v31 <query-01> v31", "v32 has 2 predecessors"),
        ("v31 v32 v32 v31 v17 v18 v18 v17 <query-01> v31", "the one through v31 leaves out v17"),
        (f"{ROW} <query-01>", "<query-01> must be followed by the node of the cycle"),
        (f"{ROW} <query-01> v01", "<query-01> must be followed by the node of the cycle to start from, not 'v01'"),
        (f"{ROW} <query-01> <ans>", "not '<ans>'"),
        (f"{ROW} <query-01> v31 v32", "after '<query-01> v31' can stand '<ans> v32 <eoa>'"),
        (f"{ROW} <query-01> v31 <ans> v17", "not '<ans> v17'"),
        (f"{ROW} <query-01> v31 <ans> ? v17", "not '<ans> [?] v17'"),
        (f"{ROW} <query-05> v31", "unknown token '<query-05>'"),
        (f"{ROW} <query-01> v51", "unknown token 'v51'"),
    ],
)
def test_what_is_no_question_is_refused(question: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        Depo().read(question)
