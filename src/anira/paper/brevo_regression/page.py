"""The page: which features of a node explain the depth that was spent on it, and whether structure or state does."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import polars as pl

from anira.measure import quantity
from anira.measure.brevo.regression import OTHER_READING, SHOWN, STACKED
from anira.measure.brevo.tokens import FEATURES
from anira.paper.brevo_regression.reported import PAPER
from anira.paper.found import Found
from anira.site import Badge, Cell, ChartPart, Page, Section, TablePart, Tone, amount, table_part
from anira.site.charts import MARKS, interval_part, labelled
from anira.site.tables import MEANS, Column, estimate_table
from anira.site.verdicts import NAMES, claim_note, shown

_GROUPS: Final = {"structure": "structure adds", "state": "state of the search adds"}
_GROUP_COLUMNS: Final = (
    *(Column("group_r2", words, group) for group, words in _GROUPS.items()),
    *(Column("group_r2", "shuffled", group, small=words, null=True) for group, words in _GROUPS.items()),
)
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
_EFFECTS: Final = (
    Column("node_effect", "at equal N"),
    Column("node_effect", "shuffled", null=True),
    Column("node_effect_placed", "at equal N and place"),
    Column("node_effect_within", "within instances"),
    Column("node_effect_within", "shuffled", null=True),
)
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
_CAPTION: Final = f"{MARKS} Grey: shuffled depth."
_KEY: Final = ("variant", "quantity", "subset")


def make_page(found: Found) -> Page:
    """Return the page."""
    claims = found.claims["e-structure-o-state"]
    words = [claim.verdict.word for claim in claims] or ["not testable"]
    groups = {(one, "group_r2", group): f"{NAMES[one]}: {text}" for one in NAMES for group, text in _GROUPS.items()}
    title = "What each group adds to the other, within instances"
    variants = shown(found.seeds)
    return Page(
        title="BREVO: does ANIRA-E follow the structure of the graph, and ANIRA-O the search?",
        badge=Badge(words[0], _TONES.get(words[0], "open")),
        answer=_answer(found),
        lead=_intervals(
            found,
            groups,
            "groups",
            "What structure and state add to each other",
            "share of the variance of depth within instances",
        ),
        verdicts=[claim_note(claim, "ANIRA-O against ANIRA-E") for claim in claims],
        sections=[
            _coefficients(found),
            Section(
                title="Structure or state?",
                parts=[
                    estimate_table(found.seeds, variants, _GROUP_COLUMNS, title=title, caption=MEANS),
                    _shares(found, variants),
                ],
            ),
            Section(title="How much is explained", parts=[_explained(found, variants)]),
            Section(title="The four stages", parts=[_stages(found, name) for name in variants]),
        ],
    )


def _answer(found: Found) -> list[str]:
    """Say the verdict, how little it rests on, and how much N and place explain without any feature."""
    claim = next(iter(found.claims["e-structure-o-state"]), None)
    added, alone = [("group_r2", group) for group in _GROUPS], (("node_r2", "by_both"), ("node_r2", "probes"))
    fits = found.runs.filter(pl.col("value").is_null(), quantity="node_r2", subset="categorical")
    first = (
        f"That ANIRA-E follows structure and ANIRA-O the state of the search is {claim.verdict.word}: "
        f"{claim.verdict.reason}."
        if claim
        else "No run of ANIRA-O has the seed of a run of ANIRA-E: there is nothing to compare."
    )
    return [
        first,
        f"Of the variance within instances structure and state add: {found.each(*added)}.",
        f"Graph size and place in the answer alone explain, and all features with N: {found.each(*alone)}.",
        *(f"{row['run_id']} has no fit: {row['reason']}." for row in fits.iter_rows(named=True)),
    ]


def _intervals(
    found: Found, keys: Mapping[tuple[str, str, str], str], name: str, title: str, axis: str
) -> ChartPart | None:
    """Return estimates by variant, quantity and subset one below the other; None where there are none."""
    return interval_part(
        labelled(found.both, keys, _KEY),
        name=name,
        title=title,
        axis=axis,
        order=keys.values(),
        caption=_CAPTION,
        paper={label: PAPER[key[0]].get(key[1], {}).get(key[2]) for key, label in keys.items()},
        nulls=True,
    )


def _coefficients(found: Found) -> Section:
    keys = {(one, "node_effect", name): f"{NAMES[one]}: {FEATURES[name]}" for name in SHOWN for one in NAMES}
    axis = "iterations for one more of the feature, at equal N"
    chart = _intervals(found, keys, "effects", "The paper's four features", axis)
    tables = [
        _effects(found, SHOWN, "", "The paper's four features, frontier as the nodes that are ready"),
        _effects(found, STACKED, OTHER_READING, "The same, frontier as the nodes that were met"),
    ]
    text = [] if chart else ["No run has a fit, so there is nothing to draw."]
    return Section(title="Coefficients", text=text, parts=[*([chart] if chart else []), *tables])


def _effects(found: Found, names: Sequence[str], ending: str, title: str) -> TablePart:
    subjects = {
        (FEATURES[name], words, _paper(labels["variant"], "node_effect", known)): {**labels, "subset": name + ending}
        for name, known in zip(names, SHOWN, strict=True)
        for words, labels in shown(found.seeds).items()
    }
    first = ("feature", "model", "paper")
    return estimate_table(found.seeds, subjects, _EFFECTS, title=title, first=first, caption=MEANS)


def _shares(found: Found, variants: Mapping[str, Any]) -> TablePart:
    """Return the state's share in each model, and the gap between the two."""
    gap = {"quantity": "state_share_gap"}
    subjects = {**variants, "ANIRA-O minus ANIRA-E, points": gap, "the same, shuffled": {**gap, "null": True}}
    return estimate_table(found.seeds, subjects, _SHARES, title="The state's share of the two", caption=MEANS)


def _explained(found: Found, variants: Mapping[str, Any]) -> TablePart:
    """Return R2 of all models, for each variant beside the paper's."""
    places = {("node_r2", key): words for key, words in _MODELS.items()}
    places |= {("node_r2_gain", key): f"{words}, points" for key, words in _GAINS.items()}
    subjects = {
        (words, *(_paper(own["variant"], *place) for own in variants.values())): dict(
            zip(("quantity", "subset"), place, strict=True)
        )
        for place, words in places.items()
    }
    return estimate_table(
        found.seeds,
        subjects,
        [Column("node_r2", name, labels=labels) for name, labels in variants.items()],
        title="Share of the variance of expected depth",
        first=("explained by", *(f"paper, {name}" for name in variants)),
        caption=MEANS,
    )


def _stages(found: Found, name: str) -> TablePart:
    """Return what became of each feature; the remark of a cell says in how many seeds it was dropped earlier."""
    variant = shown(found.seeds)[name]["variant"]

    def stage(column: Column, feature: str) -> Cell:
        cell = column.cell(found.seeds, {"subset": feature, "variant": variant})
        paper = _paper(variant, column.quantity, feature)
        return cell if paper == "-" else replace(cell, small=f"{cell.small} paper {paper}")

    rows = [[words, *(stage(column, feature) for column in _STAGES)] for feature, words in FEATURES.items()]
    caption = (
        "Means over the seeds in which a feature reached the stage; pointing at a cell says in how many it did not."
    )
    return table_part(f"{name}: four stages", ["feature", *(one.head for one in _STAGES)], rows, caption=caption)


def _paper(variant: str, what: str, subset: str) -> str:
    value = PAPER[variant].get(what, {}).get(subset)
    return "-" if value is None else amount(value, quantity(what))
