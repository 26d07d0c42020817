"""The page: whether expected depth follows the parser's work, proxy by proxy, beside the paper and untrained models."""

from collections.abc import Sequence
from typing import Final

import altair as alt
import polars as pl

from anira.measure.claims.lano import JUDGED
from anira.measure.lano import PROXIES, subset
from anira.measure.tidy import Row, find
from anira.paper.lano.measure import NAMES, Found
from anira.site import SMOKE, Cell, ChartPart, Page, Section, TablePart, read_notes
from anira.site.charts import Legend
from anira.site.style import GREY
from anira.site.tables import Column, estimate_cell, estimate_table, null_cell
from anira.site.verdicts import claim_note, claims_badge, verdict_lines

PAPER: Final = {
    "active_gamma_slice": {"anira-e": 0.666, "anira-o": 0.456},
    "active_beta_end": {"anira-e": -0.264, "anira-o": -0.111},
    "ops_add": {"anira-e": 0.618, "anira-o": 0.463},
    "ops_mul": {"anira-e": 0.645, "anira-o": 0.490},
}
"""Proxy -> variant -> the paper's Spearman correlation with expected depth, over all tokens."""
SETS: Final = {
    "possible": "Tokens of all strings, up to the first impossible one",
    "grammatical": "Tokens of strings that are sentences",
}
_LEARNED: Final = (
    Column("sentences", "sentences"),
    Column("ended", "strings that ended"),
    Column("possible_tokens", "tokens before the first impossible one"),
    Column("cross_entropy", "cross-entropy"),
    Column("entropy_floor", "its floor"),
    Column("expected_depth", "mean expected depth", "written"),
)
_COLUMNS: Final = (
    ("work", "pooled", "predicts"),
    ("work_given_position", "given position", "predicts"),
    ("work_given_token", "given last token", "predicts"),
    ("work_within", "within strings", "predicts"),
    ("work", "shifted", "reads"),
    ("work_given_token", "shifted, given token", "reads"),
)
_NULLS: Final = (
    ("work", "untrained, pooled"),
    ("work_given_token", "untrained, given last token"),
    ("work_shuffled", "shuffled, pooled"),
    ("work_within", "shuffled, within strings"),
)
_VERDICTS: Final = {
    "supported": "Expected depth follows the parser's work, more than in untrained models, in {}.",
    "contradicted": "Expected depth does not follow the parser's work more than in untrained models in {}.",
}
_MARKS: Final = "Large marks: means over seeds with 95% t intervals; small marks: seeds; grey bars: untrained models."
_NOTHING: Final = "No run has such tokens with depths and proxies that vary: there is nothing to correlate."


def make_page(found: Found, *, scale: str, files: Sequence[str]) -> Page:
    """Return the page."""
    return Page(
        title="LANO: does depth follow the parser's work?",
        badge=claims_badge(found.claims),
        answer=[*answer(found), *[SMOKE] * (scale == "smoke")],
        lead=_chart(found, "work_given_token", "possible", "predicts", "given the last token"),
        verdicts=[claim_note(claim) for claim in found.claims],
        sections=[
            *(_section(found, name, is_open=i == 0) for i, name in enumerate(SETS)),
            Section(title="Have the runs learned the language?", parts=[_learned_table(found)]),
            Section(title="How to read this page", notes=read_notes("anira.paper.lano")),
        ],
        files=files,
        command=f"anira reproduce lano --scale {scale}",
    )


def answer(found: Found) -> list[str]:
    """Say where depth follows the parser's work, and what each model's correlation is beside untrained models."""
    rows = {name: _judged(found, variant) for variant, name in _shown(found).items()}
    told = [
        f"{name}: expected depth and the parser's multiplications correlate by {row['value']:+z.2f} among positions "
        f"that read the same token; in untrained models by {row['null_low']:+z.2f} to {row['null_high']:+z.2f}."
        for name, row in rows.items()
        if row["value"] is not None and row["null_low"] is not None
    ]
    return [*verdict_lines(found.claims, _VERDICTS), *told]


def _section(found: Found, token_set: str, *, is_open: bool) -> Section:
    charts = [
        _chart(found, "work", token_set, "predicts", "over all tokens, as in the paper"),
        _chart(found, "work_given_token", token_set, "predicts", "given the last token") if not is_open else None,
        _chart(found, "work", token_set, "reads", "shifted: depth where the token is read"),
    ]
    shown = [chart for chart in charts if chart is not None]
    if not shown:
        return Section(title=SETS[token_set], text=[_NOTHING], open=is_open)
    return Section(title=SETS[token_set], parts=[*shown, _table(found, token_set)], open=is_open)


def _chart(found: Found, quantity: str, token_set: str, alignment: str, title: str) -> ChartPart | None:
    """Return a quantity by proxy; nothing where no run has it."""
    rows = pl.concat([_rows(found, quantity, subset(token_set, alignment, proxy), proxy) for proxy in PROXIES])
    if rows.is_empty():
        return None
    paper = _paper() if (quantity, alignment) == ("work", "predicts") else None
    return ChartPart(
        name=f"{token_set}-{alignment}-{quantity}",
        title=f"Rank correlation of expected depth with the parser's work, {title}",
        chart=work_chart(rows, paper, Legend(NAMES)),
        caption=f"{SETS[token_set]}. {_MARKS}" + (" Hollow marks: the paper." if paper is not None else ""),
    )


def work_chart(rows: pl.DataFrame, paper: pl.DataFrame | None, legend: Legend) -> alt.TopLevelMixin:
    """Return correlations by proxy and model, above the range of untrained models."""
    y = alt.Y("proxy:N", title=None, sort=list(PROXIES.values()), axis=alt.Axis(labelLimit=200))
    offset = alt.YOffset("label:N", sort=list(legend.names.values()))
    x = alt.X("value:Q", title="rank correlation (Spearman)", scale=alt.Scale(zero=True))
    tips = ["proxy:N", "label:N", "value:Q", "low:Q", "high:Q"]
    means, single = rows.filter(pl.col("seed").is_null()), rows.drop_nulls("seed")
    base = alt.Chart(means).encode(y=y, yOffset=offset)
    ranges = base.transform_filter("isValid(datum.null_low)").mark_bar(color=GREY, opacity=0.35, height=14)
    layers: list[alt.Chart] = [
        alt.Chart(means).mark_rule(strokeDash=[4, 3], color=GREY).encode(x=alt.datum(0)),
        ranges.encode(x="null_low:Q", x2="null_high:Q", tooltip=["label:N", "null_low:Q", "null_high:Q"]),
        base.mark_rule(strokeWidth=2).encode(x="low:Q", x2="high:Q", color=legend.colour),
        alt.Chart(single)
        .mark_point(size=25, opacity=0.7)
        .encode(x=x, y=y, yOffset=offset, color=legend.colour, tooltip=["seed:O", *tips]),
        base.mark_point(filled=True, size=90, opacity=1).encode(
            x=x, color=legend.colour, shape=legend.shape, tooltip=tips
        ),
    ]
    if paper is not None:
        hollow = alt.Chart(paper).mark_point(filled=False, size=110, strokeWidth=2)
        tips = ["proxy:N", "label:N", "value:Q"]
        layers.append(hollow.encode(x=x, y=y, yOffset=offset, color=legend.colour, shape=legend.shape, tooltip=tips))
    return alt.layer(*layers)


def _rows(found: Found, quantity: str, own: str, proxy: str) -> pl.DataFrame:
    both = pl.concat([found.seeds, found.runs]).filter(quantity=quantity, subset=own).drop_nulls("value")
    columns = ("seed", "value", "low", "high", "null_low", "null_high")
    return Legend(NAMES).of(both).select("label", pl.lit(PROXIES[proxy]).alias("proxy"), *columns)


def _paper() -> pl.DataFrame:
    rows = [(PROXIES[proxy], NAMES[name], value) for proxy, own in PAPER.items() for name, value in own.items()]
    return pl.DataFrame(rows, schema=["proxy", "label", "value"], orient="row")


def _table(found: Found, token_set: str) -> TablePart:
    """Return all correlations of one set of tokens, and what untrained models and shuffled depths have."""
    rows = []
    for proxy, words in PROXIES.items():
        for variant, name in _shown(found).items():
            places = {alignment: subset(token_set, alignment, proxy) for alignment in ("predicts", "reads")}
            cells = [find(found.seeds, what, subset=places[how], variant=variant) for what, _, how in _COLUMNS]
            nulls = [find(found.seeds, what, subset=places["predicts"], variant=variant) for what, _ in _NULLS]
            paper = PAPER.get(proxy, {}).get(variant)
            shown = Cell("-" if paper is None else f"{paper:+.3f}")
            rows.append([Cell(words), Cell(name), shown, *map(estimate_cell, cells), *map(null_cell, nulls)])
    heads = [Column(what, title).head for what, title, _ in _COLUMNS]
    head = [Cell("proxy"), Cell("model"), Cell("paper"), *heads, *(Cell(title) for _, title in _NULLS)]
    return TablePart(title=SETS[token_set], head=head, rows=rows, caption=_size(found, token_set))


def _judged(found: Found, variant: str) -> Row:
    return find(found.seeds, "work_given_token", subset=JUDGED, variant=variant)


def _size(found: Found, token_set: str) -> str:
    rows = found.runs.filter(quantity="strings", subset=token_set)
    return f"{rows['n'].sum():,} tokens of {rows['value'].sum():,.0f} strings in all runs. Means over seeds."


def _learned_table(found: Found) -> TablePart:
    subjects = {name: {"variant": variant} for variant, name in _shown(found).items()}
    caption = "Of the strings that each run wrote; cross-entropy of sentences kept from training. Means over seeds."
    return estimate_table(found.seeds, subjects, _LEARNED, title="Strings", first="model", caption=caption)


def _shown(found: Found) -> dict[str, str]:
    """Return the variants that have runs, in the order of their claims, and what they are called."""
    return {name: NAMES[name] for name in found.runs["variant"].unique(maintain_order=True)}
