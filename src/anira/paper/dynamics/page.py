"""The page of training dynamics: accuracy and depth over training, when sizes are learned, the two phases."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from anira.measure.claims.knob import Claim
from anira.measure.statistics.estimates import Estimate
from anira.measure.training.dynamics import DynamicsFigures
from anira.measure.training.order import LearnedSize
from anira.site.drawing.figures import Marks, dynamics_figure
from anira.site.report.about import KnobWords
from anira.site.sheet.cells import Who, estimate_columns, run_labels
from anira.site.sheet.sheet import Section, Sheet, Table
from anira.site.sheet.verdicts import verdict_sections

BELOW = (
    "One line a size, pale for small ones and dark for large ones, with the markers of the panel below accuracy. Bars "
    "are 95% intervals. Grey bars: mean depth of training batches; the dashed line: where it is highest, the end of "
    "learning and the beginning of compute reduction."
)
NEVER = "not learned"


@dataclass(frozen=True, kw_only=True)
class DynamicsRun:
    """A run, and what its training shows."""

    origin: str
    """Where it comes from, and in what it differs from its preset."""
    knob: KnobWords
    figures: DynamicsFigures


Named = tuple[str, DynamicsRun]


def dynamics_sheet(runs: Sequence[DynamicsRun], claims: Sequence[Claim]) -> Sheet:
    """Return the page: a section for each task and schedule of gamma, in the order of the runs."""
    sections: dict[str, list[DynamicsRun]] = {}
    for run in runs:
        sections.setdefault(_title(run.figures), []).append(run)
    return Sheet(
        name="dynamics",
        title="Training: which sizes are learned first, and when does depth rise and fall?",
        runs=[_about(label, run) for label, run in zip(labels(runs), runs, strict=True)],
        sections=[*(_section(title, group) for title, group in sections.items()), *verdict_sections(claims)],
    )


def labels(runs: Sequence[DynamicsRun]) -> list[str]:
    """Name runs by task, schedule and variant, and by seed where that does not tell them apart."""
    found = [run.figures for run in runs]
    return run_labels(
        [Who(f"{_title(one)}, {one.labels.variant}", one.labels.seed, one.labels.run_id) for one in found]
    )


def _title(figures: DynamicsFigures) -> str:
    schedule = "\u03b3 warmed up" if figures.warm_up else "constant \u03b3"
    return f"{figures.labels.task.upper()}, {schedule}"


def dynamics_tables(runs: Sequence[DynamicsRun]) -> dict[str, pl.DataFrame]:
    """Return the tables behind the page, by the names of their files."""
    named = list(zip(labels(runs), runs, strict=True))
    return {
        "dynamics": pl.concat([curve_table(one) for one in named]),
        "dynamics-order": pl.concat([order_table(one) for one in named]),
        "dynamics-phases": pl.DataFrame([_phases_row(one) for one in named], infer_schema_length=None),
        "dynamics-batches": pl.concat([batch_table(one) for one in named]),
    }


def curve_table(named: Named) -> pl.DataFrame:
    """Return the evaluations of a run, one row a step and knob."""
    numbers = [f"{name}{end}" for name in ("accuracy", "depth") for end in ("", "_low", "_high")]
    types = {"step": pl.Int64, "knob": pl.Int64, "instances": pl.Int64, **dict.fromkeys(numbers, pl.Float64)}
    rows = [
        {
            **_who(named),
            "step": point.step,
            "knob": point.knob,
            "instances": point.instances,
            **estimate_columns("accuracy", point.accuracy),
            **estimate_columns("depth", point.depth),
            "expected_depth": point.expected_depth,
        }
        for point in named[1].figures.curve
    ]
    return pl.DataFrame(rows, schema={**_WHO, **types, "expected_depth": pl.Float64})


def order_table(named: Named) -> pl.DataFrame:
    """Return when each size was learned, one row a knob; null stands for not by the last evaluation."""
    types = {"knob": pl.Int64, "level": pl.Float64, "step": pl.Int64, "low": pl.Int64, "high": pl.Int64}
    rows = [{**_who(named), **{name: getattr(size, name) for name in types}} for size in named[1].figures.order.sizes]
    return pl.DataFrame(rows, schema={**_WHO, **types})


def batch_table(named: Named) -> pl.DataFrame:
    """Return the logged batches of a run's training, one row a step."""
    types = {"step": pl.Int64, "depth": pl.Float64, "gamma": pl.Float64}
    rows = [
        {**_who(named), "step": one.step, "depth": one.depth, "gamma": one.gamma} for one in named[1].figures.batches
    ]
    return pl.DataFrame(rows, schema={**_WHO, **types})


_WHO = {"label": pl.String, "run_id": pl.String, "task": pl.String, "variant": pl.String, "seed": pl.Int64}


def _who(named: Named) -> dict[str, Any]:
    label, who = named[0], named[1].figures.labels
    return {"label": label, "run_id": who.run_id, "task": who.task, "variant": who.variant, "seed": who.seed}


def _phases_row(named: Named) -> dict[str, Any]:
    figures, phases = named[1].figures, named[1].figures.phases
    parts = ("start", "level", "end", "rise", "fall", "kept")
    estimates = {key: value for name in parts for key, value in estimate_columns(name, getattr(phases, name)).items()}
    order = {**estimate_columns("kendall", figures.order.kendall), "by_chance": figures.order.by_chance}
    return {**_who(named), "gamma_warmup_steps": figures.warm_up, "boundary": phases.boundary, **estimates, **order}


def _section(title: str, runs: Sequence[DynamicsRun]) -> Section:
    """Return the section of runs of one task: those of one seed side by side."""
    runs = sorted(runs, key=lambda run: (run.figures.labels.seed, run.figures.labels.variant))
    who = [run.figures.labels for run in runs]
    group = list(zip(run_labels([Who(one.variant, one.seed, one.run_id) for one in who]), runs, strict=True))
    knob = runs[0].knob
    return Section(
        title=title,
        panels=[_draw(one, f"{title}-{i}") for i, one in enumerate(group) if one[1].figures.curve],
        tables=[
            Table(f"{title}: when each size is learned", _order_rows(group)),
            Table(f"{title}: the two phases", [_phase_cells(one) for one in group]),
            Table("The curves in numbers", [_cells(row) for one in group for row in curve_table(one).to_dicts()], True),
        ],
        below=f"{knob.axis}. {BELOW}{_without_intervals(runs)}",
    )


def _draw(named: Named, name: str) -> str:
    label, run = named
    phases = run.figures.phases
    blocks = pl.DataFrame(
        [(block.first, block.last, block.depth) for block in phases.blocks],
        schema={"first": pl.Int64, "last": pl.Int64, "depth": pl.Float64},
        orient="row",
    )
    return dynamics_figure(
        curve_table(named),
        batch_table(named).drop_nulls("gamma"),
        name=name,
        knob=run.knob.name,
        max_depth=run.figures.labels.max_depth,
        marks=Marks(label, order_table(named), blocks, phases.boundary),
    )


def _without_intervals(runs: Sequence[DynamicsRun]) -> str:
    bare = sum(any(point.depth.low is None for point in run.figures.curve) for run in runs)
    return f" {bare} of {len(runs)} runs did not keep all records: depth has bars where they did." if bare else ""


def _order_rows(group: Sequence[Named]) -> list[dict[str, str]]:
    """Return a row for each run, with a column for every size that any of them has."""
    sizes = sorted({size.knob for _, run in group for size in run.figures.order.sizes})
    return [_order_cells(one, sizes) for one in group]


def _order_cells(named: Named, sizes: Sequence[int]) -> dict[str, str]:
    label, run = named
    order = run.figures.order
    learned = {size.knob: learned_text(size, order.first_step) for size in order.sizes}
    return {
        "run": label,
        **{f"{run.knob.name} = {size}": learned.get(size, "-") for size in sizes},
        "Kendall of step and size": order.kendall.text(),
        "as good by chance": "-" if order.by_chance is None else f"{order.by_chance:.3f}",
    }


def learned_text(size: LearnedSize, first: int | None) -> str:
    """Write when a size was learned; what was learned by the first evaluation may have been learned long before.

    >>> learned_text(LearnedSize(knob=3, level=0.6, step=6500, low=4000, high=None), 500)
    '6,500 [4,000, not learned]'
    """
    words = [_step(step, first) for step in (size.step, size.low, size.high)]
    return words[0] if len(set(words)) == 1 else f"{words[0]} [{words[1]}, {words[2]}]"


def _step(step: int | None, first: int | None) -> str:
    if step is None:
        return NEVER
    return f"by {step:,}" if step == first else f"{step:,}"


def _phase_cells(named: Named) -> dict[str, str]:
    label, figures = named[0], named[1].figures
    phases, top = figures.phases, figures.labels.max_depth
    level = phases.level.value
    return {
        "run": label,
        "start": _plain(phases.start),
        "peak near step": "-" if phases.boundary is None else f"{phases.boundary:,}",
        "depth there": _plain(phases.level),
        "of D": "-" if level is None else f"{level / top:.0%} of {top}",
        "end": _plain(phases.end),
        "rise": phases.rise.text(),
        "fall": phases.fall.text(),
        "accuracy, end less peak": phases.kept.text(),
    }


def _plain(estimate: Estimate) -> str:
    return "-" if estimate.value is None else f"{estimate.value:.2f}"


def _cells(row: dict[str, Any]) -> dict[str, str]:
    depth = Estimate(row["depth"], row["depth_low"], row["depth_high"])
    expected = row["expected_depth"]
    return {
        "run": row["label"],
        "step": f"{row['step']:,}",
        "size": str(row["knob"]),
        "instances": f"{row['instances']:,}",
        "accuracy": Estimate(row["accuracy"], row["accuracy_low"], row["accuracy_high"]).text(3),
        "answer depth": depth.text() if depth.low is not None else f"{row['depth']:.2f}",
        "expected depth": "-" if expected is None else f"{expected:.2f}",
    }


def _about(label: str, run: DynamicsRun) -> dict[str, str]:
    figures = run.figures
    who, steps = figures.labels, dict.fromkeys(point.step for point in figures.curve)
    schedule = f"0 to its weight over {figures.warm_up:,} steps" if figures.warm_up else "constant"
    return {
        "label": label,
        "\u03b3": schedule,
        "evaluations": str(len(steps)),
        "logged batches": str(len(figures.batches)),
        "accuracy at the end": figures.final.exact.text(3),
        "majority": f"{figures.final.majority:.3f}",
        "largest depth D": str(who.max_depth),
        "depth chosen by": who.select or "the policy",
        "step": f"{who.step:,}",
        "run": f"{who.run_id} ({run.origin})",
        "warnings": "; ".join(figures.warnings) or "none",
    }
