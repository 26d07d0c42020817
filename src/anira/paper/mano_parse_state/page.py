"""The page: whether depth at MANO's question tokens follows the state of the parse, and whether it follows work."""

from collections.abc import Sequence
from typing import Final

import altair as alt
import polars as pl

from anira.measure.tidy import find
from anira.paper.mano_parse_state.measure import NAMES, PAPER, PAPER_R2, Found
from anira.site import SMOKE, Cell, ChartPart, Page, Section, TablePart, read_notes
from anira.site.charts import Legend, interval_chart
from anira.site.style import COLOURS
from anira.site.tables import Column, estimate_cell, estimate_table, null_cell
from anira.site.verdicts import claim_note, claims_badge

_LEGEND: Final = Legend(NAMES)
_MEASURES: Final = {"": "exit depth", "expected_": "expected depth"}
_CONTRASTS: Final = {
    ("right_child", "plain"): "r_t = 1 less r_t = 2",
    ("right_child", "matched"): "r_t = 1 less r_t = 2, matched",
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
_CAPTION: Final = "Large marks: means over seeds with 95% t intervals; small marks: seeds."


def make_page(found: Found, *, scale: str, files: Sequence[str]) -> Page:
    """Return the page."""
    held = [prefix for prefix in _MEASURES if f"{prefix}state_depth" in found.seeds["quantity"]]
    return Page(
        title="MANO: is the question solved while it is read?",
        badge=claims_badge(list(found.claims.values()), "differences follow the parse"),
        answer=[*_answer(found), *[SMOKE] * (scale == "smoke")],
        lead=_lead(found),
        verdicts=[
            claim_note(claim, f"{_name(setting)}, {_CONTRASTS[name, form]}")
            for (setting, name, form), claim in found.claims.items()
        ],
        sections=[
            Section(title="Differences between states", parts=[_contrasts(found, held)], open=True),
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
            Section(title="How to read this page", notes=read_notes("anira.paper.mano_parse_state")),
        ],
        files=files,
        command=f"anira reproduce mano-parse-state --scale {scale}",
    )


def _answer(found: Found) -> list[str]:
    """Say how the claim stands in both forms, and what work does at equal L."""
    questions = {
        "plain": "Depth of question tokens rises with the state of the parse: {}.",
        "matched": "The same among tokens at equal position and d_t, where counting positions gives zero: {}.",
    }
    lines = [text.format(_counted(found, form)) for form, text in questions.items()]
    effects = [
        f"{NAMES[one]} {_cell(found, 'expected_work_slope', 'height', one).text} and "
        f"{_cell(found, 'expected_slope', 'all', one).text}"
        for one in _variants(found)
    ]
    what = "One more of the tree's height at equal L, and one more of L, change the answer's expected depth by"
    return [*lines, f"{what}: {'; '.join(effects)}."]


def _counted(found: Found, form: str) -> str:
    """Count verdicts by model, as in `ANIRA-E 1 supported, 1 inconclusive`."""
    words: dict[str, list[str]] = {}
    for (setting, _, one), claim in found.claims.items():
        if one == form:
            words.setdefault(_name(setting), []).append(claim.verdict.word)
    counts = {name: [f"{own.count(word)} {word}" for word in dict.fromkeys(own)] for name, own in words.items()}
    return "; ".join(f"{name} {', '.join(own)}" for name, own in counts.items())


def _lead(found: Found) -> ChartPart | None:
    subjects = {
        (variant, *key): f"{NAMES[variant]}: {words}"
        for key, words in _CONTRASTS.items()
        for variant in _variants(found)
    }
    label = pl.concat_str("variant", "quantity", "subset", separator="|")
    names = {"|".join(key): words for key, words in subjects.items()}
    rows = pl.concat([found.seeds, found.runs]).with_columns(label=label).filter(pl.col("label").is_in(list(names)))
    shown = rows.drop_nulls("value").with_columns(pl.col("label").replace(names))
    if shown.is_empty():
        return None
    paper = [(name, PAPER["operator r=1 s_t"]) for key, name in subjects.items() if key == _PAPERS]
    return ChartPart(
        name="contrasts",
        title="Depth that the state of the parse adds",
        chart=interval_chart(
            shown.select("label", "seed", "value", "low", "high", "null_low", "null_high"),
            order=[name for name in subjects.values() if name in set(shown["label"])],
            title="exit depth, iterations",
            paper=pl.DataFrame(paper, schema=["label", "value"], orient="row"),
        ),
        caption=f"{_CAPTION} Grey: what depths shuffled within questions give. Hollow: the paper. A difference that "
        "cannot be made is left out, and the table below says why.",
    )


_PAPERS: Final = ("anira-e", "completed_slope", "plain")


def _contrasts(found: Found, held: Sequence[str]) -> TablePart:
    rows = []
    for (name, form), words in _CONTRASTS.items():
        for variant in _variants(found):
            own = [find(found.seeds, prefix + name, subset=form, variant=variant) for prefix in held]
            pairs = [cell for row in own for cell in (estimate_cell(row), null_cell(row))]
            rows.append([Cell(words), Cell(NAMES[variant]), *pairs])
    heads = [Cell(text) for prefix in held for text in (_MEASURES[prefix], "shuffled")]
    return TablePart(
        title="Differences between states, iterations",
        caption="Means over seeds with 95% t intervals; beside them the range that shuffled depth gives.",
        head=[Cell("difference"), Cell("model"), *heads],
        rows=rows,
    )


def _states(found: Found, held: Sequence[str]) -> Section:
    if not any(found.runs.filter(quantity="state_depth")["n"]):
        return Section(title="Depth by state", text=["No run has answered a question right: there are no tokens."])
    parts: list[ChartPart | TablePart] = []
    for prefix in held:
        parts += [_states_chart(found, prefix), _states_table(found, prefix)]
    sizes = [int(one.partition(" s=")[2]) for one in _subsets(found, "state_depth") if " s=" in one]
    reach = f"At operators with r_t = 1, s_t is at most {max(sizes)}. " if sizes else ""
    return Section(title="Depth by state", text=[f"{reach}In the paper questions have 3 to 16 operators."], parts=parts)


def _states_chart(found: Found, prefix: str) -> ChartPart:
    """Draw each state in its place, the models side by side."""
    seeds, runs = (
        _LEGEND.of(table.filter(quantity=f"{prefix}state_depth").drop_nulls("value")).with_columns(
            pl.col("subset").map_elements(_state, pl.String)
        )
        for table in (found.seeds, found.runs)
    )
    order = [_state(one) for one in _subsets(found, f"{prefix}state_depth")]
    x = alt.X("subset:N", title="state before the token", sort=order, axis=alt.Axis(labelAngle=-30, labelLimit=200))
    above = f"{_MEASURES[prefix]}, iterations"
    y = alt.Y("value:Q", title=above, scale=alt.Scale(zero=False))
    offset, tips = alt.XOffset("label:N"), ["label:N", "subset:N", "value:Q", "low:Q", "high:Q"]
    base = alt.Chart(seeds.select("label", "subset", "value", "low", "high")).encode(
        x=x, xOffset=offset, color=_LEGEND.colour
    )
    layers = [
        base.mark_rule(strokeWidth=2).encode(y=alt.Y("low:Q", title=above), y2="high:Q"),
        base.mark_point(filled=True, size=80).encode(y=y, shape=_LEGEND.shape, tooltip=tips),
        alt.Chart(runs.select("label", "subset", "seed", "value"))
        .mark_point(size=20, opacity=0.6)
        .encode(x=x, xOffset=offset, y=y, color=_LEGEND.colour, tooltip=["label:N", "seed:O", "value:Q"]),
    ]
    caption = _CAPTION
    if not prefix:
        layers.append(_paper_states(x, y, offset))
        caption += " Hollow: the paper's model of ANIRA-E, where it is a constant."
    title = f"{_MEASURES[prefix].capitalize()} by the state of the parse"
    return ChartPart(name=f"{prefix}states", title=title, chart=alt.layer(*layers), caption=caption)


def _paper_states(x: alt.X, y: alt.Y, offset: alt.XOffset) -> alt.Chart:
    """Mark the paper's depth in the states for which its model has one number and no slope."""
    states = [term.removesuffix(" constant") for term in PAPER if term.endswith("constant")]
    flat = [one for one in states if not any(f"{one} {slope}" in PAPER for slope in ("s_t", "d_t"))]
    rows = [(NAMES["anira-e"], _state(one), PAPER[f"{one} constant"]) for one in flat]
    table = pl.DataFrame(rows, schema=["label", "subset", "value"], orient="row")
    marks = alt.Chart(table).mark_point(size=90, filled=False, strokeWidth=2, shape="diamond", color=COLOURS[0])
    made: alt.Chart = marks.encode(x=x, xOffset=offset, y=y, tooltip=["label:N", "subset:N", "value:Q"])
    return made


def _states_table(found: Found, prefix: str) -> TablePart:
    rows = [
        [
            Cell(_state(one)),
            *(_cell(found, prefix + name, one, variant) for variant in _variants(found) for name in _BOTH),
        ]
        for one in _subsets(found, f"{prefix}state_depth")
    ]
    head = [Cell(f"{NAMES[variant]}: {words}") for variant in _variants(found) for words in _BOTH.values()]
    return TablePart(title=f"Depth by state, {_MEASURES[prefix]}", head=[Cell("state"), *head], rows=rows)


_BOTH: Final = {"state_depth": "mean", "state_deviation": "standard deviation over tokens"}


def _model(found: Found, prefix: str) -> TablePart:
    variants = _variants(found)
    rows = [
        [
            Cell(_state(" ".join(term.split()[:2]))),
            Cell(term.split()[2]),
            Cell(f"{value:.3f}"),
            *(_cell(found, f"{prefix}parse_term", term, variant) for variant in variants),
        ]
        for term, value in PAPER.items()
    ]
    head = [Cell("branch"), Cell("term"), Cell("paper"), *(Cell(NAMES[variant]) for variant in variants)]
    return TablePart(title=f"Coefficients, {_MEASURES[prefix]}", head=head, rows=rows)


def _explained(found: Found, prefix: str) -> TablePart:
    columns = [Column(f"{prefix}parse_r2", words, name) for name, words in _SHARES.items()]
    shuffled = [columns[0], columns[3]]
    return estimate_table(
        found.seeds,
        {NAMES[name]: {"variant": name} for name in _variants(found)},
        columns,
        title=f"Shares of variance, {_MEASURES[prefix]}",
        first="model",
        heads=[Cell("shuffled", one.title) for one in shuffled],
        more=lambda name: [
            null_cell(find(found.seeds, one.quantity, subset=one.subset, variant=_variant(name))) for one in shuffled
        ],
    )


def _work(found: Found) -> Section:
    """Set the effect of work at equal L beside that of L."""
    rows = []
    for variant in _variants(found):
        size = [_cell(found, name, "all", variant) for name in ("slope", "expected_slope")]
        rows.append([Cell(NAMES[variant]), Cell("one more of L"), Cell("all"), *size, Cell("-")])
        knobs = found.seeds.filter(quantity="work_slope", variant=variant)["knob"].unique().sort().to_list()
        for work, words in _WORK.items():
            for knob in knobs:
                at = Cell("equal L" if knob is None else f"L = {knob}")
                rows.append([Cell(NAMES[variant]), Cell(words), at, *_effects(found, work, variant, knob)])
    head = ["model", "effect of", "at", "exit depth", "expected depth", "accuracy, points"]
    return Section(
        title="Size or work?",
        text=[
            "At equal L a harder question should get more depth. If only L moves depth, depth follows size, not work."
        ],
        parts=[TablePart(title="Effect on the answer", head=[Cell(one) for one in head], rows=rows)],
    )


def _effects(found: Found, work: str, variant: str, knob: int | None) -> list[Cell]:
    names = ("work_slope", "expected_work_slope", "work_accuracy")
    return [estimate_cell(find(found.seeds, name, subset=work, variant=variant, knob=knob)) for name in names]


def _cell(found: Found, quantity: str, subset: str, variant: str) -> Cell:
    return estimate_cell(find(found.seeds, quantity, subset=subset, variant=variant))


def _subsets(found: Found, quantity: str) -> list[str]:
    return found.seeds.filter(quantity=quantity)["subset"].unique(maintain_order=True).to_list()


def _state(subset: str) -> str:
    """Write a state for people.

    >>> _state("operator r=1 s=2")
    'operator, r_t = 1, s_t = 2'
    """
    return ", ".join(part.replace("=", "_t = ") for part in subset.split())


def _variants(found: Found) -> list[str]:
    return [name for name in NAMES if name in found.seeds["variant"]]


def _variant(name: str) -> str:
    return next(variant for variant, words in NAMES.items() if words == name)


def _name(setting: str) -> str:
    return NAMES.get(setting.split()[1], setting)
