"""The page of LANO: correlations of expected depth with the parser's work, as figures and tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import polars as pl
from markupsafe import Markup

from anira.analysis import Estimate, Null
from anira.analysis.lano import PROXIES, TOKEN_SETS, LanoFigures, ProxyCorrelation
from anira.report.forest import forest_figure
from anira.report.page import environment
from anira.report.style import Style, styles

Paper = Mapping[str, Mapping[str, float]]
"""Proxy -> variant -> the paper's figure."""

SET_WORDS = {
    "grammatical": "Tokens of strings that are sentences",
    "possible": "Tokens of all strings, up to the first impossible one",
}
PANELS = (
    ("predicts", "pooled", "where the token is predicted"),
    ("predicts", "given_input", "the same, given the last token"),
    ("reads", "pooled", "where the token is read (shifted)"),
)
"""Alignment, figure and title of the drawings of a set of tokens."""


@dataclass(frozen=True, kw_only=True)
class LanoRun:
    """A run, and what its records say."""

    origin: str
    """Where it comes from, and in what it differs from its preset."""
    start_symbol: int
    floor: float
    """The least cross-entropy that any model can have, in nats a token."""
    figures: LanoFigures


class _Section(NamedTuple):
    """One set of tokens."""

    title: str
    panels: list[Markup]
    rows: list[dict[str, str]]


def lano_page(runs: Sequence[LanoRun], paper: Paper) -> str:
    """Return one self-contained page; the same figures give the same bytes."""
    looks = styles({label: run.figures.variant for label, run in zip(labels(runs), runs, strict=True)})
    page = {
        "title": "LANO: does depth follow the parser's work?",
        "runs": [_about(label, run) for label, run in zip(labels(runs), runs, strict=True)],
        "looks": looks,
        "sections": [_section(token_set, runs, looks, paper) for token_set in TOKEN_SETS],
        "has_paper": any(run.figures.variant in values for run in runs for values in paper.values()),
    }
    return environment().get_template("lano.html").render(page=page).strip() + "\n"


def labels(runs: Sequence[LanoRun]) -> list[str]:
    """Name runs by variant, and by seed and folder where that does not tell them apart."""
    names = [run.figures.variant for run in runs]
    for more in ([f", seed {run.figures.seed}" for run in runs], [f" ({run.figures.run_id})" for run in runs]):
        names = [f"{name}{extra}" if names.count(name) > 1 else name for name, extra in zip(names, more, strict=True)]
    return names


def correlation_table(runs: Sequence[LanoRun], paper: Paper) -> pl.DataFrame:
    """Return all correlations, one row a run, set of tokens, alignment and proxy: what lano.csv holds."""
    return pl.DataFrame(
        [
            {
                **_who(label, run),
                "token_set": row.token_set,
                "alignment": row.alignment,
                "proxy": row.proxy,
                "tokens": row.tokens,
                "sentences": row.sentences,
                **_interval("pooled", row.pooled),
                "paper": _paper(paper, run, row),
                **_interval("given_position", row.given_position),
                **_interval("given_input", row.given_input),
                **_interval("within", row.within),
                **_null("null_pooled", row.null_pooled),
                **_null("null_within", row.null_within),
            }
            for label, run in zip(labels(runs), runs, strict=True)
            for row in run.figures.correlations
        ],
        infer_schema_length=None,
    )


def _who(label: str, run: LanoRun) -> dict[str, Any]:
    figures = run.figures
    return {"label": label, "run_id": figures.run_id, "variant": figures.variant, "seed": figures.seed}


def _interval(name: str, estimate: Estimate) -> dict[str, float | None]:
    return {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}


def _null(name: str, null: Null | None) -> dict[str, float | None]:
    low, mean, high = (None, None, None) if null is None else (null.low, null.mean, null.high)
    return {name: mean, f"{name}_low": low, f"{name}_high": high}


def _paper(paper: Paper, run: LanoRun, row: ProxyCorrelation) -> float | None:
    """Return the paper's figure; it has one for the primary alignment only."""
    return paper.get(row.proxy, {}).get(run.figures.variant) if row.alignment == "predicts" else None


def _about(label: str, run: LanoRun) -> dict[str, str]:
    figures = run.figures
    return {
        "label": label,
        "language": f"what symbol {run.start_symbol} of cfg3b derives",
        "strings": f"{figures.strings:,}",
        "sentences among them": figures.grammatical.text(3),
        "strings that ended": figures.ended.text(3),
        "tokens before the first impossible one": f"{figures.possible_tokens:,} of {figures.tokens:,}",
        "cross-entropy, nats a token": figures.cross_entropy.text(4),
        "its floor": f"{run.floor:.4f}",
        "mean expected depth": figures.depth.text(),
        "step": f"{figures.step:,}",
        "run": f"{figures.run_id} ({run.origin})",
        "warnings": "; ".join(figures.warnings) or "none",
    }


def _section(token_set: str, runs: Sequence[LanoRun], looks: Mapping[str, Style], paper: Paper) -> _Section:
    table = correlation_table(runs, paper).filter(token_set=token_set)
    panels = []
    for alignment, value, title in PANELS:
        part = table.filter(alignment=alignment).drop_nulls(value)
        if len(part):
            name = f"{token_set}-{alignment}-{value}"
            panels.append(Markup(forest_figure(part, value, PROXIES, looks, name=name, title=title)))
    rows = [
        _cells(label, run, run.figures.row(token_set, "predicts", proxy), paper)
        for proxy in PROXIES
        for label, run in zip(labels(runs), runs, strict=True)
    ]
    return _Section(SET_WORDS[token_set], panels, rows)


def _cells(label: str, run: LanoRun, row: ProxyCorrelation, paper: Paper) -> dict[str, str]:
    shifted = run.figures.row(row.token_set, "reads", row.proxy)
    value = _paper(paper, run, row)
    return {
        "proxy": PROXIES[row.proxy],
        "run": label,
        "paper": "-" if value is None else f"{value:+.3f}",
        "pooled": short(row.pooled),
        "given position": short(row.given_position),
        "given last token": short(row.given_input),
        "within strings": short(row.within),
        "shifted": short(shifted.pooled),
        "shifted, given token": short(shifted.given_input),
        "null, pooled": "-" if row.null_pooled is None else row.null_pooled.text(3),
        "null, within": "-" if row.null_within is None else row.null_within.text(3),
        "tokens": f"{row.tokens:,}",
        "strings": f"{row.sentences:,}",
    }


def short(estimate: Estimate) -> str:
    """Write an estimate without the reason why it has no interval or no value."""
    if estimate.value is None:
        return "undefined"
    return estimate.text(3) if estimate.low is not None else f"{estimate.value:z.3f} [no interval]"
