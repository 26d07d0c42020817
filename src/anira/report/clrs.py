"""The page of CLRS: accuracy and depth against input size, one pair of figures a subtask."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import polars as pl
from markupsafe import Markup

from anira.analysis import Estimate, Overview, SubtaskFigures
from anira.analysis.subtasks import SPLITS
from anira.analysis.tables import short
from anira.report.figures import accuracy_figure, depth_figure
from anira.report.page import environment
from anira.report.style import Style, styles

AXIS = "n: input size"


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


class _Section(NamedTuple):
    """One subtask."""

    subtask: str
    panels: list[Markup]
    rows: list[dict[str, str]]


def clrs_page(runs: Sequence[ClrsRun], without_size: Sequence[str]) -> str:
    """Return one self-contained page; the same figures give the same bytes.

    `without_size` are the subtasks whose work does not change with their size: they have a table and no figures.
    """
    named = dict(zip(labels(runs), runs, strict=True))
    looks = styles({label: run.figures.labels.variant for label, run in named.items()})
    table = size_table(runs)
    subtasks = table["subtask"].unique(maintain_order=True).to_list()
    page = {
        "title": "CLRS: do depth and accuracy follow input size?",
        "runs": [_about(label, run) for label, run in named.items()],
        "looks": looks,
        "summary": summary_rows(runs),
        "sections": [_section(name, runs, table, looks, drawn=name not in without_size) for name in subtasks],
    }
    return environment().get_template("clrs.html").render(page=page).strip() + "\n"


def labels(runs: Sequence[ClrsRun]) -> list[str]:
    """Name runs by variant, and by seed and folder where that does not tell them apart."""
    found = [run.figures.labels for run in runs]
    names = [one.variant for one in found]
    for more in ([f", seed {one.seed}" for one in found], [f" ({one.run_id})" for one in found]):
        names = [f"{name}{extra}" if names.count(name) > 1 else name for name, extra in zip(names, more, strict=True)]
    return names


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
                    **_interval("accuracy", row.exact),
                    "majority": without.majority,
                    "copy": without.copy,
                    **_interval("depth", depth.answer),
                    **_interval("expected_depth", depth.expected),
                    **_interval("prompt_depth", depth.prompt),
                    "seen_in_training": row.seen_in_training,
                }
            )
    return rows


def _interval(name: str, estimate: Estimate) -> dict[str, float | None]:
    return {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}


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
    aligned = part.aligned()
    return {
        "subtask": part.subtask,
        "run": label,
        **{split: accuracy(split) for split in SPLITS},
        "majority, seen": _mean([one.majority for one in own]),
        "copy, seen": _mean(copies),
        "answer depth": short(part.depth[-1].answer),
        "slope": short(aligned.slope, 3),
        "its null": "-" if aligned.null_slope is None else aligned.null_slope.text(3),
        "slope, right answers": short(part.aligned(subset="correct").slope, 3),
        "Spearman": short(aligned.spearman, 3),
    }


def _mean(values: Sequence[float]) -> str:
    return f"{sum(values) / len(values):.3f}" if values else "-"


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
) -> _Section:
    own = table.filter(subtask=subtask)
    panels = []
    if drawn:
        depths = max(run.figures.labels.max_depth for run in runs)
        accuracy = own.rename({"accuracy_low": "low", "accuracy_high": "high"})
        depth = own.rename({"depth_low": "low", "depth_high": "high"})
        panels = [
            Markup(accuracy_figure(accuracy, looks, name=f"accuracy-{subtask}", knob=AXIS)),
            Markup(depth_figure(depth, looks, name=f"depth-{subtask}", knob=AXIS, max_depth=depths)),
        ]
    return _Section(subtask, panels, [_cells(row) for row in own.sort("knob").iter_rows(named=True)])


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
