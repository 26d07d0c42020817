"""The page of a comparison: who earned its depth, the leaderboard, and the charts behind it."""

from collections.abc import Sequence
from typing import Final

import polars as pl

from anira.measure import quantity
from anira.paper.policies.charts import compute_chart, main_runs, twin_chart
from anira.paper.policies.measure import Compared
from anira.paper.policies.verdicts import answer, badge, collapsed_seeds, verdicts
from anira.site import Cell, ChartPart, Note, Page, Section, TablePart, amount, read_notes
from anira.site.charts import Legend, forced_chart, knob_chart
from anira.site.tables import Column, estimate_cell

COLUMNS: Final = (
    Column("accuracy", "accuracy"),
    Column("accuracy_hardest", "hardest knob"),
    Column("iterations", "iterations per token"),
    Column("flops", "FLOPs per token"),
    Column("above_fixed", "above fixed, iterations", "iterations"),
    Column("above_fixed", "above fixed, FLOPs", "flops"),
    Column("need", "need"),
    Column("slope", "slope over knob"),
    Column("spearman_knob", "Spearman, knob"),
    Column("spearman_oracle", "Spearman, oracle depth"),
    Column("regret", "regret", "answer"),
    Column("real_less_virtual", "real less virtual"),
    Column("settled", "settled tokens"),
    Column("depth", "answer depth", "answer"),
    Column("depth", "prompt depth", "prompt"),
)
"""Columns of the leaderboard."""
_TWIN: Final = (
    Column("accuracy_hardest", "hardest knob"),
    Column("need", "need"),
    Column("depth", "answer depth", "answer"),
    Column("slope", "slope over knob"),
    Column("spearman_knob", "Spearman, knob"),
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


def _leaderboard(found: Compared) -> Section:
    head = [Cell("policy"), *(column.head for column in COLUMNS), Cell("seeds")]
    table = TablePart(
        title="Leaderboard",
        caption="Means over seeds by each policy's default rule, with 95% t intervals; the most accurate first.",
        head=head,
        rows=[_line(found, name) for name in ranked(found)],
    )
    return Section(title="All policies alike", parts=[table], notes=_undefined(found), open=True)


def _line(found: Compared, name: str) -> list[Cell]:
    constant, seeds = collapsed_seeds(found, name)
    mark = "constant by design" if name == "fixed" else "collapsed" if constant == seeds else ""
    cells = [estimate_cell(found.row(name, one.quantity, one.subset)) for one in COLUMNS]
    return [Cell(name, mark), *cells, _seeds(found, name)]


def _seeds(found: Compared, name: str) -> Cell:
    """Return the number of seeds, and from where to where their accuracies go."""
    row = found.row(name, "accuracy")
    runs = found.runs.filter(variant=name, quantity="accuracy", select=row["select"], subset="all")
    values = runs.filter(pl.col("knob").is_null() & pl.col("threshold").eq_missing(row["threshold"]))["value"]
    unit = quantity("accuracy")
    ends = [amount(float(end), unit).removesuffix("%") for end in (values.min(), values.max())]  # type: ignore[arg-type]
    return Cell(str(row["n"]), f"{ends[0]} to {ends[1]}", "lowest and highest accuracy over seeds")


def _undefined(found: Compared) -> list[Note]:
    """Say why estimates are undefined, each reason once."""
    reasons: dict[str, dict[str, list[str]]] = {}
    for one in COLUMNS:
        for name in found.policies:
            row = found.row(name, one.quantity, one.subset)
            if row["value"] is None and row["reason"]:
                reasons.setdefault(row["reason"], {}).setdefault(one.title, []).append(name)
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


def _by_knob(found: Compared, column: Column, caption: str) -> ChartPart:
    seeds, runs = (table.filter(split="seen") for table in (found.seeds, main_runs(found)))
    chart = knob_chart(seeds, runs, column, legend=_legend(found), knob="knob")
    title = f"{column.title[:1].upper()}{column.title[1:]} by knob"
    return ChartPart(name=column.quantity, title=title, chart=chart, caption=caption)


def _legend(found: Compared) -> Legend:
    return Legend({name: name for name in found.policies}, "policy", "fixed")


def _depth(found: Compared, knob: str) -> Section:
    needs = "What each policy's model needs: the smallest forced depth from which an answer stays right."
    return Section(
        title="Does depth follow the knob?",
        text=[f"The knob is {knob}."],
        parts=[
            _by_knob(found, Column("depth", "mean answer depth", "answer"), "What the policy spends."),
            _by_knob(found, Column("oracle_depth", "mean oracle depth"), needs),
            _by_knob(found, Column("accuracy", "accuracy"), "By each default rule."),
        ],
    )


def _forced(found: Compared) -> Section:
    rows = found.seeds.filter(quantity="forced_accuracy", split="seen").drop_nulls("knob")
    knobs = rows["knob"].unique().sort().to_list()
    lines = []
    for (name, subset), part in rows.group_by("variant", "subset", maintain_order=True):
        if name in found.policies:
            by_knob = {row["knob"]: estimate_cell(row).text for row in part.iter_rows(named=True)}
            depth = str(subset).removeprefix("depth-")
            lines.append([Cell(f"{name}, depth {depth}"), *(Cell(by_knob.get(knob, "-")) for knob in knobs)])
    chart = ChartPart(
        name="forced",
        title="Forced depth at the hardest knob",
        chart=forced_chart(found.seeds, legend=_legend(found)),
        caption="A flat line means that depth is not needed.",
    )
    head = [Cell("policy and forced depth"), *(Cell(f"knob {knob}") for knob in knobs)]
    table = TablePart(title="Accuracy by forced depth and knob", head=head, rows=lines)
    return Section(title="Is depth needed?", parts=[chart, table])


def _twin(found: Compared, twin: Compared) -> Section:
    both = [name for name in found.policies if name in twin.policies]
    head = [Cell("policy"), *(Cell(column.title, one.task) for column in _TWIN for one in (found, twin))]
    pairs = [(what, one) for what in _TWIN for one in (found, twin)]
    rows = [
        [Cell(name), *(estimate_cell(one.row(name, what.quantity, what.subset)) for what, one in pairs)]
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
