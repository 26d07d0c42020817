"""The table of LANO as plain text, and the figures of the paper that it is compared with."""

from collections.abc import Sequence
from typing import Final

from anira.analysis.lano import PROXIES, TOKEN_SETS
from anira.analysis.tables import layout
from anira.report.lano import SET_WORDS, LanoRun, labels, short

PAPER: Final = {
    "active_gamma_slice": {"anira-e": 0.666, "anira-o": 0.456},
    "active_beta_end": {"anira-e": -0.264, "anira-o": -0.111},
    "ops_add": {"anira-e": 0.618, "anira-o": 0.463},
    "ops_mul": {"anira-e": 0.645, "anira-o": 0.490},
}
"""Proxy -> variant -> the paper's Spearman correlation with expected depth."""

_HEAD = ("proxy", "paper", "pooled", "given position", "given last token", "within strings", "null within", "shifted")


def text_tables(runs: Sequence[LanoRun]) -> str:
    """Return how each run has learned the language, then its correlations by set of tokens."""
    named = list(zip(labels(runs), runs, strict=True))
    blocks = [layout(["run", "sentences", "ended", "cross-entropy", "floor", "depth"], [_about(*one) for one in named])]
    for label, run in named:
        for token_set in TOKEN_SETS:
            blocks.append(f"{label}: {SET_WORDS[token_set].lower()}\n{_correlations(run, token_set)}")
    return "\n\n".join(blocks)


def _about(label: str, run: LanoRun) -> list[str]:
    figures = run.figures
    estimates = (figures.grammatical, figures.ended, figures.cross_entropy)
    return [label, *map(short, estimates), f"{run.floor:.3f}", short(figures.depth)]


def _correlations(run: LanoRun, token_set: str) -> str:
    rows: list[list[str]] = []
    for proxy, words in PROXIES.items():
        row, shifted = (run.figures.row(token_set, alignment, proxy) for alignment in ("predicts", "reads"))
        if not row.tokens:
            return "none"
        value = PAPER.get(proxy, {}).get(run.figures.variant)
        cells = [short(estimate) for estimate in (row.pooled, row.given_position, row.given_input, row.within)]
        null = "undefined" if row.null_within is None else row.null_within.text(3)
        rows.append([words, "-" if value is None else f"{value:+.3f}", *cells, null, short(shifted.pooled)])
    return layout(_HEAD, rows)
