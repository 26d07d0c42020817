"""The page of MANO's question tokens: depth by the state of the parse, and the paper's piecewise model of it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import polars as pl

from anira.measure.claims.knob import Claim
from anira.measure.mano.parse_state import CONTRASTS, Contrast, Explained, ParseStateFigures
from anira.measure.mano.piecewise import BRANCHES
from anira.measure.statistics.estimates import Estimate
from anira.paper.mano_parse_state.tables import SHARES, Paper, ParseStateRun, named, state_table
from anira.site.drawing.spread import depth_range, spread_figure
from anira.site.drawing.style import Style, styles
from anira.site.plain import short
from anira.site.sheet.cells import null_text
from anira.site.sheet.sheet import Cells, Section, Sheet, Table
from anira.site.sheet.verdicts import verdict_sections

MEASURES: Final = {"exit_depth": "Exit depth", "expected_depth": "Expected depth"}
CHILDREN: Final = {0: "0 (root)", 2: "2 (left child)", 1: "1 (right child)"}
OPERANDS: Final = {2: "2 (left)", 1: "1 (right)"}
AXES: Final = {"r_t": "r_t, operands still needed", "s_t": "s_t, operators just completed"}
NOTHING: Final = "No run has answered a question right: there are no tokens to show."


Named = Mapping[str, ParseStateFigures]
"""Figures by the name of their run."""


def parse_state_sheet(runs: Sequence[ParseStateRun], claims: Sequence[Claim], paper: Paper, paper_r2: float) -> Sheet:
    """Return the page about some runs."""
    figures = named(runs)
    looks = styles({label: one.labels.variant for label, one in figures.items()})
    held = [measure for measure in MEASURES if _with(measure, figures)]
    return Sheet(
        name="mano-parse-state",
        title="MANO: is the question solved while it is read?",
        runs=[_about(label, run) for label, run in zip(figures, runs, strict=True)],
        sections=[
            *(_states_section(measure, runs, looks) for measure in held),
            *(_model_section(measure, _with(measure, figures), paper) for measure in held),
            _explained_section(figures, paper_r2),
            *verdict_sections(claims),
        ],
    )


def _with(measure: str, figures: Named) -> Named:
    """Return the runs whose records hold a measure of depth."""
    return {label: one for label, one in figures.items() if measure in one.measures}


def _about(label: str, run: ParseStateRun) -> dict[str, str]:
    figures = run.figures
    above = "" if figures.accuracy.above_majority else " (not above the commonest answer)"
    return {
        "label": label,
        "L": ", ".join(map(str, figures.knobs)),
        "accuracy": f"{figures.accuracy.exact.text(3)}{above}",
        "always the commonest answer": f"{figures.accuracy.majority:.3f}",
        "questions answered right": f"{figures.questions:,}",
        "their tokens": f"{figures.tokens:,}",
        "largest s_t at an operator with r_t = 1": _count(figures.largest_completed),
        "largest d_t": _count(figures.largest_stack),
        "depth selected by": figures.labels.select or "-",
        "step": f"{figures.labels.step:,}",
        "run": f"{figures.labels.run_id} ({run.origin})",
        "warnings": "; ".join(figures.warnings) or "none",
    }


def _count(value: int | None) -> str:
    return "-" if value is None else str(value)


def _states_section(measure: str, runs: Sequence[ParseStateRun], looks: Mapping[str, Style]) -> Section:
    title = f"{MEASURES[measure]} by the state of the parse"
    table = state_table(runs).filter(measure=measure)
    if not table["tokens"].sum():
        return Section(title=title, text=[NOTHING])
    own = _with(measure, named(runs))
    rows = [row for label, one in own.items() for row in _state_cells(label, one, measure)]
    contrasts = [(label, one.contrast(measure, name)) for name in CONTRASTS for label, one in own.items()]
    return Section(
        title=title,
        text=[_range(own), *_weak(own)],
        looks=looks,
        panels=_panels(measure, table, looks),
        tables=[
            Table("differences between states", [_contrast_cells(label, row) for label, row in contrasts]),
            Table("The figures in numbers", rows, folded=True),
        ],
        below=_reasons((label, one) for label, row in contrasts for one in (row.plain, row.matched)),
    )


def _range(figures: Named) -> str:
    """Say how far the state of the parse varies at all in these questions."""
    sizes = [one.largest_completed for one in figures.values() if one.largest_completed is not None]
    stacks = [one.largest_stack for one in figures.values() if one.largest_stack is not None]
    longest = max(one.knobs[-1] for one in figures.values())
    reach = f"s_t at operators with r_t = 1 reaches {max(sizes)}" if sizes else "there is no operator with r_t = 1"
    short_of = f"{reach}, and d_t reaches {max(stacks)}"
    return f"Questions have at most {longest} operator{'s' * (longest > 1)}: {short_of}. In the paper L is 3 to 16."


def _weak(figures: Named) -> list[str]:
    """Name the runs whose depths say little, one sentence each."""
    sentences = []
    for label, one in figures.items():
        if not one.questions:
            sentences.append(f"{label} has answered no question right, and nothing is shown of it.")
        elif not one.accuracy.above_majority:
            right = f"{one.questions} question{'s' * (one.questions > 1)} right"
            sentences.append(f"{label} has {right}, not more than the commonest answer would: its depths say nothing.")
    return sentences


def _panels(measure: str, table: pl.DataFrame, looks: Mapping[str, Style]) -> list[str]:
    """Draw operators by r_t, those with r_t = 1 by s_t, and operands by r_t, all at one scale."""
    whole, by_size = table.filter(pl.col("s_t").is_null()), table.filter(pl.col("s_t").is_not_null())
    sizes = {size: str(size) for size in by_size["s_t"].unique().sort()}
    wanted = [
        (whole.filter(kind="operator"), "r_t", CHILDREN, "operators"),
        (by_size, "s_t", sizes, "operators with r_t = 1"),
        (whole.filter(kind="operand"), "r_t", OPERANDS, "operands"),
    ]
    return [
        spread_figure(
            rows.with_columns(pl.col(place).alias("place")),
            places,
            looks,
            name=f"{measure}-{title}",
            title=f"depth of {title}",
            below=AXES[place],
            depths=depth_range(table),
        )
        for rows, place, places, title in wanted
        if rows["mean"].count()
    ]


def _state_cells(label: str, figures: ParseStateFigures, measure: str) -> list[Cells]:
    return [
        {
            "run": label,
            "tokens are": f"{row.kind}s",
            "r_t": str(row.remaining),
            "s_t": "any" if row.completed is None else str(row.completed),
            "mean": short(row.mean),
            "standard deviation": "-" if row.deviation is None else f"{row.deviation:.2f}",
            "tokens": f"{row.tokens:,}",
            "instances": f"{row.instances:,}",
        }
        for row in figures.states
        if row.measure == measure
    ]


def _contrast_cells(label: str, row: Contrast) -> Cells:
    return {
        "difference": "r_t = 1 against r_t = 2" if row.name == "right_child" else "one more of s_t, at r_t = 1",
        "run": label,
        "as in the paper": short(row.plain),
        "its null": null_text(row.null_plain, 2),
        "at equal position and d_t": short(row.matched),
        "null of that": null_text(row.null_matched, 2),
        "operators": f"{row.tokens:,}",
    }


def _model_section(measure: str, figures: Named, paper: Paper) -> Section:
    found = [(label, row) for label, one in figures.items() for row in one.coefficients if row.measure == measure]
    estimates = {(label, row.kind, row.remaining, row.term): row.estimate for label, row in found}
    rows = [
        {
            "branch": f"{branch.kind}, r_t = {branch.remaining}",
            "term": term,
            "paper": f"{paper[branch.kind, branch.remaining, term]:.3f}",
            **{label: short(estimates[label, branch.kind, branch.remaining, term], 3) for label in figures},
        }
        for branch in BRANCHES
        for term in ("constant", *branch.terms)
    ]
    return Section(
        title=f"The piecewise model of {MEASURES[measure].lower()}",
        text=[
            "Least squares in each of its five branches, beside the paper's coefficients, which are those of ANIRA-E."
        ],
        tables=[Table("coefficients", rows)],
        below=_reasons((label, row.estimate) for label, row in found),
    )


def _explained_section(figures: Named, paper_r2: float) -> Section:
    found = [(label, row) for label, one in figures.items() for row in one.explained]
    return Section(
        title="How much of depth the model explains, and how much position does",
        text=[
            f"Shares of the variance of depth over all question tokens. The paper's model has an R2 of {paper_r2:.2f}."
        ],
        tables=[Table("shares of variance", [_explained_cells(label, row) for label, row in found])],
        below=_reasons((label, getattr(row, name)) for label, row in found for name in SHARES),
    )


def _explained_cells(label: str, row: Explained) -> Cells:
    return {
        "depth": MEASURES[row.measure].lower(),
        "run": label,
        **{words: short(getattr(row, name), 3) for name, words in SHARES.items()},
        "null of the model": null_text(row.null_model),
        "null of what it adds to position": null_text(row.null_beyond_position),
    }


def _reasons(found: Iterable[tuple[str, Estimate]]) -> str:
    """Say why figures are undefined or have no interval, and in which runs."""
    whose: dict[str, list[str]] = {}
    for label, estimate in found:
        if estimate.reason and label not in whose.setdefault(estimate.reason, []):
            whose[estimate.reason].append(label)
    lines = [f"{reason} ({', '.join(labels)})" for reason, labels in whose.items()]
    return f"Undefined, or without an interval: {'; '.join(lines)}." if lines else ""
