"""The page of CLRS: accuracy and depth against input size, one pair of figures a subtask."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from anira.measure.claims.knob import Claim, in_training
from anira.measure.claims.verdict import SEEDS_NEEDED
from anira.measure.statistics.estimates import Estimate
from anira.measure.subtasks import SPLITS, Overview, SubtaskFigures
from anira.site.drawing.figures import accuracy_figure, depth_figure
from anira.site.drawing.style import Style, styles
from anira.site.plain import short
from anira.site.sheet.cells import Who, estimate_columns, null_text, run_labels
from anira.site.sheet.sheet import Section, Sheet, Table
from anira.site.sheet.verdicts import verdict_sections

AXIS = "n: input size"
BELOW = "Slope: iterations more for one more of n, by least squares over instances. Intervals are 95%."
SAME = "The work does not change with the size, which is a label only: there is nothing to draw against it."


@dataclass(frozen=True, kw_only=True)
class CellBaselines:
    """How far one gets at a subtask and size without the algorithm."""

    subtask: str
    size: int
    majority: float
    """Always the commonest answer of training rows of that size."""
    copy: float | None
    """The input as an answer; None where it has not the form of one."""


@dataclass(frozen=True, kw_only=True)
class ClrsRun:
    """A run, and what its records say."""

    origin: str
    """Where it comes from, and in what it differs from its preset."""
    left_out: tuple[str, ...]
    """Subtasks and sizes that were asked for and are too long to be trained."""
    figures: Overview
    baselines: tuple[CellBaselines, ...]


def clrs_sheet(runs: Sequence[ClrsRun], without_size: Sequence[str], claims: Sequence[Claim] = ()) -> Sheet:
    """Return the page about some runs.

    `without_size` are the subtasks whose work does not change with their size: they have a table and no figures.
    """
    named = dict(zip(labels(runs), runs, strict=True))
    looks = styles({label: run.figures.labels.variant for label, run in named.items()})
    table = size_table(runs)
    subtasks = table["subtask"].unique(maintain_order=True).to_list()
    summary = Section(title="Subtasks", tables=[Table("all subtasks", summary_rows(runs))], below=BELOW)
    sections = [_section(name, runs, table, looks, drawn=name not in without_size) for name in subtasks]
    return Sheet(
        name="clrs",
        title="CLRS: do depth and accuracy follow input size?",
        runs=[_about(label, run) for label, run in named.items()],
        sections=[summary, *sections, *_number_of_verdicts(claims), *verdict_sections(claims)],
    )


def labels(runs: Sequence[ClrsRun]) -> list[str]:
    """Name runs by what tells them apart."""
    found = [run.figures.labels for run in runs]
    return run_labels([Who(one.variant, one.seed, one.run_id) for one in found])


def size_table(runs: Sequence[ClrsRun]) -> pl.DataFrame:
    """Return accuracy and depth, one row a run, subtask and size: what clrs.csv holds and the figures draw."""
    rows = [row for label, run in zip(labels(runs), runs, strict=True) for row in _size_rows(label, run)]
    return pl.DataFrame(rows, schema_overrides={"copy": pl.Float64}, infer_schema_length=None)


def _size_rows(label: str, run: ClrsRun) -> list[dict[str, Any]]:
    who = run.figures.labels
    beside = {(one.subtask, one.size): one for one in run.baselines}
    rows = []
    for part in run.figures.subtasks:
        for row, depth in zip(part.accuracy, part.depth, strict=False):  # the last row of depth is that over all sizes
            assert row.knob is not None
            without = beside[part.subtask, row.knob]
            rows.append(
                {
                    "label": label,
                    "run_id": who.run_id,
                    "variant": who.variant,
                    "seed": who.seed,
                    "subtask": part.subtask,
                    "knob": row.knob,
                    "split": row.split,
                    "instances": row.instances,
                    **estimate_columns("accuracy", row.exact),
                    "majority": without.majority,
                    "copy": without.copy,
                    **estimate_columns("depth", depth.answer),
                    **estimate_columns("expected_depth", depth.expected),
                    **estimate_columns("prompt_depth", depth.prompt),
                    "seen_in_training": row.seen_in_training,
                }
            )
    return rows


def summary_rows(runs: Sequence[ClrsRun]) -> list[dict[str, str]]:
    """Return one line a subtask and run: accuracy at seen and unseen sizes, and how depth moves with size."""
    named = list(zip(labels(runs), runs, strict=True))
    found = [(part.subtask, label, part, run) for label, run in named for part in run.figures.subtasks]
    order = list(dict.fromkeys(name for name, *_ in found))
    return [_summary(label, part, run) for _, label, part, run in sorted(found, key=lambda one: order.index(one[0]))]


def _summary(label: str, part: SubtaskFigures, run: ClrsRun) -> dict[str, str]:
    def accuracy(split: str) -> str:
        row = part.over(split)
        return "-" if row is None else short(row.exact, 3)

    seen = [row.knob for row in part.accuracy if row.split == "seen"]
    own = [one for one in run.baselines if one.subtask == part.subtask and one.size in seen]
    copies = [one.copy for one in own if one.copy is not None]
    aligned, trained = part.aligned(), in_training(part.alignment)
    return {
        "subtask": part.subtask,
        "run": label,
        **{split: accuracy(split) for split in SPLITS},
        "majority, seen": _mean([one.majority for one in own]),
        "copy, seen": _mean(copies),
        "answer depth": short(part.depth[-1].answer),
        "slope, seen sizes": short(trained.slope, 3),
        "its null": null_text(trained.null_slope),
        "slope, all sizes": short(aligned.slope, 3),
        "slope, right answers": short(part.aligned(subset="correct").slope, 3),
        "Spearman, all sizes": short(aligned.spearman, 3),
        "R2 of position, of n, of both": _control(part),
    }


def _control(part: SubtaskFigures) -> str:
    """Write what position and size explain of the depth of answer tokens, each alone and together."""
    shares = [(one.by_position, one.by_knob, one.by_both) for one in part.position if one.kind == "answer"]
    found = [f"{share:.2f}" for row in shares for share in row if share is not None]
    return ", ".join(found) or "the depth is constant"


def _mean(values: Sequence[float]) -> str:
    return f"{sum(values) / len(values):.3f}" if values else "-"


def _number_of_verdicts(claims: Sequence[Claim]) -> list[Section]:
    """Say how many verdicts there are, and how often one is right by chance."""
    able = [claim for claim in claims if claim.verdict.word != "not testable"]
    once_in = 2**SEEDS_NEEDED
    words = [
        f"{len(claims)} settings are judged below, each a subtask, a variant and a measure; in {len(able)} of them a "
        f"run can speak. Intervals do not know of other trainings: if every training drifted to one side by chance, "
        f"{SEEDS_NEEDED} seeds would agree on the claimed side once in {once_in}, which is "
        f"{len(able) / once_in:.1f} of {len(able)} settings. Nothing is corrected for their number."
    ]
    return [Section(title="How many verdicts there are", text=words)] if claims else []


def _about(label: str, run: ClrsRun) -> dict[str, str]:
    who = run.figures.labels
    counts = sorted({row.instances for part in run.figures.subtasks for row in part.accuracy})
    return {
        "label": label,
        "subtasks": str(len(run.figures.subtasks)),
        "instances a subtask and size": " to ".join(f"{count:,}" for count in dict.fromkeys((counts[0], counts[-1]))),
        "largest depth D": str(who.max_depth),
        "depth chosen by": who.select or "the policy",
        "not trained, too long": ", ".join(run.left_out) or "none",
        "step": f"{who.step:,}",
        "run": f"{who.run_id} ({run.origin})",
        "warnings": "; ".join(run.figures.warnings) or "none",
    }


def _section(
    subtask: str, runs: Sequence[ClrsRun], table: pl.DataFrame, looks: Mapping[str, Style], *, drawn: bool
) -> Section:
    own = table.filter(subtask=subtask)
    rows = [_cells(row) for row in own.sort("knob").iter_rows(named=True)]
    if not drawn:
        return Section(title=subtask, text=[SAME], tables=[Table("The figures in numbers", rows, folded=True)])
    depths = max(run.figures.labels.max_depth for run in runs)
    accuracy = own.rename({"accuracy_low": "low", "accuracy_high": "high"})
    depth = own.rename({"depth_low": "low", "depth_high": "high"})
    return Section(
        title=subtask,
        looks=looks,
        panels=[
            accuracy_figure(accuracy, looks, name=f"accuracy-{subtask}", knob=AXIS),
            depth_figure(depth, looks, name=f"depth-{subtask}", knob=AXIS, max_depth=depths),
        ],
        tables=[Table("The figures in numbers", rows, folded=True)],
    )


def _cells(row: dict[str, Any]) -> dict[str, str]:
    def text(name: str, digits: int) -> str:
        return short(Estimate(row[name], row[f"{name}_low"], row[f"{name}_high"]), digits)

    seen = row["seen_in_training"]
    return {
        "n": str(row["knob"]),
        "split": row["split"],
        "run": row["label"],
        "instances": f"{row['instances']:,}",
        "accuracy": text("accuracy", 3),
        "majority": f"{row['majority']:.3f}",
        "copy": "-" if row["copy"] is None else f"{row['copy']:.3f}",
        "answer depth": text("depth", 2),
        "expected depth": text("expected_depth", 2),
        "prompt depth": text("prompt_depth", 2),
        "seen in training": "-" if seen is None else f"{seen:.1%}",
    }
