"""The page: whether expected depth follows the parser's work, proxy by proxy, beside the paper and untrained models."""

from typing import Final

from anira.measure.claims.lano import JUDGED
from anira.measure.lano import PROXIES, subset
from anira.paper.found import Found
from anira.site import ChartPart, Page, Section, TablePart, table_part
from anira.site.charts import MARKS, interval_part, labelled
from anira.site.tables import Column, estimate_table
from anira.site.verdicts import NAMES, claim_note, claims_badge, shown, verdict_lines

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
LEADING: Final = "possible"
"""The set whose correlations given the last token lead the page."""
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
"""Quantity, title, and which depth a token is compared with."""
_NULLS: Final = (
    Column("work", "untrained, pooled", null=True),
    Column("work_given_token", "untrained, given last token", null=True),
    Column("work_shuffled", "shuffled, pooled", null=True),
    Column("work_within", "shuffled, within strings", null=True),
)
_VERDICTS: Final = {
    "supported": "Expected depth follows the parser's work, more than in untrained models, in {}.",
    "contradicted": "Expected depth does not follow the parser's work more than in untrained models in {}.",
}
_NOTHING: Final = "No run has such tokens with depths and proxies that vary: there is nothing to correlate."


def make_page(found: Found) -> Page:
    """Return the page."""
    claims = found.claims["follows-complexity"]
    caption = "Of the strings that each run wrote; cross-entropy of sentences kept from training. Means over seeds."
    learned = estimate_table(found.seeds, shown(found.seeds), _LEARNED, title="Strings", caption=caption)
    return Page(
        title="LANO: does depth follow the parser's work?",
        badge=claims_badge(claims),
        answer=answer(found),
        lead=_chart(found, "work_given_token", LEADING, "predicts", "given the last token"),
        verdicts=[claim_note(claim) for claim in claims],
        sections=[
            *(_section(found, name) for name in SETS),
            Section(title="Have the runs learned the language?", parts=[learned]),
        ],
    )


def answer(found: Found) -> list[str]:
    """Say where depth follows the parser's work, and what each model's correlation is beside untrained models."""
    rows = {name: found.row("work_given_token", subset=JUDGED, **labels) for name, labels in shown(found.seeds).items()}
    told = [
        f"{name}: expected depth and the parser's multiplications correlate by {row['value']:+z.2f} among positions "
        f"that read the same token; in untrained models by {row['null_low']:+z.2f} to {row['null_high']:+z.2f}."
        for name, row in rows.items()
        if row["value"] is not None and row["null_low"] is not None
    ]
    return [*verdict_lines(found.claims["follows-complexity"], _VERDICTS), *told]


def _section(found: Found, token_set: str) -> Section:
    wanted = [("work", "predicts", "over all tokens, as in the paper")]
    if token_set != LEADING:
        wanted += [("work_given_token", "predicts", "given the last token")]
    wanted += [("work", "reads", "shifted: depth where the token is read")]
    charts = [_chart(found, what, token_set, alignment, title) for what, alignment, title in wanted]
    drawn = [chart for chart in charts if chart is not None]
    if not drawn:
        return Section(title=SETS[token_set], text=[_NOTHING])
    return Section(title=SETS[token_set], parts=[*drawn, _table(found, token_set)])


def _chart(found: Found, quantity: str, token_set: str, alignment: str, title: str) -> ChartPart | None:
    """Return a quantity by proxy and model, above the range of untrained models; nothing where no run has it."""
    names = {
        (subset(token_set, alignment, proxy), variant): f"{words}, {name}"
        for proxy, words in PROXIES.items()
        for variant, name in NAMES.items()
    }
    papers = (quantity, alignment) == ("work", "predicts")
    return interval_part(
        labelled(found.both.filter(quantity=quantity), names, ["subset", "variant"]),
        name=f"{token_set}-{alignment}-{quantity}",
        title=f"Rank correlation of expected depth with the parser's work, {title}",
        axis="rank correlation (Spearman)",
        order=names.values(),
        caption=f"{SETS[token_set]}. {MARKS} Grey bars: untrained models.",
        paper={
            names[subset(token_set, alignment, proxy), variant]: value
            for proxy, own in PAPER.items()
            for variant, value in own.items()
            if papers
        },
        nulls=True,
    )


def _table(found: Found, token_set: str) -> TablePart:
    """Return all correlations of one set of tokens, and what untrained models and shuffled depths have."""
    rows = []
    for proxy, words in PROXIES.items():
        places = {how: subset(token_set, how, proxy) for how in ("predicts", "reads")}
        columns = [Column(what, title, places[how]) for what, title, how in _COLUMNS]
        columns += [one._replace(subset=places["predicts"]) for one in _NULLS]
        for name, labels in shown(found.seeds).items():
            paper = PAPER.get(proxy, {}).get(labels["variant"])
            known = "-" if paper is None else f"{paper:+.3f}"
            rows.append([words, name, known, *(one.cell(found.seeds, labels) for one in columns)])
    head = ["proxy", "model", "paper", *(one.head for one in columns)]
    counts = found.runs.filter(quantity="strings", subset=token_set)
    size = f"{counts['n'].sum():,} tokens of {counts['value'].sum():,.0f} strings in all runs. Means over seeds."
    return table_part(SETS[token_set], head, rows, caption=size)
