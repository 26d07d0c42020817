"""Runs of one task side by side: accuracy and depth by knob, and whether depth follows the knob."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from anira.measure.position import PositionControl
from anira.measure.statistics.estimates import Estimate
from anira.measure.summary import Summary
from anira.site.drawing.figures import accuracy_figure, depth_figure
from anira.site.drawing.style import Style, styles
from anira.site.plain import short
from anira.site.report.about import KnobWords, span
from anira.site.report.settings import experiment_names
from anira.site.sheet.cells import Who, estimate_columns, null_columns, null_text, run_labels

SUBSETS = ("all", "correct")
"""Instances of the table of alignment: an answer that is wrong may have another depth because it is wrong."""


@dataclass(frozen=True, kw_only=True)
class KnobRun:
    """A run, and what its records say by knob."""

    origin: str
    """Where it comes from, and in what it differs from its preset."""
    knob: KnobWords
    max_length: int
    """The longest row that its model is built for."""
    figures: Summary


def _experiments(runs: Sequence[KnobRun]) -> list[str]:
    found = [run.figures.labels for run in runs]
    return experiment_names([one.variant for one in found], [one.config for one in found])


def labels(runs: Sequence[KnobRun]) -> list[str]:
    """Name runs of one task by what tells them apart."""
    found = [run.figures.labels for run in runs]
    return run_labels([Who(name, one.seed, one.run_id) for name, one in zip(_experiments(runs), found, strict=True)])


def looks(runs: Sequence[KnobRun]) -> dict[str, Style]:
    """Return how runs of one task look, by their labels."""
    return styles(dict(zip(labels(runs), _experiments(runs), strict=True)))


def knob_table(runs: Sequence[KnobRun]) -> pl.DataFrame:
    """Return accuracy and depth, one row a run of one task and knob: what the figures draw."""
    rows = [row for label, run in zip(labels(runs), runs, strict=True) for row in _knob_rows(label, run.figures)]
    return pl.DataFrame(rows, infer_schema_length=None)


def _who(label: str, figures: Summary) -> dict[str, Any]:
    found = figures.labels
    return {
        "task": found.task,
        "label": label,
        "run_id": found.run_id,
        "variant": found.variant,
        "seed": found.seed,
    }


def _knob_rows(label: str, figures: Summary) -> list[dict[str, Any]]:
    return [
        {
            **_who(label, figures),
            "knob": row.knob,
            "split": row.split,
            "instances": row.instances,
            **estimate_columns("accuracy", row.exact),
            "majority": row.majority,
            **estimate_columns("depth", depth.answer),
            **estimate_columns("depth_right", depth.answer_correct),
            **estimate_columns("expected_depth", depth.expected),
            **estimate_columns("prompt_depth", depth.prompt),
            "seen_in_training": row.seen_in_training,
        }
        for row, depth in zip(figures.accuracy, figures.depth, strict=True)
        if row.knob is not None
    ]


def panels(runs: Sequence[KnobRun], *, limit: int | None = None) -> list[str]:
    """Draw depth and accuracy of runs of one task by knob; `limit` marks where training ends."""
    table, lines = knob_table(runs), looks(runs)
    task, axis = runs[0].figures.labels.task, runs[0].knob.axis
    depths = max(run.figures.labels.max_depth for run in runs)
    depth = table.rename({"depth_low": "low", "depth_high": "high"})
    accuracy = table.rename({"accuracy_low": "low", "accuracy_high": "high"})
    return [
        accuracy_figure(accuracy, lines, name=f"accuracy-{task}", knob=axis, limit=limit),
        depth_figure(depth, lines, name=f"depth-{task}", knob=axis, max_depth=depths, limit=limit),
    ]


def knob_cells(runs: Sequence[KnobRun]) -> list[dict[str, str]]:
    """Return the table behind the figures as it is shown."""
    return [_cells(row, runs[0].knob.name) for row in knob_table(runs).sort("knob").iter_rows(named=True)]


def _cells(row: dict[str, Any], knob: str) -> dict[str, str]:
    def text(name: str, digits: int = 2) -> str:
        return short(Estimate(row[name], row[f"{name}_low"], row[f"{name}_high"]), digits)

    seen = row["seen_in_training"]
    return {
        knob: str(row["knob"]),
        "split": row["split"],
        "run": row["label"],
        "instances": f"{row['instances']:,}",
        "accuracy": text("accuracy", 3),
        "majority": f"{row['majority']:.3f}",
        "answer depth": text("depth"),
        "right answers": text("depth_right"),
        "expected depth": text("expected_depth"),
        "prompt depth": text("prompt_depth"),
        "seen in training": "-" if seen is None else f"{seen:.1%}",
    }


def alignment_table(runs: Sequence[KnobRun]) -> pl.DataFrame:
    """Return slope, Spearman, their nulls and the position control, one row a run, measure and subset."""
    rows = [
        {
            **_who(label, run.figures),
            "measure": row.measure,
            "subset": row.subset,
            "instances": row.instances,
            **estimate_columns("slope", row.slope),
            **null_columns("null_slope", row.null_slope),
            **estimate_columns("spearman", row.spearman),
            **null_columns("null_spearman", row.null_spearman),
            "undefined": row.slope.reason,
            **_control_columns(run.figures),
        }
        for label, run in zip(labels(runs), runs, strict=True)
        for row in run.figures.alignment
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def _answer_control(figures: Summary) -> PositionControl | None:
    return next((one for one in figures.position if one.kind == "answer"), None)


def _control_columns(figures: Summary) -> dict[str, Any]:
    """Return the position control of answer tokens, which is one for all instances and for exit depth."""
    one = _answer_control(figures)
    names = ("by_position", "by_knob", "by_both", "separable")
    return {name: None if one is None else getattr(one, name) for name in names}


def alignment_cells(runs: Sequence[KnobRun], subsets: Sequence[str] = SUBSETS) -> list[dict[str, str]]:
    """Return how answer depth moves with the knob in each run and subset, beside the nulls."""
    return [
        _alignment(label, run, subset)
        for subset in subsets
        for label, run in zip(labels(runs), runs, strict=True)
        if any(row.subset == subset for row in run.figures.alignment)
    ]


def _alignment(label: str, run: KnobRun, subset: str) -> dict[str, str]:
    row = run.figures.aligned(subset=subset)
    return {
        "instances": {"correct": "answered right"}.get(subset, subset),
        "run": label,
        "n": f"{row.instances:,}",
        "slope": f"undefined: {row.slope.reason}" if row.slope.value is None else short(row.slope, 3),
        "its null": null_text(row.null_slope),
        "Spearman": short(row.spearman, 3),
        "null of Spearman": null_text(row.null_spearman),
    }


def control_cells(runs: Sequence[KnobRun]) -> list[dict[str, str]]:
    """Return the position control of every run, for answer tokens."""
    return [_control(label, run) for label, run in zip(labels(runs), runs, strict=True)]


def _control(label: str, run: KnobRun) -> dict[str, str]:
    one, knob = _answer_control(run.figures), run.knob.name
    position, alone, both = (None, None, None) if one is None else (one.by_position, one.by_knob, one.by_both)
    shares = {"position": position, f"{knob} alone": alone, f"position and {knob}": both}
    return {
        "run": label,
        **{f"R2 of {name}": "-" if share is None else f"{share:.3f}" for name, share in shares.items()},
        "separable": _separable(one, knob),
    }


def _separable(control: PositionControl | None, knob: str) -> str:
    if control is None or control.by_position is None:
        return "the depth is constant"
    if control.knobs == 1:
        return f"there is one {knob} only"
    return "yes" if control.separable else f"no, the position determines {knob}"


def about_cells(runs: Sequence[KnobRun]) -> list[dict[str, str]]:
    """Return what there is to know about runs of one task."""
    return [_about(label, run) for label, run in zip(labels(runs), runs, strict=True)]


def _about(label: str, run: KnobRun) -> dict[str, str]:
    figures, found = run.figures, run.figures.labels
    knobs = [(row.knob, row.split) for row in figures.accuracy if row.knob is not None]
    counts = sorted({row.instances for row in figures.accuracy if row.knob is not None})
    return {
        "label": f"{found.task} {label}",
        "knob, trained": f"{run.knob.name} = {span([knob for knob, split in knobs if split == 'seen'])}",
        "knob, evaluated": f"{run.knob.name} = {span([knob for knob, _ in knobs])}",
        "instances a knob": " to ".join(f"{count:,}" for count in dict.fromkeys((counts[0], counts[-1]))),
        "largest depth D": str(found.max_depth),
        "depth chosen by": found.select or "the policy",
        "built for rows of": f"{run.max_length} tokens",
        "step": f"{found.step:,}",
        "run": f"{found.run_id} ({run.origin})",
        "warnings": "; ".join(figures.warnings) or "none",
    }
