"""The page: whether depth at MANO's question tokens follows the state of the parse, and whether it follows work."""

from collections import Counter
from itertools import cycle, product
from typing import Any, Final

import altair as alt
import polars as pl

from anira.measure.claims.verdict import Claim
from anira.paper.found import Found
from anira.site import ChartPart, Page, Section, TablePart, table_part
from anira.site.charts import MARKS, Legend, interval_part, labelled, seed_layers
from anira.site.style import COLOURS, tooltip
from anira.site.tables import MEANS, Column, estimate_cell, estimate_table, null_cell
from anira.site.verdicts import NAMES, claim_note, claims_badge, named, shown

PAPER: Final = {
    "operand r=1 constant": 2.678,
    "operand r=2 constant": 1.511,
    "operator r=0 constant": 1.000,
    "operator r=1 constant": 4.088,
    "operator r=1 s_t": 0.625,
    "operator r=1 d_t": 0.261,
    "operator r=2 constant": 1.104,
    "operator r=2 d_t": 0.337,
}
"""Term of the piecewise model -> the paper's coefficient for ANIRA-E."""
PAPER_R2: Final = 0.63
_LEGEND: Final = Legend(NAMES)
_MEASURES: Final = {"": "exit depth", "expected_": "expected depth"}
_CONTRASTS: Final = {
    ("right_child", "plain"): "r_t = 1 minus r_t = 2",
    ("right_child", "matched"): "r_t = 1 minus r_t = 2, matched",
    ("completed_slope", "plain"): "one more of s_t",
    ("completed_slope", "matched"): "one more of s_t, matched",
}
_SHARES: Final = {
    "model": "piecewise model",
    "position": "position",
    "both": "both",
    "beyond_position": "model, of what position leaves",
    "beyond_model": "position, of what the model leaves",
}
_WORK: Final = {"height": "one more of the tree's height", "steps": "one more step"}
_BOTH: Final = {"state_depth": "mean", "state_deviation": "standard deviation over tokens"}
_EFFECTS: Final = (
    Column("work_slope", "exit depth"),
    Column("expected_work_slope", "expected depth"),
    Column("work_accuracy", "accuracy"),
)


def make_page(found: Found) -> Page:
    """Return the page."""
    held = [prefix for prefix in _MEASURES if f"{prefix}state_depth" in found.seeds["quantity"]]
    return Page(
        title="MANO: is the question solved while it is read?",
        badge=claims_badge([claim for _, claim in _claims(found)]),
        answer=_answer(found),
        lead=_lead(found),
        verdicts=[claim_note(claim, f"{_model_of(claim)}, {_CONTRASTS[place]}") for place, claim in _claims(found)],
        sections=[
            Section(title="Differences between states", parts=[_contrasts(found, held)]),
            _states(found, held),
            Section(
                title="The piecewise model",
                text=["Least squares in each of its five branches, beside the paper's coefficients for ANIRA-E."],
                parts=[_model(found, prefix) for prefix in held],
            ),
            Section(
                title="How much the model explains, and how much position does",
                text=[f"Shares of the variance of depth over question tokens. The paper's model has {PAPER_R2:.0%}."],
                parts=[_explained(found, prefix) for prefix in held],
            ),
            _work(found),
        ],
    )


def _claims(found: Found) -> list[tuple[tuple[str, str], Claim]]:
    """Return each claim with the contrast that it is about."""
    return list(zip(cycle(_CONTRASTS), found.claims["reads-while-solving"], strict=False))


def _model_of(claim: Claim) -> str:
    return named(claim.experiment.split()[1])


def _answer(found: Found) -> list[str]:
    """Say how the claim stands in both forms, and what work does at equal L."""
    questions = {
        "plain": "Depth of question tokens rises with the state of the parse: {}.",
        "matched": "The same among tokens at equal position and d_t, where counting positions gives zero: {}.",
    }
    effects = found.each(("expected_work_slope", "height"), ("expected_slope", "all"))
    what = "One more of the tree's height at equal L, and one more of L, change the answer's expected depth by"
    return [*(text.format(_counted(found, form)) for form, text in questions.items()), f"{what}: {effects}."]


def _counted(found: Found, form: str) -> str:
    """Count verdicts by model, as in `ANIRA-E 1 supported, 1 inconclusive`."""
    words: dict[str, Counter[str]] = {}
    for (_, own), claim in _claims(found):
        if own == form:
            words.setdefault(_model_of(claim), Counter())[claim.verdict.word] += 1
    counts = {name: ", ".join(f"{n} {word}" for word, n in own.items()) for name, own in words.items()}
    return "; ".join(f"{name} {own}" for name, own in counts.items())


def _lead(found: Found) -> ChartPart | None:
    names = {
        (variant, *key): f"{NAMES[variant]}: {words}"
        for key, words in _CONTRASTS.items()
        for variant in NAMES
        if variant in found.seeds["variant"]
    }
    return interval_part(
        labelled(found.both, names, ["variant", "quantity", "subset"]),
        name="contrasts",
        title="Depth that the state of the parse adds",
        axis="exit depth, iterations",
        order=names.values(),
        caption=f"{MARKS} Grey: what depths shuffled within questions give. A difference that cannot be made is left "
        "out, and the table below says why.",
        paper={f"ANIRA-E: {_CONTRASTS['completed_slope', 'plain']}": PAPER["operator r=1 s_t"]},
        nulls=True,
    )


def _contrasts(found: Found, held: list[str]) -> TablePart:
    rows = []
    for (name, form), words in _CONTRASTS.items():
        for model, labels in shown(found.seeds).items():
            own = [found.row(prefix + name, subset=form, **labels) for prefix in held]
            pairs = [cell for row in own for cell in (estimate_cell(row), null_cell(row))]
            rows.append([words, model, *pairs])
    heads = [text for prefix in held for text in (_MEASURES[prefix], "shuffled")]
    caption = f"{MEANS} Beside them the range that shuffled depth gives."
    return table_part("Differences between states, iterations", ["difference", "model", *heads], rows, caption=caption)


def _states(found: Found, held: list[str]) -> Section:
    if not any(found.runs.filter(quantity="state_depth")["n"]):
        return Section(title="Depth by state", text=["No run has answered a question right: there are no tokens."])
    subsets = found.seeds.filter(quantity="state_depth")["subset"].unique(maintain_order=True).to_list()
    sizes = [int(one.partition(" s=")[2]) for one in subsets if " s=" in one]
    reach = f"At operators with r_t = 1, s_t is at most {max(sizes)}. " if sizes else ""
    parts = [make(found, prefix, subsets) for prefix in held for make in (_states_chart, _states_table)]
    return Section(title="Depth by state", text=[f"{reach}In the paper questions have 3 to 16 operators."], parts=parts)


def _states_chart(found: Found, prefix: str, subsets: list[str]) -> ChartPart:
    """Draw each state in its place, the models side by side."""
    means, single = (
        _LEGEND.of(table.filter(quantity=f"{prefix}state_depth").drop_nulls("value"))
        .with_columns(pl.col("subset").map_elements(_state, pl.String))
        .select("label", "seed", "subset", "value", "low", "high")
        for table in (found.seeds, found.runs)
    )
    order = [_state(one) for one in subsets]
    x = alt.X("subset:N", title="state before the token", sort=order, axis=alt.Axis(labelAngle=-30, labelLimit=200))
    y = alt.Y("value:Q", title=f"{_MEASURES[prefix]}, iterations", scale=alt.Scale(zero=False))
    place: dict[str, Any] = {"xOffset": alt.XOffset("label:N")}
    tips = ["label:N", "subset:N", "value:Q"]
    layers = seed_layers(means, single, x, y, tips, color=_LEGEND.colour, shape=_LEGEND.shape, **place)
    caption = MARKS
    if not prefix:
        marks = alt.Chart(_paper_states()).mark_point(size=90, strokeWidth=2, shape="diamond", color=COLOURS[0])
        layers.append(marks.encode(x=x, y=y, tooltip=tooltip(*tips), **place))
        caption += " Hollow: the paper's model of ANIRA-E, where it is a constant."
    title = f"{_MEASURES[prefix].capitalize()} by the state of the parse"
    return ChartPart(name=f"{prefix}states", title=title, chart=alt.layer(*layers), caption=caption)


def _paper_states() -> pl.DataFrame:
    """Return the paper's depth in the states for which its model has one number and no slope."""
    states = [term.removesuffix(" constant") for term in PAPER if term.endswith("constant")]
    flat = [one for one in states if not any(f"{one} {slope}" in PAPER for slope in ("s_t", "d_t"))]
    rows = [(NAMES["anira-e"], _state(one), PAPER[f"{one} constant"]) for one in flat]
    return pl.DataFrame(rows, schema=["label", "subset", "value"], orient="row")


def _states_table(found: Found, prefix: str, subsets: list[str]) -> TablePart:
    columns = [
        Column(prefix + name, f"{model}: {words}", labels=labels)
        for model, labels in shown(found.seeds).items()
        for name, words in _BOTH.items()
    ]
    subjects = {_state(one): {"subset": one} for one in subsets}
    return estimate_table(found.seeds, subjects, columns, title=f"Depth by state, {_MEASURES[prefix]}", first="state")


def _model(found: Found, prefix: str) -> TablePart:
    subjects = {
        (_state(term.rpartition(" ")[0]), term.split()[2], f"{value:.3f}"): {"subset": term}
        for term, value in PAPER.items()
    }
    columns = [Column(f"{prefix}parse_term", name, labels=labels) for name, labels in shown(found.seeds).items()]
    title = f"Coefficients, {_MEASURES[prefix]}"
    return estimate_table(found.seeds, subjects, columns, title=title, first=("branch", "term", "paper"))


def _explained(found: Found, prefix: str) -> TablePart:
    columns = [Column(f"{prefix}parse_r2", words, name) for name, words in _SHARES.items()]
    shuffled = [one._replace(title="shuffled", small=one.title, null=True) for one in (columns[0], columns[3])]
    title = f"Shares of variance, {_MEASURES[prefix]}"
    return estimate_table(found.seeds, shown(found.seeds), [*columns, *shuffled], title=title)


def _work(found: Found) -> Section:
    """Set the effect of work at equal L beside that of L."""
    rows = []
    for name, labels in shown(found.seeds).items():
        size = [estimate_cell(found.row(what, **labels)) for what in ("slope", "expected_slope")]
        rows.append([name, "one more of L", "all", *size, "-"])
        knobs = found.seeds.filter(quantity="work_slope", **labels)["knob"].unique().sort().to_list()
        for work, knob in product(_WORK, knobs):
            at = "equal L" if knob is None else f"L = {knob}"
            asked = {**labels, "subset": work, "knob": knob}
            rows.append([name, _WORK[work], at, *(one.cell(found.seeds, asked) for one in _EFFECTS)])
    head = ["model", "effect of", "at", *(one.head for one in _EFFECTS)]
    text = "At equal L a harder question should get more depth. If only L moves depth, depth follows size, not work."
    return Section(title="Size or work?", text=[text], parts=[table_part("Effect on the answer", head, rows)])


def _state(subset: str) -> str:
    """Write a state for people.

    >>> _state("operator r=1 s=2")
    'operator, r_t = 1, s_t = 2'
    """
    return ", ".join(part.replace("=", "_t = ") for part in subset.split())
