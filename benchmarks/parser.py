"""Speed of LANO: the parser's features and probabilities, its memory, and the sampler, each beside its bar.

The sentences are drawn from the grammar; those that a trained model writes are about as long.
"""

import statistics
import time
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from random import Random
from typing import Any, Final

import numpy as np

from anira.config import UserError
from anira.config.machine import machine
from anira.tasks.lano import CFG3B, Sampler, string_probabilities, token_features
from benchmarks.plain.lano import derive

Sentence = list[int]

SAMPLED: Final = 8192  # sentences in a repeat of the sampler
PLAIN: Final = 256  # and of the plain one
ANALYSED: Final = 2000
"""Sentences of an analysis; the bar on its time is for so many."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One measured value; `least` says whether the bar is the least it must be, or the most."""

    what: str
    value: float
    unit: str
    bar: float
    least: bool
    met: bool


def bench(*, sentences: int, repeats: int, report: Callable[[str], None]) -> dict[str, Any]:
    """Measure everything, in CPU time; `report` is told what comes next."""
    if repeats < 1 or sentences < repeats:
        raise UserError(f"--sentences must be at least --repeats, and that at least 1, not {sentences}, {repeats}")
    report(f"sampler: {repeats} x {SAMPLED} sentences")
    sampled, plain = _sampler_speeds(repeats)
    drawn = _draw(sentences)
    report(f"features of {sentences} sentences")
    features, feature_seconds = _rate(lambda sentence: token_features(CFG3B, sentence), drawn, repeats)
    report(f"probabilities of {sentences} sentences")
    probabilities, probability_seconds = _rate(lambda sentence: string_probabilities(CFG3B, sentence), drawn, repeats)
    report("memory")
    peak = _peak(max(drawn, key=len))
    seconds = (feature_seconds + probability_seconds) * ANALYSED / sentences
    figures = [
        _figure("features", features, "tokens/s", bar=30_000, least=True),
        _figure("memory of the longest sentence", peak / 1e6, "MB", bar=1.0, least=False),
        _figure("sampler", sampled, "sentences/s", bar=60_000, least=True),
        _figure(f"features and probabilities of {ANALYSED} sentences", seconds, "s", bar=120.0, least=False),
    ]
    return {
        "machine": machine(),
        "time": "CPU time of one thread",
        "repeats": repeats,
        "sentences": sentences,
        "tokens": sum(map(len, drawn)),
        "figures": [asdict(figure) for figure in figures],
        "probabilities_tokens_per_second": probabilities,
        "plain_sampler_sentences_per_second": plain,
    }


def _figure(what: str, value: float, unit: str, *, bar: float, least: bool) -> Figure:
    met = value >= bar if least else value <= bar
    return Figure(what=what, value=value, unit=unit, bar=bar, least=least, met=met)


def _draw(count: int) -> list[Sentence]:
    drawn = Sampler(CFG3B).draw(np.random.default_rng(0), count)
    return [part.tolist() for part in np.split(drawn.tokens, np.cumsum(drawn.lengths)[:-1])]


def _sampler_speeds(repeats: int) -> tuple[float, float]:
    """Return the medians of sentences a second, of ours and of the plain sampler, which take turns."""
    sampler, rng, plain_rng = Sampler(CFG3B), np.random.default_rng(0), Random(0)
    sampler.draw(rng, SAMPLED)  # the first call pays for what is allocated once
    ours, plain = [], []
    for _ in range(repeats):
        ours.append(SAMPLED / _seconds(lambda: sampler.draw(rng, SAMPLED)))
        plain.append(PLAIN / _seconds(lambda: [derive(plain_rng, CFG3B) for _ in range(PLAIN)]))
    return statistics.median(ours), statistics.median(plain)


def _rate(work: Callable[[Sentence], Any], sentences: Sequence[Sentence], repeats: int) -> tuple[float, float]:
    """Return tokens a second, the median over as many parts of the sentences as there are repeats; and all seconds."""
    work(sentences[0])  # the first call pays for the tables of the grammar
    rates, total = [], 0.0
    for part in range(repeats):
        chosen = sentences[part::repeats]
        seconds = _seconds(lambda: [work(sentence) for sentence in chosen])  # noqa: B023 (called at once)
        rates.append(sum(map(len, chosen)) / seconds)
        total += seconds
    return statistics.median(rates), total


def _seconds(work: Callable[[], Any]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def _peak(sentence: Sentence) -> int:
    """Return the most bytes that reading one sentence holds, the larger of the two passes."""
    peaks = []
    for work in (token_features, string_probabilities):
        tracemalloc.start()
        work(CFG3B, sentence)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    return max(peaks)
