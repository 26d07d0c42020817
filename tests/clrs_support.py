"""Rows made by the original generator of CLRS-Text, its random stream, and answers by way of the text."""

import gzip
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from anira.tasks.clrs import solve
from anira.tasks.clrs.algorithms import ALGORITHMS
from anira.tasks.clrs.sampling import cut
from anira.tasks.clrs.text import read_answer, write_question

DATA = Path(__file__).parent / "golden" / "data" / "clrs"
SEED = 20261
HULLS = ("graham_scan", "jarvis_march")


class UpstreamRow(NamedTuple):
    """A row, and its place among those of the same algorithm and size."""

    algorithm: str
    size: int
    place: int
    question: str
    answer: str

    @property
    def kind(self) -> tuple[str, int, int]:
        return self.algorithm, self.size, self.place


def upstream_rows(*, traced: bool = False) -> list[UpstreamRow]:
    """Return the rows of one of the two files."""
    name = "dm_clrs_2.0.3_traced.jsonl.gz" if traced else "dm_clrs_2.0.3.jsonl.gz"
    rows: list[UpstreamRow] = []
    with gzip.open(DATA / name, "rt") as lines:
        for line in lines:
            row = json.loads(line)
            place = sum((one.algorithm, one.size) == (row["algo"], row["length"]) for one in rows)
            rows.append(UpstreamRow(row["algo"], row["length"], place, row["question"], row["answer"]))
    return rows


class UpstreamStream:
    """numpy's old random numbers, which dm-clrs draws from, behind the methods of `numpy.random.Generator`."""

    def __init__(self, seed: int) -> None:
        self._state = np.random.RandomState(seed)

    def random(self, size: Any = None) -> Any:
        return self._state.random_sample(size)

    def integers(self, low: int, high: int, size: Any = None) -> Any:
        return self._state.randint(low, high, size=size)

    def permutation(self, n: int) -> Any:
        return self._state.permutation(n)


def our_question(name: str, size: int, stream: UpstreamStream) -> str:
    """Draw one instance from upstream's stream and write it in upstream's style.

    dm-clrs cuts the coordinates of hulls twice, which turns 1.001 into 1.0 (the float is below it): so do we here.
    """
    (values,) = ALGORITHMS[name].draw(stream, 1, size)
    if name in HULLS:
        values = tuple(cut(np.array(value)).tolist() for value in values)
    return write_question(ALGORITHMS[name], values, "upstream")


def answer(name: str, *values: Any) -> tuple[Any, ...]:
    """Solve by way of the text, so that rendering, reading and solving are all in it."""
    algorithm = ALGORITHMS[name]
    question = write_question(algorithm, values, "upstream")
    return read_answer(algorithm, solve(question), algorithm.size(values))
