"""The page: which features of a node explain the depth that was spent on it, and whether structure or state does."""

from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from anira.measure import quantity
from anira.measure.brevo.regression import OTHER_READING, SHOWN, STACKED
from anira.measure.brevo.tokens import FEATURES
from anira.measure.tidy import find
from anira.paper.brevo_regression.measure import NAMES, PAPER, Found
from anira.site import SMOKE, Badge, Cell, ChartPart, Page, Section, TablePart, Tone, amount, read_notes
from anira.site.charts import interval_chart
from anira.site.tables import Column, estimate_cell, estimate_table, null_cell
from anira.site.verdicts import claim_note

_GROUPS: Final = {"structure": "structure adds", "state": "state of the search adds"}
_SHARES: Final = (
    Column("state_share", "state's share", "within"),
    Column("state_share", "at equal place", "placed"),
    Column("state_share", "remaining counted as state", "moved"),
    Column("state_share", "over all tokens, at equal N", "pooled"),
)
_MODELS: Final = {
    "linear": "final model, N a number",
    "categorical": "final model, N a category",
    "linear_without_read": "final model without READ, N a number",
    "categorical_without_read": "final model without READ, N a category",
    "argmax": "final model of the most probable depth, N a category",
    "probes": "all features but READ, N a category",
    "by_size": "N alone",
    "by_position": "place in the answer alone",
    "by_both": "N x place alone",
    "model": "N and the four features",
    "model_and_position": "N x place and the four features",
    "probes_and_position": "N x place and all features but READ",
}
_GAINS: Final = {
    "read": "READ adds to all other features",
    "improvement": "N a category adds to N a number",
    "expected_gain": "expected depth over the most probable depth",
}
_EFFECTS: Final = {"node_effect": "at equal N", "node_effect_placed": "at equal N and place", "node_effect_within": ""}
_STAGES: Final = (
    Column("node_correlation", "r with depth"),
    Column("node_vif", "VIF"),
    Column("node_delta", "R2 lost, all kept"),
    Column("final_effect", "coefficient"),
    Column("final_delta", "R2 lost, N a number"),
    Column("final_delta_sized", "R2 lost, N a category"),
    Column("final_retention", "retention"),
)
_TONES: Final[Mapping[str, Tone]] = {"supported": "yes", "contradicted": "no"}
_CAPTION: Final = "Large marks: means over seeds with 95% t intervals; small marks: seeds; grey: shuffled depth."
_TABLE: Final = "Means over seeds with 95% t intervals."


def make_page(found: Found, *, scale: str, files: Sequence[str]) -> Page:
    """Return the page."""
    words = [claim.verdict.word for claim in found.claims] or ["not testable"]
    return Page(
        title="BREVO: does ANIRA-E follow the structure of the graph, and ANIRA-O the search?",
        badge=Badge(words[0], _TONES.get(words[0], "open")),
        answer=[*_answer(found), *[SMOKE] * (scale == "smoke")],
        lead=_lead(found),
        verdicts=[claim_note(claim, "ANIRA-O against ANIRA-E") for claim in found.claims],
        sections=[
            _coefficients(found),
            Section(title="Structure or state?", parts=[_groups(found), _shares(found)]),
            Section(title="How much is explained", parts=[_explained(found)]),
            Section(title="The four stages", parts=[_stages(found, variant) for variant in _variants(found)]),
            Section(title="How to read this page", notes=read_notes("anira.paper.brevo_regression")),
        ],
        files=files,
        command=f"anira reproduce brevo-regression --scale {scale}",
    )


def _answer(found: Found) -> list[str]:
    """Say the verdict, how little it rests on, and how much N and place explain without any feature."""
    claim = next(iter(found.claims), None)
    first = (
        f"That ANIRA-E follows structure and ANIRA-O the state of the search is {claim.verdict.word}: "
        f"{claim.verdict.reason}."
        if claim
        else "No run of ANIRA-O has the seed of a run of ANIRA-E: there is nothing to compare."
    )
    added = [
        f"{NAMES[one]} {_text(found, 'group_r2', 'structure', one)} and {_text(found, 'group_r2', 'state', one)}"
        for one in _variants(found)
    ]
    alone = [
        f"{NAMES[one]} {_text(found, 'node_r2', 'by_both', one)} and {_text(found, 'node_r2', 'probes', one)}"
        for one in _variants(found)
    ]
    return [
        first,
        f"Of the variance within instances structure and state add: {'; '.join(added)}.",
        f"Graph size and place in the answer alone explain, and all features with N: {'; '.join(alone)}.",
        *_missing(found),
    ]


def _missing(found: Found) -> list[str]:
    """Say which runs have nothing to fit, and why."""
    rows = found.runs.filter(quantity="node_r2", subset="categorical").filter(pl.col("value").is_null())
    return [f"{row['run_id']} has no fit: {row['reason']}." for row in rows.iter_rows(named=True)]


def _lead(found: Found) -> ChartPart | None:
    keys = {(one, "group_r2", group): f"{NAMES[one]}: {words}" for one in NAMES for group, words in _GROUPS.items()}
    title = "share of the variance of depth within instances"
    return _intervals(found, keys, name="groups", title="What structure and state add to each other", axis=title)


def _intervals(
    found: Found, keys: Mapping[tuple[str, str, str], str], *, name: str, title: str, axis: str
) -> ChartPart | None:
    """Return estimates by variant, quantity and subset one below the other; None where there are none."""
    places = pl.DataFrame([(*key, label) for key, label in keys.items()], schema=_KEY, orient="row")
    both = pl.concat([found.seeds, found.runs]).join(places, on=_KEY[:3], maintain_order="left").drop_nulls("value")
    if both.is_empty():
        return None
    known = [(label, PAPER[one].get(what, {}).get(subset)) for (one, what, subset), label in keys.items()]
    paper = pl.DataFrame(known, schema={"label": pl.String, "value": pl.Float64}, orient="row").drop_nulls()
    shown = both.select("label", "seed", "value", "low", "high", "null_low", "null_high")
    order = [label for label in keys.values() if label in set(shown["label"])]
    caption = f"{_CAPTION} Hollow: the paper." if len(paper) else _CAPTION
    chart = interval_chart(shown, order=order, title=axis, paper=paper)
    return ChartPart(name=name, title=title, chart=chart, caption=caption)


_KEY: Final = ["variant", "quantity", "subset", "label"]


def _coefficients(found: Found) -> Section:
    keys = {(one, "node_effect", name): f"{NAMES[one]}: {FEATURES[name]}" for name in SHOWN for one in NAMES}
    axis = "iterations for one more of the feature, at equal N"
    chart = _intervals(found, keys, name="effects", title="The paper's four features", axis=axis)
    tables = [
        _effects(found, SHOWN, "", "The paper's four features, frontier as the nodes that are ready"),
        _effects(found, STACKED, OTHER_READING, "The same, frontier as the nodes that were met"),
    ]
    text = [] if chart else ["No run has a fit, so there is nothing to draw."]
    return Section(title="Coefficients", text=text, parts=[*([chart] if chart else []), *tables], open=True)


def _effects(found: Found, names: Sequence[str], ending: str, title: str) -> TablePart:
    rows = []
    for name in names:
        for one in _variants(found):
            sized, placed, within = (find(found.seeds, what, subset=name + ending, variant=one) for what in _EFFECTS)
            known = "frontier_ready" if name == "frontier_stack" else name
            cells = [_paper(one, "node_effect", known), estimate_cell(sized), null_cell(sized), estimate_cell(placed)]
            rows.append([Cell(FEATURES[name]), Cell(NAMES[one]), *cells, estimate_cell(within), null_cell(within)])
    heads = ["feature", "model", "paper", "at equal N", "shuffled", "at equal N and place", "within instances"]
    return TablePart(title=title, caption=_TABLE, head=[Cell(one) for one in (*heads, "shuffled")], rows=rows)


def _groups(found: Found) -> TablePart:
    columns = [Column("group_r2", words, group) for group, words in _GROUPS.items()]
    return estimate_table(
        found.seeds,
        {NAMES[one]: {"variant": one} for one in _variants(found)},
        columns,
        title="What each group adds to the other, within instances",
        first="model",
        caption=_TABLE,
        heads=[Cell("shuffled", one.title) for one in columns],
        more=lambda name: [
            null_cell(find(found.seeds, one.quantity, subset=one.subset, variant=_variant(name))) for one in columns
        ],
    )


def _shares(found: Found) -> TablePart:
    """Return the state's share in each model, and the gap between the two."""
    rows = [
        [
            Cell(NAMES[one]),
            *(estimate_cell(find(found.seeds, c.quantity, subset=c.subset, variant=one)) for c in _SHARES),
        ]
        for one in _variants(found)
    ]
    gaps = [find(found.seeds, "state_share_gap", subset=column.subset) for column in _SHARES]
    rows.append([Cell("ANIRA-O less ANIRA-E, points"), *map(estimate_cell, gaps)])
    rows.append([Cell("the same, shuffled"), *map(null_cell, gaps)])
    head = [Cell("model"), *(column.head for column in _SHARES)]
    return TablePart(title="The state's share of the two", caption=_TABLE, head=head, rows=rows)


def _explained(found: Found) -> TablePart:
    subjects = {("node_r2", key): words for key, words in _MODELS.items()}
    subjects |= {("node_r2_gain", key): f"{words}, points" for key, words in _GAINS.items()}
    variants = _variants(found)
    rows = []
    for (what, subset), words in subjects.items():
        pairs = [(_paper(one, what, subset), _cell(found, what, subset, one)) for one in variants]
        rows.append([Cell(words), *(cell for pair in pairs for cell in pair)])
    head = [Cell(text) for one in variants for text in (f"paper, {NAMES[one]}", NAMES[one])]
    return TablePart(
        title="Share of the variance of expected depth", caption=_TABLE, head=[Cell("explained by"), *head], rows=rows
    )


def _stages(found: Found, variant: str) -> TablePart:
    """Return what became of each feature; the remark of a cell says in how many seeds it did not come so far."""
    rows = []
    for name, words in FEATURES.items():
        cells = []
        for column in _STAGES:
            cell, paper = _cell(found, column.quantity, name, variant), _paper(variant, column.quantity, name)
            cells.append(
                cell if paper.text == "-" else Cell(cell.text, f"{cell.small} paper {paper.text}", cell.remark)
            )
        rows.append([Cell(words), *cells])
    head = [Cell("feature"), *(column.head for column in _STAGES)]
    caption = "Means over those seeds in which a feature came so far; pointing at a cell says in how many it did not."
    return TablePart(title=f"{NAMES[variant]}: four stages", caption=caption, head=head, rows=rows)


def _paper(variant: str, what: str, subset: str) -> Cell:
    value = PAPER[variant].get(what, {}).get(subset)
    return Cell("-" if value is None else amount(value, quantity(what)))


def _cell(found: Found, what: str, subset: str, variant: str) -> Cell:
    return estimate_cell(find(found.seeds, what, subset=subset, variant=variant))


def _text(found: Found, what: str, subset: str, variant: str) -> str:
    return _cell(found, what, subset, variant).text


def _variants(found: Found) -> list[str]:
    return [name for name in NAMES if name in found.seeds["variant"]]


def _variant(name: str) -> str:
    return next(variant for variant, words in NAMES.items() if words == name)
