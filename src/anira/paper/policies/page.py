"""The page of a comparison: who earned its depth, the leaderboard, and the charts behind it."""

from collections.abc import Sequence
from typing import Any, Final

import polars as pl

from anira.measure import quantity
from anira.measure.quantities import POINTS
from anira.paper.policies.charts import compute_chart, forced_chart, knob_chart, twin_chart
from anira.paper.policies.measure import Compared
from anira.paper.policies.verdicts import answer, badge, collapsed_seeds, verdicts
from anira.site import Cell, ChartPart, Note, Page, Section, TablePart, amount, interval, read_notes

COLUMNS: Final = (
    ("accuracy", "all", "accuracy"),
    ("accuracy_hardest", "all", "hardest knob"),
    ("iterations", "all", "iterations per token"),
    ("flops", "all", "FLOPs per token"),
    ("above_fixed", "iterations", "above fixed, iterations"),
    ("above_fixed", "flops", "above fixed, FLOPs"),
    ("need", "all", "need"),
    ("slope", "all", "slope over knob"),
    ("spearman_knob", "all", "Spearman, knob"),
    ("spearman_oracle", "all", "Spearman, oracle depth"),
    ("regret", "answer", "regret"),
    ("real_less_virtual", "all", "real less virtual"),
    ("settled", "all", "settled tokens"),
    ("depth", "answer", "answer depth"),
    ("depth", "prompt", "prompt depth"),
)
"""Quantity, subset and heading of each column of the leaderboard."""
_TWIN: Final = (
    ("accuracy_hardest", "all", "hardest knob"),
    ("need", "all", "need"),
    ("depth", "answer", "answer depth"),
    ("slope", "all", "slope over knob"),
    ("spearman_knob", "all", "Spearman, knob"),
)


def make_page(
    found: Compared, *, scale: str, knob: str, command: str, twin: Compared | None = None, files: Sequence[str]
) -> Page:
    """Return the page of a comparison, with its abelian twin beside it where there is one."""
    sections = [_leaderboard(found), _compute(found), _depth(found, knob), _forced(found)]
    sections += [_twin(found, twin)] if twin is not None else []
    return Page(
        title=f"Policies on {found.task}: which of them earn their depth?",
        badge=badge(found),
        answer=answer(found, scale=scale),
        lead=_against_compute(found, "iterations", "Accuracy against executed iterations"),
        verdicts=verdicts(found),
        sections=[*sections, Section(title="How to read this page", notes=read_notes("anira.paper.policies"))],
        files=files,
        command=command,
    )


def ranked(found: Compared) -> list[str]:
    """Return the policies, the most accurate first."""
    return sorted(found.policies, key=lambda name: -(found.row(name, "accuracy")["value"] or 0.0))


def leaderboard_texts(found: Compared) -> tuple[list[str], list[list[str]]]:
    """Return the leaderboard for a terminal: its head and its rows, with a dash for what is undefined."""
    head = ["policy", *(title for _, _, title in COLUMNS), "seeds"]
    rows = []
    for name in ranked(found):
        cells = [_cell(found.row(name, what, subset), what) for what, subset, _ in COLUMNS]
        texts = ["-" if cell.text == "undefined" else cell.text for cell in cells]
        rows.append([name, *texts, str(found.row(name, "accuracy")["n"])])
    return head, rows


def _leaderboard(found: Compared) -> Section:
    head = [Cell("policy"), *(_heading(name, title) for name, _, title in COLUMNS), Cell("seeds")]
    table = TablePart(
        title="Leaderboard",
        caption="Means over seeds by each policy's default rule, with 95% t intervals; the most accurate first.",
        head=head,
        rows=[_line(found, name) for name in ranked(found)],
    )
    return Section(title="All policies alike", parts=[table], notes=_undefined(found), open=True)


def _heading(name: str, title: str) -> Cell:
    unit = quantity(name)
    return Cell(title, "points" if unit.unit == POINTS else "nats" if unit.unit == "nats" else "", unit.sentence)


def _line(found: Compared, name: str) -> list[Cell]:
    constant, seeds = collapsed_seeds(found, name)
    mark = "constant by design" if name == "fixed" else "collapsed" if constant == seeds else ""
    cells = [_cell(found.row(name, what, subset), what) for what, subset, _ in COLUMNS]
    return [Cell(name, mark), *cells, _seeds(found, name)]


def _seeds(found: Compared, name: str) -> Cell:
    """Return the number of seeds, and from where to where their accuracies go."""
    row = found.row(name, "accuracy")
    runs = found.runs.filter(variant=name, quantity="accuracy", select=row["select"], subset="all")
    values = runs.filter(pl.col("knob").is_null() & pl.col("threshold").eq_missing(row["threshold"]))["value"]
    unit = quantity("accuracy")
    ends = [amount(float(end), unit).removesuffix("%") for end in (values.min(), values.max())]  # type: ignore[arg-type]
    return Cell(str(row["n"]), f"{ends[0]} to {ends[1]}", "lowest and highest accuracy over seeds")


def _cell(row: dict[str, Any], name: str) -> Cell:
    unit = quantity(name)
    if row["quantity"] is None:
        return Cell("-")
    if row["value"] is None:
        return Cell("undefined", "", row["reason"])
    return Cell(amount(row["value"], unit), interval(row["low"], row["high"], unit), row["reason"])


def _undefined(found: Compared) -> list[Note]:
    """Say why estimates are undefined, each reason once."""
    reasons: dict[str, dict[str, list[str]]] = {}
    for what, subset, title in COLUMNS:
        for name in found.policies:
            row = found.row(name, what, subset)
            if row["value"] is None and row["reason"]:
                reasons.setdefault(row["reason"], {}).setdefault(title, []).append(name)
    notes = []
    for reason, columns in reasons.items():
        policies = dict.fromkeys(name for names in columns.values() for name in names)
        notes.append(Note(f"Undefined for {', '.join(policies)}: {', '.join(columns)}", f"{reason}."))
    return notes


def _compute(found: Compared) -> Section:
    text = "Deciding, probing and reading out cost too. A policy below the grey curve has earned nothing."
    chart = _against_compute(found, "flops", "Accuracy against all FLOPs")
    return Section(title="At equal FLOPs", text=[text], parts=[chart])


def _against_compute(found: Compared, compute: str, title: str) -> ChartPart:
    caption = (
        "Grey: models trained at fixed depths; whoever lies below has earned nothing. Large marks: means over seeds; "
        "small marks: seeds; thin lines: other thresholds of the same models."
    )
    return ChartPart(name=compute, title=title, chart=compute_chart(found, compute), caption=caption)


def _depth(found: Compared, knob: str) -> Section:
    depth = knob_chart(found, "depth", "answer", "mean answer depth")
    oracle = knob_chart(found, "oracle_depth", "all", "mean oracle depth")
    accuracy = knob_chart(found, "accuracy", "all", "accuracy")
    return Section(
        title="Does depth follow the knob?",
        text=[f"The knob is {knob}."],
        parts=[
            ChartPart(name="depth", title="Answer depth by knob", chart=depth, caption="What the policy spends."),
            ChartPart(
                name="oracle",
                title="Oracle depth by knob",
                chart=oracle,
                caption="What each policy's model needs: the smallest forced depth from which an answer stays right.",
            ),
            ChartPart(name="accuracy", title="Accuracy by knob", chart=accuracy, caption="By each default rule."),
        ],
    )


def _forced(found: Compared) -> Section:
    rows = found.seeds.filter(quantity="forced_accuracy", split="seen").drop_nulls("knob")
    knobs = rows["knob"].unique().sort().to_list()
    lines = []
    for (name, subset), part in rows.group_by("variant", "subset", maintain_order=True):
        if name in found.policies:
            by_knob = {row["knob"]: _cell(row, "forced_accuracy").text for row in part.iter_rows(named=True)}
            depth = str(subset).removeprefix("depth-")
            lines.append([Cell(f"{name}, depth {depth}"), *(Cell(by_knob.get(knob, "-")) for knob in knobs)])
    chart = ChartPart(
        name="forced",
        title="Forced depth at the hardest knob",
        chart=forced_chart(found),
        caption="A flat line means that depth is not needed.",
    )
    head = [Cell("policy and forced depth"), *(Cell(f"knob {knob}") for knob in knobs)]
    table = TablePart(title="Accuracy by forced depth and knob", head=head, rows=lines)
    return Section(title="Is depth needed?", parts=[chart, table])


def _twin(found: Compared, twin: Compared) -> Section:
    both = [name for name in found.policies if name in twin.policies]
    head = [Cell("policy"), *(Cell(title, one.task) for _, _, title in _TWIN for one in (found, twin))]
    rows = [
        [Cell(name), *(_cell(one.row(name, what, subset), what) for what, subset, _ in _TWIN for one in (found, twin))]
        for name in both
    ]
    chart = ChartPart(name="twin", title="Answer depth by knob, with the twin", chart=twin_chart(found, twin))
    return Section(
        title="The abelian twin",
        text=[
            f"{twin.task} has the same words over a commutative group: counting is enough, so depth is needed less. A "
            "policy whose depth follows required work, and not length, should spend less there."
        ],
        parts=[TablePart(title=f"{found.task} beside {twin.task}", head=head, rows=rows), chart],
    )
