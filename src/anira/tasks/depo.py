"""DEPO: the k-th successor of a node on a cycle (Allen-Zhu, Physics of Language Models 4.1; laws in docs/tasks.md).

The row of the cycle v31 > v32 > v17 > v31, edges shuffled, with two of its queries (here 4 hops wrap around once):

    token   <bos> v31 v32 v17 v31 v32 v17 <query-01> v31 <ans> v32 <eoa> <query-04> v32 <ans> v17 <eoa>
    label     .    .   .   .   .   .   .      .       .    .   v32   .       .       .    .   v17   .
    hops      .    .   .   .   .   .   .      .       .    .    1    .       .       .    .    4    .    k of the query
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple, get_args

import numpy as np

from anira.config import UserError, nearest
from anira.tasks.base import IGNORE, BlockTask, Floats, Instance, Ints, Knob, Probe, Rows
from anira.tasks.sampling import SizeLaw, draw_sizes, random_order
from anira.tasks.vocab import ANSWER, BOS, PAD, Vocab

END_OF_ANSWER: Final = "<eoa>"
_QUERY = "<query-"
_UNKNOWN = "?"  # stands for an answer in a question with several queries
_BLOCK_LENGTH = 5  # <query-0k> start <ans> answer <eoa>
_MOST_NODES, _MOST_HOPS = 255, 99  # a node fits into 8 bits, hops into two digits
_CHUNK = 1024  # rows drawn at once, so that their arrays stay in the cache; another number gives other rows


@dataclass(frozen=True, kw_only=True)
class DepoConfig:
    """How large a DEPO cycle is, and what is asked about it."""

    max_nodes: int = 50
    """Most nodes on a cycle, and the number of names they are drawn from."""
    min_nodes: int = 3
    """Fewest nodes in a training row."""
    max_hops: int = 4
    """Longest walk that a query asks for; each query of a training row draws its own, uniformly from 1."""
    max_queries: int = 10
    """A training row with n nodes asks min(n, max_queries) queries."""
    size_law: SizeLaw = "reference"
    """Law of n in training rows: weight 1 / (n + sqrt(max_nodes)) as in the reference generator, or uniform."""
    eval_sizes: tuple[int, ...] | None = None
    """Nodes in the rows of a fixed-knob set, taken in turn; None is 10, 20, 30, ... (or max_nodes if that is less)."""
    eval_queries: int = 1
    """Queries in a row of a fixed-knob set, all with the same hops; with 1, answers are independent of each other."""

    @property
    def fixed_sizes(self) -> tuple[int, ...]:
        """The sizes of a fixed-knob set, defaults filled in; no walk may wrap around in it."""
        if self.eval_sizes is not None:
            return self.eval_sizes
        tens = range(10, self.max_nodes + 1, 10)
        return tuple(size for size in tens if size > self.max_hops) or (self.max_nodes,)

    def __post_init__(self) -> None:
        if not 2 <= self.min_nodes <= self.max_nodes <= _MOST_NODES:
            raise UserError(
                f"nodes must satisfy 2 <= min_nodes <= max_nodes <= {_MOST_NODES}, "
                f"not {self.min_nodes}, {self.max_nodes}"
            )
        if not 1 <= self.max_hops <= _MOST_HOPS:
            raise UserError(f"max_hops must be 1 to {_MOST_HOPS}, not {self.max_hops}")
        if self.max_queries < 1:
            raise UserError(f"max_queries must be at least 1, not {self.max_queries}")
        if self.size_law not in get_args(SizeLaw):
            raise UserError(f"unknown size_law {self.size_law!r}: {nearest(self.size_law, get_args(SizeLaw))}")
        self._check_fixed()

    def _check_fixed(self) -> None:
        if not self.fixed_sizes:
            raise UserError("eval_sizes must name at least one size")
        small, large = min(self.fixed_sizes), max(self.fixed_sizes)
        if small <= self.max_hops:
            raise UserError(
                f"a walk of max_hops = {self.max_hops} wraps around an evaluation cycle of {small} nodes: "
                f"choose {'max_nodes' if self.eval_sizes is None else 'eval_sizes'} above max_hops"
            )
        if large > self.max_nodes:
            raise UserError(f"eval size {large} is above max_nodes = {self.max_nodes}: there are not enough names")
        if not 1 <= self.eval_queries <= small:
            raise UserError(
                f"eval_queries must be 1 to {small}, the smallest eval size (starts are distinct), "
                f"not {self.eval_queries}"
            )


class Cycles(NamedTuple):
    """Some cycles with their queries; flat arrays hold row after row in written order, nodes are token ids."""

    sizes: Ints  # nodes, and so edges, of each row
    counts: Ints  # queries of each row
    sources: Ints  # of all edges
    targets: Ints
    hops: Ints  # of all queries
    starts: Ints
    answers: Ints


class Depo(BlockTask):
    """`<bos> edges {<query-0k> start <ans> answer <eoa>}*`; only the answers are supervised.

    A training row asks several queries with different hops: its `knob` is the largest of them. Rows with a fixed knob
    ask for that many hops only, and row i has the size `fixed_sizes[i % len(fixed_sizes)]`, so that sets are balanced.
    """

    name = "depo"
    summary = "k-th successor of a node on a cycle"
    Config = DepoConfig
    config: DepoConfig
    probe_specs = (
        Probe(name="hops", anchor="target", meaning="successors to follow from the query's start to the answer"),
        Probe(name="num_nodes", anchor="target", meaning="nodes on the cycle"),
        Probe(name="query_index", anchor="target", meaning="queries answered earlier in the row"),
    )

    def __init__(self, config: DepoConfig | None = None) -> None:
        super().__init__(config)
        hops = range(1, self.config.max_hops + 1)
        names = range(1, self.config.max_nodes + 1)
        digits = max(2, len(str(self.config.max_nodes)))
        queries = [f"{_QUERY}{k:02d}>" for k in hops]
        self.vocab = Vocab([PAD, BOS, ANSWER, END_OF_ANSWER, *queries, *(f"v{name:0{digits}d}" for name in names)])
        self._first_query = self.vocab.id(queries[0])
        self._first_name = self._first_query + len(queries)
        self.knob = Knob(
            name="K",
            meaning="hops from the start of a query to its answer",
            cost="K hops",
            seen=tuple(hops),
            minimum=1,
            maximum=self.config.max_hops,
        )

    def generate(self, rng: np.random.Generator, index: Ints, knob: int | None) -> Rows:
        """Draw sizes, then names, written orders and queries for many rows at once."""
        config = self.config
        if knob is None:
            sizes = draw_sizes(rng, len(index), config.min_nodes, config.max_nodes, config.size_law)
            counts = np.minimum(sizes, min(config.max_queries, _MOST_NODES))  # no array holds 2**63
        else:
            sizes = np.array(config.fixed_sizes)[index % len(config.fixed_sizes)]
            counts = np.full_like(sizes, config.eval_queries)
        rows = self._blank(sizes, counts)
        for start in range(0, len(index), _CHUNK):
            chunk = slice(start, start + _CHUNK)
            self._write(rows, start, self._draw(rng, sizes[chunk], counts[chunk], knob))
        return rows

    def read(self, question: str) -> Rows:
        """Return the row of edges and queries typed by hand, as in `v31 v32 v17 v31 v32 v17 <query-04> v32 <ans>`.

        Several queries stand one after the other as in a row, with `?`, the right answer or nothing after `<ans>`.
        """
        words = question.split()
        words = words[1:] if words[:1] == [BOS] else words
        self.vocab.encode(" ".join(word for word in words if word != _UNKNOWN))  # refuses unknown tokens
        heads = [p for p, word in enumerate(words) if word.startswith(_QUERY)]
        if not heads:
            raise UserError(f"the question asks nothing: end it with a query such as {_QUERY}01> v01 {ANSWER}")
        edges = words[: heads[0]]
        cycle = _close(edges)
        queries = [_solve(cycle, words[a:b]) for a, b in pairwise([*heads, len(words)])]
        hops, starts, answers = zip(*queries, strict=True)
        cycles = Cycles(
            sizes=np.array([len(cycle)]),
            counts=np.array([len(queries)]),
            sources=self._ids(edges[::2]),
            targets=self._ids(edges[1::2]),
            hops=np.array(hops),
            starts=self._ids(starts),
            answers=self._ids(answers),
        )
        rows = self._blank(cycles.sizes, cycles.counts)
        self._write(rows, 0, cycles)
        return rows

    def instance(self, rows: Rows, i: int) -> Instance:
        """Show the cycle in its own order and a line a query."""
        edges, blocks = self._split(rows, i)
        cycle = _close(edges)
        asked = [" ".join([*block[:3], _UNKNOWN, END_OF_ANSWER]) for block in blocks]
        # A single query ends at its marker, where the answer is due; of several the last ends at its unknown.
        end = f" {END_OF_ANSWER}" if len(blocks) > 1 else f" {_UNKNOWN} {END_OF_ANSWER}"
        return Instance(
            question=" ".join([*edges, *asked]).removesuffix(end),
            answer=" ".join(block[3] for block in blocks),
            picture="\n".join([" > ".join([*cycle, cycle[0]]), *map(_walk, blocks)]),
            meta={"nodes": len(cycle), "queries": len(blocks)},
        )

    def probes(self, rows: Rows, i: int) -> dict[str, Floats]:
        """Describe the query at each of its answers."""
        edges, blocks = self._split(rows, i)
        out = {probe.name: np.full(int(rows.lengths[i]), np.nan) for probe in self.probe_specs}
        for number, position in enumerate(rows.answer_positions(i)):
            out["hops"][position] = _hops(blocks[number][0])
            out["num_nodes"][position] = len(edges) // 2
            out["query_index"][position] = number
        return out

    def _split(self, rows: Rows, i: int) -> tuple[list[str], list[list[str]]]:
        """Return the words of the edges of row i, and those of each query block."""
        words = [self.vocab.tokens[token] for token in rows.ids(i)]
        head = next(p for p, word in enumerate(words) if word.startswith(_QUERY))
        return words[1:head], [words[p : p + _BLOCK_LENGTH] for p in range(head, len(words), _BLOCK_LENGTH)]

    def _ids(self, words: Iterable[str]) -> Ints:
        return np.array([self.vocab.id(word) for word in words])

    def _draw(self, rng: np.random.Generator, sizes: Ints, counts: Ints, knob: int | None) -> Cycles:
        """Draw one cycle of each size: item i is followed by item i + 1, and which name an item has is random."""
        most = self.config.max_nodes
        names = self._first_name + random_order(rng, np.full_like(sizes, most), most)
        row, item = _ragged(sizes)
        edges, nodes = _shuffle(rng, row, item), _shuffle(rng, row, item)
        sources, targets = names.take(row * most + edges), names.take(row * most + (edges + 1) % sizes[row])
        row, number = _ragged(counts)
        starts = nodes[_offsets(sizes)[row] + number]
        hops = np.full_like(starts, knob or 0)
        if knob is None:
            hops = rng.integers(1, self.config.max_hops, size=len(starts), endpoint=True)
        answers = names.take(row * most + (starts + hops) % sizes[row])
        return Cycles(sizes, counts, sources, targets, hops, names.take(row * most + starts), answers)

    def _blank(self, sizes: Ints, counts: Ints) -> Rows:
        """Return rows of the right lengths that hold `<bos>` only."""
        lengths = 1 + 2 * sizes + _BLOCK_LENGTH * counts
        # One piece of memory for both: fresh pages cost more than all the writing, and a large piece is used again.
        ids, labels = np.zeros((2, len(sizes), int(lengths.max())), dtype=np.int32)
        ids[:, 0] = self.vocab.id(BOS)
        labels[:] = IGNORE
        return Rows(ids, labels, lengths, np.zeros_like(sizes))

    def _write(self, rows: Rows, start: int, cycles: Cycles) -> None:
        """Write the cycles into rows start, start + 1, ..."""
        ids, width = rows.input_ids.reshape(-1), rows.input_ids.shape[1]
        row, number = _ragged(cycles.sizes)
        place = (start + row) * width + 1 + 2 * number
        ids[place], ids[place + 1] = cycles.sources, cycles.targets
        row, number = _ragged(cycles.counts)
        place = (start + row) * width + 1 + 2 * cycles.sizes[row] + _BLOCK_LENGTH * number
        ids[place] = self._first_query - 1 + cycles.hops
        ids[place + 1], ids[place + 2] = cycles.starts, self.vocab.id(ANSWER)
        ids[place + 3], ids[place + 4] = cycles.answers, self.vocab.id(END_OF_ANSWER)
        rows.labels.reshape(-1)[place + 3] = cycles.answers
        rows.knob[start : start + len(cycles.sizes)] = np.maximum.reduceat(cycles.hops, _offsets(cycles.counts))


def _offsets(counts: Ints) -> Ints:
    """Return where each row of a ragged array begins."""
    return np.cumsum(counts) - counts


def _ragged(counts: Ints) -> tuple[Ints, Ints]:
    """Return the row of every entry of a ragged array, and its number within the row.

    >>> [part.tolist() for part in _ragged(np.array([3, 2]))]
    [[0, 0, 0, 1, 1], [0, 1, 2, 0, 1]]
    """
    row = np.repeat(np.arange(len(counts)), counts)
    return row, np.arange(len(row)) - _offsets(counts)[row]


def _shuffle(rng: np.random.Generator, row: Ints, item: Ints) -> Ints:
    """Return the items in a new order: row after row as before, uniformly at random within a row.

    One sort of packed (row, random bits, item); two entries of a row agree in their 40 random bits once in 10**12.
    """
    keys = row << 48 | rng.integers(0, 2**40, size=len(row)) << 8 | item
    keys.sort()
    return keys & 0xFF


def _hops(query: str) -> int:
    return int(query.removeprefix(_QUERY).removesuffix(">"))


def _walk(block: list[str]) -> str:
    query, start, _, answer, _ = block
    return f"{_hops(query)} {'hop' if _hops(query) == 1 else 'hops'} from {start}: {answer}"


def _close(edges: list[str]) -> list[str]:
    """Return the nodes of the cycle that the edges form, from the first one on; say why if they do not form one.

    >>> _close("v31 v32 v17 v31 v32 v17".split())
    ['v31', 'v32', 'v17']
    """
    successor = _successors(edges)
    cycle = [edges[0]]
    while (following := successor.get(cycle[-1])) != cycle[0]:
        if following is None:
            raise UserError(f"{cycle[-1]} has no successor: the edges do not close to a cycle")
        cycle.append(following)
    if left_out := sorted(set(edges) - set(cycle)):
        raise UserError(f"all edges must form one cycle, but the one through {cycle[0]} leaves out {left_out[0]}")
    return cycle


def _successors(edges: list[str]) -> dict[str, str]:
    """Return the successor of every node that has one, if the edges are pairs and no two of them meet."""
    for word in edges:
        if not word.startswith("v"):
            raise UserError(f"{word!r} cannot stand among the edges, which are pairs of names")
    if not edges or len(edges) % 2:
        raise UserError(f"edges are pairs of a node and its successor, but {len(edges)} names stand before the query")
    sources, targets = edges[::2], edges[1::2]
    for names, what in ((sources, "successors"), (targets, "predecessors")):
        if len(set(names)) < len(names):
            name = max(names, key=names.count)
            raise UserError(f"{name} has {names.count(name)} {what}: on a cycle every node has one")
    return dict(zip(sources, targets, strict=True))


def _solve(cycle: list[str], block: list[str]) -> tuple[int, str, str]:
    """Return hops, start and answer of a query typed by hand, which may stop before its answer or show it."""
    query, *rest = block
    if not rest or rest[0] not in cycle:
        raise UserError(f"{query} must be followed by the node of the cycle to start from, not {' '.join(rest[:1])!r}")
    start, *written = rest
    answer = cycle[(cycle.index(start) + _hops(query)) % len(cycle)]
    shown = [answer if word == _UNKNOWN else word for word in written]
    if shown != [ANSWER, answer, END_OF_ANSWER][: len(shown)] and shown != [ANSWER, END_OF_ANSWER]:
        raise UserError(
            f"after '{query} {start}' can stand '{ANSWER} {answer} {END_OF_ANSWER}' (with {_UNKNOWN} for the answer, "
            f"or cut short), not {' '.join(written)!r}"
        )
    return _hops(query), start, answer
