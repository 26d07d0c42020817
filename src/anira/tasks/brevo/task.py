"""The BREVO task: configuration, serialisation, grading.

The row of the graph 12 <- 5 18, 5 <- 8 19, 18 <- 8 (`a <- b c`: a depends on b and c) with the query 12:

    <bos> n19 n05 n08 n05 n05 n12 n18 n12 n08 n18 <query> n12 <ans> n08 n19 n05 n18 <eos>

An edge is written dependency first. The supervised tokens are those after <ans>: a depth-first search from the query,
smaller names first, writes every node after all that it depends on; the query itself is left out.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from anira.config import UserError, nearest
from anira.tasks.base import IGNORE, BlockTask, Floats, Instance, Ints, Knob, Rows
from anira.tasks.brevo.graph import DEGREE, LARGEST, Answers, Graphs, draw_graphs, search
from anira.tasks.brevo.probes import PROBES, Search
from anira.tasks.brevo.question import QUERY, Edges, parse
from anira.tasks.sampling import SIZE_LAWS, SizeLaw, draw_sizes
from anira.tasks.vocab import ANSWER, BOS, EOS, PAD, Vocab

_MARKERS: Final = (PAD, BOS, EOS, QUERY, ANSWER)
_SHIFT: Final = len(_MARKERS) - 1  # the id of a node's token minus its name


@dataclass(frozen=True, kw_only=True)
class BrevoConfig:
    """How large BREVO graphs are."""

    max_nodes: int = 30
    """Most nodes of a graph, and the number of names; a smaller graph uses some of them."""
    min_nodes: int = 3
    """Fewest nodes of a training row."""
    size_law: SizeLaw = "reference"
    """How often a size n is trained: as 1 / (n + sqrt(max_nodes)), or uniformly."""

    def __post_init__(self) -> None:
        if not 3 <= self.max_nodes <= LARGEST:
            raise UserError(f"max_nodes must be between 3 and {LARGEST}, not {self.max_nodes}")
        if not 2 <= self.min_nodes <= self.max_nodes:
            raise UserError(f"min_nodes must be between 2 and max_nodes = {self.max_nodes}, not {self.min_nodes}")
        if self.size_law not in SIZE_LAWS:
            raise UserError(f"unknown size_law {self.size_law!r}: {nearest(self.size_law, SIZE_LAWS)}")


class Brevo(BlockTask):
    """`<bos> p c p c ... <query> q <ans> a1 ... am <eos>`; a1 .. am and <eos> are supervised."""

    name = "brevo"
    summary = "all that a node of a graph depends on, in depth-first order"
    Config = BrevoConfig
    config: BrevoConfig
    probe_specs = PROBES

    def __init__(self, config: BrevoConfig | None = None) -> None:
        super().__init__(config)
        low, high = self.config.min_nodes, self.config.max_nodes
        digits = max(2, len(str(high)))  # zero-padded names sort alike as numbers and as words
        self.vocab = Vocab([*_MARKERS, *(f"n{name:0{digits}d}" for name in range(1, high + 1))])
        self.knob = Knob(
            name="N",
            meaning="nodes of the graph",
            cost="about N edges searched",
            seen=tuple(range(low, high + 1)),
            minimum=2,
            maximum=high,
        )

    def generate(self, rng: np.random.Generator, index: Ints, knob: int | None) -> Rows:
        """Draw sizes and graphs, and search all graphs at once."""
        config, count = self.config, len(index)
        if knob is None:
            sizes = draw_sizes(rng, count, config.min_nodes, config.max_nodes, config.size_law)
        else:
            sizes = np.full(count, knob)
        return self._solve(draw_graphs(rng, sizes, config.max_nodes), sizes)

    def read(self, question: str) -> Rows:
        """Return the row of a question typed by hand, as in `n19 n05 n08 n05 <query> n05`.

        Its knob is the number of nodes in the text.
        """
        edges, query = parse(question, self.vocab)
        parent, child = np.array(edges).T - _SHIFT
        graphs = Graphs(np.zeros_like(parent), parent, child, np.array([query - _SHIFT]))
        return self._solve(graphs, np.array([len(np.unique(edges))]))

    def instance(self, rows: Rows, i: int) -> Instance:
        """Show what each node that the query needs depends on."""
        ids, start = rows.ids(i), rows.answer_positions(i)[0]
        edges, query = self._problem(rows, i)
        found = Search(edges, query)
        return Instance(
            question=self.vocab.decode(ids[1:start]),
            answer=self.vocab.decode(ids[start:]),
            picture=self._picture(edges, found),
            meta={
                "reachable_nodes": len(found.tree_depth),
                "reachable_edges": found.num_edges,
                "longest_chain": found.longest_chain,
                "visible_nodes": len({node for edge in edges for node in edge}),
            },
        )

    def probes(self, rows: Rows, i: int) -> dict[str, Floats]:
        """Note the solver's state at the position of every node of the answer."""
        length = int(rows.lengths[i])
        found = Search(*self._problem(rows, i))
        position = dict(zip(found.order, rows.answer_positions(i), strict=False))  # the last position is <eos>
        out = {probe.name: np.full(length, np.nan) for probe in PROBES}
        out["predecessor_positions"] = np.full((length, DEGREE), np.nan)
        for node, state in zip(found.order, found.states(), strict=True):
            here, parents = position[node], found.parents(node)
            for name, value in state.items():
                out[name][here] = value
            out["num_nodes"][here] = rows.knob[i]
            out["predecessor_positions"][here, : len(parents)] = [position[parent] for parent in parents]
        return out

    def lenient(self, rows: Rows, i: int, given: list[int]) -> bool:
        """Accept any order of the right nodes in which dependencies come first, ended by <eos>."""
        if given[-1:] != [self.vocab.id(EOS)]:
            return False
        return Search(*self._problem(rows, i)).accepts(given[:-1])

    def _problem(self, rows: Rows, i: int) -> tuple[Edges, int]:
        """Return the edges and the query of row i as token ids, which are in the same order as the names."""
        ids, start = rows.ids(i), rows.answer_positions(i)[0]
        return list(zip(ids[1 : start - 3 : 2], ids[2 : start - 3 : 2], strict=True)), ids[start - 2]

    def _picture(self, edges: Edges, found: Search) -> str:
        """Return one line a node that the query needs, from the query on, and one line for the rest.

        Nodes without dependencies have no line of their own.
        """
        needed = [node for node in (found.query, *reversed(found.order)) if found.parents(node)]
        lines = [f"{self.vocab.tokens[node]} <- {self.vocab.decode(found.parents(node))}" for node in needed]
        rest = sorted({node for edge in edges for node in edge} - found.tree_depth.keys())
        if rest:
            lines.append(f"not needed: {self.vocab.decode(rest)} (edges: {len(edges) - found.num_edges})")
        return "\n".join(lines)

    def _solve(self, graphs: Graphs, sizes: Ints) -> Rows:
        return self._write(graphs, search(graphs, self.config.max_nodes), sizes)

    def _write(self, graphs: Graphs, answers: Answers, sizes: Ints) -> Rows:
        vocab = self.vocab
        num_edges = np.bincount(graphs.row, minlength=len(sizes))
        lengths = 2 * num_edges + answers.lengths + 5
        ids: Ints = np.zeros((len(sizes), int(lengths.max())), dtype=np.int32)
        labels = np.full_like(ids, IGNORE)
        # Positions below count through all rows, because flat arrays are written about twice as fast.
        bos = ids.shape[1] * np.arange(len(sizes))
        edge = np.repeat(bos + 1 - 2 * (np.cumsum(num_edges) - num_edges), num_edges) + 2 * np.arange(len(graphs.row))
        query = bos + 1 + 2 * num_edges
        row, rank = np.nonzero(np.arange(answers.names.shape[1]) < answers.lengths[:, None])
        answer = query[row] + 3 + rank
        eos = bos + lengths - 1
        text, target = ids.reshape(-1), labels.reshape(-1)
        text[bos], text[query], text[query + 2] = vocab.id(BOS), vocab.id(QUERY), vocab.id(ANSWER)
        text[edge], text[edge + 1] = graphs.parent + _SHIFT, graphs.child + _SHIFT
        text[query + 1] = graphs.query + _SHIFT
        text[answer] = target[answer] = answers.names[row, rank] + _SHIFT
        text[eos] = target[eos] = vocab.id(EOS)
        return Rows(ids, labels, lengths, sizes)
