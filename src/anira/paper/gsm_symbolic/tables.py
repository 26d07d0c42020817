"""The numbers as tables, for a terminal and for the page."""

from collections.abc import Iterator
from typing import Final

import polars as pl

from anira.measure import quantity
from anira.paper.gsm_symbolic.measure import SPLITS, Found
from anira.paper.gsm_symbolic.runs import REPORTED
from anira.site import Cell, TablePart, amount, interval
from anira.site.tables import estimate_cell

_PAPER: Final = "paper"


def paper_table(found: Found) -> TablePart:
    """Return the paper's table, with a line for each model of ours below its lines."""
    splits = [SPLITS[knob] for knob in found.knobs]
    heads = [Cell(f"{split}, accuracy") for split in splits] + [Cell(f"{split}, depth") for split in splits]
    rows = [
        [
            Cell(one.name, _PAPER),
            *(Cell(f"{one.accuracy[knob]:.2f}%") for knob in found.knobs),
            *(Cell(f"{one.depth[knob]:.3f}") for knob in found.knobs),
        ]
        for one in REPORTED
    ]
    for model, policy in zip(found.models, found.policies, strict=True):
        accuracies = [estimate_cell(found.row(model, "accuracy", knob)) for knob in found.knobs]
        depths = [estimate_cell(found.row(model, "depth", knob, "answer"), 3) for knob in found.knobs]
        rows.append([Cell(model, policy), *accuracies, *depths])
    return TablePart(
        title="Accuracy and mean depth over answer tokens",
        caption="The paper's lines have no intervals. Ours have 95% intervals clustered by template.",
        head=[Cell("model"), *heads],
        rows=rows,
    )


def template_table(found: Found, name: str) -> TablePart:
    """Return accuracy or depth on all templates beside that on the templates that all splits have."""
    subsets = {"accuracy": ("all", "shared"), "depth": ("answer", "answer shared")}[name]
    heads = [Cell(SPLITS[knob], templates) for knob in found.knobs for templates in ("all", "shared")]
    rows = [
        [Cell(model), *(estimate_cell(found.row(model, name, knob, one)) for knob in found.knobs for one in subsets)]
        for model in found.models
    ]
    title = {"accuracy": "Accuracy", "depth": "Mean depth of answer tokens"}[name]
    caption = "P2 has 50 templates, which are among the 100 of Main and P1. Splits compare fairly on those alone."
    head = [Cell("model"), *heads]
    return TablePart(title=f"{title}, all templates and the shared ones", caption=caption, head=head, rows=rows)


def spread_table(found: Found) -> TablePart:
    """Return how accuracy varies over data sets, beside what chance alone would do."""
    heads = [Cell(f"{SPLITS[knob]}, {what}") for knob in found.knobs for what in ("spread", "by chance", "range")]
    rows = []
    for model in found.models:
        cells = [part for knob in found.knobs for part in _spread(found, model, knob)]
        rows.append([Cell(model), *cells])
    caption = (
        "A data set has one question from each template. Spread is the standard deviation of accuracy over data sets; "
        "beside it the 95% interval of what independent answers would show."
    )
    return TablePart(title="Spread over data sets", caption=caption, head=[Cell("model"), *heads], rows=rows)


def _spread(found: Found, model: str, knob: int) -> Iterator[Cell]:
    row, unit = found.row(model, "spread", knob), quantity("spread")
    ends = [found.row(model, name, knob)["value"] for name in ("lowest", "highest")]
    yield Cell("-", "", row["reason"]) if row["value"] is None else Cell(amount(row["value"], unit))
    yield Cell(interval(row["null_low"], row["null_high"], unit) or "-")
    yield Cell("-" if None in ends else f"{100 * ends[0]:.1f} to {100 * ends[1]:.1f}", f"{row['n']} data sets")


def curve_table(found: Found) -> TablePart | None:
    """Return the fixed-depth curves, a line for each model and depth; None where there are none."""
    rows = found.table.filter((pl.col("quantity") == "forced_accuracy") & ~pl.col("subset").str.ends_with("shared"))
    if rows.is_empty():
        return None
    lines = []
    for model, subset in rows.select("run_id", "subset").unique(maintain_order=True).iter_rows():
        cells = [estimate_cell(found.row(model, "forced_accuracy", knob, subset)) for knob in found.knobs]
        lines.append([Cell(f"{model}, depth {subset.removeprefix('depth-')}"), *cells])
    head = [Cell("model and depth"), *(Cell(SPLITS[knob]) for knob in found.knobs)]
    caption = "Accuracy with every token forced to one depth."
    return TablePart(title="Fixed-depth curves", caption=caption, head=head, rows=lines)
