"""The page of LANO: correlations of expected depth with the parser's work, as figures and tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from anira.measure.claims.knob import Claim
from anira.measure.lano import PROXIES, TOKEN_SETS, LanoFigures, ProxyCorrelation
from anira.measure.untrained import span
from anira.site.drawing.forest import forest_figure
from anira.site.drawing.style import Style, styles
from anira.site.plain import short
from anira.site.sheet.cells import Who, estimate_columns, null_columns, null_text, run_labels
from anira.site.sheet.sheet import Section, Sheet, Table
from anira.site.sheet.verdicts import verdict_sections

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


def lano_sheet(runs: Sequence[LanoRun], paper: Paper, claims: Sequence[Claim] = ()) -> Sheet:
    """Return the page about some runs."""
    looks = styles({label: run.figures.labels.variant for label, run in zip(labels(runs), runs, strict=True)})
    return Sheet(
        name="lano",
        title="LANO: does depth follow the parser's work?",
        runs=[_about(label, run) for label, run in zip(labels(runs), runs, strict=True)],
        sections=[*(_section(token_set, runs, looks, paper) for token_set in TOKEN_SETS), *verdict_sections(claims)],
    )


def labels(runs: Sequence[LanoRun]) -> list[str]:
    """Name runs by what tells them apart."""
    found = [run.figures.labels for run in runs]
    return run_labels([Who(one.variant, one.seed, one.run_id) for one in found])


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
                **estimate_columns("pooled", row.pooled),
                "paper": _paper(paper, run, row),
                **estimate_columns("given_position", row.given_position),
                **estimate_columns("given_input", row.given_input),
                **estimate_columns("within", row.within),
                **null_columns("null_pooled", row.null_pooled),
                **null_columns("null_within", row.null_within),
                **{f"untrained_pooled_{i}": value for i, value in enumerate(row.untrained.pooled)},
                **{f"untrained_given_input_{i}": value for i, value in enumerate(row.untrained.given_input)},
            }
            for label, run in zip(labels(runs), runs, strict=True)
            for row in run.figures.correlations
        ],
        infer_schema_length=None,
    )


def _who(label: str, run: LanoRun) -> dict[str, Any]:
    who = run.figures.labels
    return {"label": label, "run_id": who.run_id, "variant": who.variant, "seed": who.seed}


def _paper(paper: Paper, run: LanoRun, row: ProxyCorrelation) -> float | None:
    """Return the paper's figure; it has one for the primary alignment only."""
    return paper.get(row.proxy, {}).get(run.figures.labels.variant) if row.alignment == "predicts" else None


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
        "step": f"{figures.labels.step:,}",
        "run": f"{figures.labels.run_id} ({run.origin})",
        "warnings": "; ".join(figures.warnings) or "none",
    }


def _section(token_set: str, runs: Sequence[LanoRun], looks: Mapping[str, Style], paper: Paper) -> Section:
    table = correlation_table(runs, paper).filter(token_set=token_set)
    panels = []
    for alignment, value, title in PANELS:
        part = table.filter(alignment=alignment).drop_nulls(value)
        if len(part):
            name = f"{token_set}-{alignment}-{value}"
            panels.append(forest_figure(part, value, PROXIES, looks, name=name, title=title))
    if not panels:
        nothing = "No run has such tokens with depths and proxies that vary: there is nothing to correlate."
        return Section(title=SET_WORDS[token_set], text=[nothing])
    rows = [
        _cells(label, run, run.figures.row(token_set, "predicts", proxy), paper)
        for proxy in PROXIES
        for label, run in zip(labels(runs), runs, strict=True)
    ]
    hollow = " Hollow markers: the paper's figures." if table["paper"].count() else ""
    return Section(
        title=SET_WORDS[token_set],
        looks=looks,
        panels=panels,
        tables=[Table(SET_WORDS[token_set], rows)],
        below=f"Bars are 95% intervals from resampling whole strings.{hollow}",
    )


def _cells(label: str, run: LanoRun, row: ProxyCorrelation, paper: Paper) -> dict[str, str]:
    shifted = run.figures.row(row.token_set, "reads", row.proxy)
    value = _paper(paper, run, row)
    return {
        "proxy": PROXIES[row.proxy],
        "run": label,
        "paper": "-" if value is None else f"{value:+.3f}",
        "pooled": short(row.pooled, 3),
        "untrained models, pooled": _span(row.untrained.pooled),
        "given position": short(row.given_position, 3),
        "given last token": short(row.given_input, 3),
        "untrained models, given last token": _span(row.untrained.given_input),
        "within strings": short(row.within, 3),
        "shifted": short(shifted.pooled, 3),
        "shifted, given token": short(shifted.given_input, 3),
        "null, pooled": null_text(row.null_pooled),
        "null, within": null_text(row.null_within),
        "tokens": f"{row.tokens:,}",
        "strings": f"{row.sentences:,}",
    }


def _span(values: Sequence[float | None]) -> str:
    """Write the smallest and the largest of some correlations."""
    found = span(values)
    return "-" if found is None else f"{found.low:+z.3f} to {found.high:+z.3f}"
