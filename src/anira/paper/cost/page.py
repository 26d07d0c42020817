"""The page of costs: time, memory and FLOPs of decoding against depth, and the decider's share of the parameters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from anira.measure.cost import Cost
from anira.measure.savings import Savings, share_with_exit
from anira.measure.statistics.estimates import Estimate
from anira.site.drawing.ratio import ratio_figure
from anira.site.drawing.style import styles
from anira.site.plain import short
from anira.site.sheet.cells import Who, estimate_columns, labels_by_task
from anira.site.sheet.sheet import Section, Sheet, Table

BELOW: Final = (
    "Large: the run at its own depths. Small and hollow: the same weights without a decider, every token at one depth. "
    "Dotted: d/D. Dashed: (d + 1)/D, at most 1. Bars are exact 95% intervals of the median of the repeats; they speak "
    "about repeating the measurement, not about other rows."
)
RECORDS_BELOW: Final = (
    "Shares of the same model with every token at full depth and its decider asked. Intervals are from resampling "
    "whole instances."
)


@dataclass(frozen=True)
class Parameters:
    """The size of a model."""

    preset: str
    total: int
    decider: int

    @property
    def share(self) -> float:
        """The decider's share of all."""
        return self.decider / self.total


@dataclass(frozen=True, kw_only=True)
class Way:
    """Rows decoded in one way; ratios are to the same rows at full depth without a decider."""

    depth: float
    """Iterations executed, mean over all tokens."""
    time: Savings
    core_bytes: float
    """Keys and values of the core."""
    cache_bytes: float
    """Everything the cache holds, spare room included."""
    milliseconds: float
    """CPU time a token, median of the repeats."""


@dataclass(frozen=True, kw_only=True)
class Flops:
    """FLOPs a token, counted by the cost model."""

    execution: float
    """The core."""
    decision: float
    """The decider."""
    other: float
    """Prelude, coda and head."""

    @property
    def total(self) -> float:
        """All together."""
        return self.execution + self.decision + self.other


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Decoding of so many rows at once."""

    batch: int
    rows: int
    own: Way
    forced: tuple[Way, ...]
    """By ascending depth; the last is full depth."""
    deciding: Estimate
    """Time that the run takes beyond its own depths executed without a decider; undefined for several rows at once."""
    flops: Flops
    full_flops: Flops


@dataclass(frozen=True, kw_only=True)
class CostRun:
    """A run, what was measured of it, and what its records say."""

    origin: str
    """Where it comes from, and in what it differs from its preset."""
    run_id: str
    task: str
    variant: str
    seed: int
    step: int
    max_depth: int
    row_length: int
    repeats: int
    parameters: Parameters
    measured: tuple[Measured, ...]
    evaluated: Cost
    """All tokens of the run's last evaluation."""


def cost_sheet(runs: Sequence[CostRun], paper: Sequence[Parameters], machine: Mapping[str, Any]) -> Sheet:
    """Return the page about some runs; `paper` are models of the paper's presets, `machine` that of the measurement."""
    named = _named(runs)
    tasks = dict.fromkeys(run.task for run in runs)
    where = ", ".join(
        f"{name} {value}" if name not in ("cpu", "system") else str(value) for name, value in machine.items()
    )
    measured = Section(title="Where it was measured", text=[f"{where}. CPU time of one thread."])
    sections = [_section(task, [(label, run) for label, run in named if run.task == task]) for task in tasks]
    return Sheet(
        name="cost",
        title="What does depth save?",
        runs=[_about(label, run) for label, run in named],
        sections=[*sections, _records(named), _parameters(runs, paper), measured],
    )


def _named(runs: Sequence[CostRun]) -> list[tuple[str, CostRun]]:
    labels = labels_by_task([(run.task, Who(run.variant, run.seed, run.run_id)) for run in runs])
    return list(zip(labels, runs, strict=True))


def way_table(runs: Sequence[CostRun]) -> pl.DataFrame:
    """Return one row a run, batch size and way to decode: what cost.csv holds and the figures draw."""
    rows = [
        _way_row(label, run, part, way)
        for label, run in _named(runs)
        for part in run.measured
        for way in (part.own, *part.forced)
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def _way_row(label: str, run: CostRun, part: Measured, way: Way) -> dict[str, Any]:
    own = way is part.own
    return {
        **_who(label, run),
        "batch": part.batch,
        "way": "own" if own else "forced",
        "depth": way.depth,
        "expected": way.depth / run.max_depth,
        "expected_with_exit": share_with_exit(way.depth, run.max_depth),
        **estimate_columns("time", way.time.whole),
        **estimate_columns("core_time", way.time.core),
        **estimate_columns("deciding_time", part.deciding if own else Estimate(None, reason="nothing decides")),
        "core_bytes": way.core_bytes,
        "cache_bytes": way.cache_bytes,
        "milliseconds_a_token": way.milliseconds,
    }


def flops_table(runs: Sequence[CostRun]) -> pl.DataFrame:
    """Return one row a run and batch size: FLOPs a token, at the model's own depths and at full depth."""
    return pl.DataFrame(
        [
            {
                **_who(label, run),
                "batch": part.batch,
                **{name: getattr(part.flops, name) for name in ("execution", "decision", "other")},
                "full_execution": part.full_flops.execution,
            }
            for label, run in _named(runs)
            for part in run.measured
        ]
    )


def _who(label: str, run: CostRun) -> dict[str, Any]:
    names = ("run_id", "task", "variant", "seed", "max_depth")
    return {"label": label, **{name: getattr(run, name) for name in names}}


def _about(label: str, run: CostRun) -> dict[str, str]:
    return {
        "label": label,
        "rows": ", ".join(f"{part.rows} at batch {part.batch}" for part in run.measured),
        "tokens a row": str(run.row_length),
        "repeats": str(run.repeats),
        "largest depth D": str(run.max_depth),
        "step": f"{run.step:,}",
        "run": f"{run.run_id} ({run.origin})",
    }


def _section(task: str, named: Sequence[tuple[str, CostRun]]) -> Section:
    table = way_table([run for _, run in named])
    looks = styles({label: run.variant for label, run in named})
    panels = [
        ratio_figure(
            table.filter(batch=batch), looks, value="time", name=f"{task}-time-{batch}", title=f"time, batch {batch}"
        )
        for batch in table["batch"].unique(maintain_order=True)
    ]
    largest = table.filter(pl.col("batch") == pl.col("batch").max())
    panels.append(
        ratio_figure(
            largest, looks, value="core_bytes", name=f"{task}-bytes", title="keys and values of the core, bytes"
        )
    )
    pairs = [(label, run, part) for label, run in named for part in run.measured]
    return Section(
        title=task.upper(),
        looks=looks,
        panels=panels,
        tables=[
            Table(f"{task}: measured, as shares of full depth without a decider", [_cells(*pair) for pair in pairs]),
            Table(f"{task}: FLOPs a token, counted", [_flops_cells(*pair) for pair in pairs]),
            Table("The figures in numbers", [_way_cells(row) for row in table.iter_rows(named=True)], folded=True),
        ],
        below=BELOW,
    )


def _cells(label: str, run: CostRun, part: Measured) -> dict[str, str]:
    own = part.own
    return {
        "run": label,
        "batch": str(part.batch),
        "mean depth d": f"{own.depth:.2f} of {run.max_depth}",
        "d/D": f"{own.depth / run.max_depth:.3f}",
        "(d + 1)/D": f"{share_with_exit(own.depth, run.max_depth):.3f}",
        "time": short(own.time.whole, 3),
        "time of the core": short(own.time.core, 3),
        "time of deciding": "-" if part.deciding.value is None else short(part.deciding, 3),
        "KV bytes, core": f"{own.core_bytes:.3f}",
        "bytes, whole cache": f"{own.cache_bytes:.3f}",
        "ms a token": f"{own.milliseconds:.2f} of {part.forced[-1].milliseconds:.2f}",
    }


def _flops_cells(label: str, run: CostRun, part: Measured) -> dict[str, str]:
    own, full = part.flops, part.full_flops
    return {
        "run": label,
        "batch": str(part.batch),
        "execution": f"{own.execution:,.0f}",
        "of full depth": f"{own.execution / full.execution:.3f}",
        "decision": f"{own.decision:,.0f}",
        "of execution": f"{own.decision / own.execution:.3f}",
        "prelude, coda, head": f"{own.other:,.0f}",
        "all, of full depth": f"{own.total / full.total:.3f}",
    }


def _way_cells(row: Mapping[str, Any]) -> dict[str, str]:
    return {
        "run": row["label"],
        "batch": str(row["batch"]),
        "depths": row["way"],
        "mean depth": f"{row['depth']:.2f}",
        "d/D": f"{row['expected']:.3f}",
        "time": f"{row['time']:.3f}",
        "KV bytes, core": f"{row['core_bytes']:.3f}",
        "bytes, whole cache": f"{row['cache_bytes']:.3f}",
        "ms a token": f"{row['milliseconds_a_token']:.2f}",
    }


def _records(named: Sequence[tuple[str, CostRun]]) -> Section:
    rows = [
        {
            "run": label,
            "tokens": f"{run.evaluated.tokens:,}",
            "mean depth d": short(run.evaluated.mean_depth),
            "d/D": short(run.evaluated.iterations_share, 3),
            "KV slots": short(run.evaluated.kv_share, 3),
            "FLOPs, whole model": short(run.evaluated.flops_share, 3),
            "decisions a token": short(run.evaluated.decisions_per_token),
        }
        for label, run in named
    ]
    return Section(title="All evaluated tokens, counted", tables=[Table("from the records", rows)], below=RECORDS_BELOW)


def _parameters(runs: Sequence[CostRun], paper: Sequence[Parameters]) -> Section:
    models = dict.fromkeys([*(run.parameters for run in runs), *paper])
    rows = [
        {
            "preset": one.preset,
            "parameters": f"{one.total:,}",
            "of them deciding": f"{one.decider:,}",
            "share": f"{one.share:.1%}",
        }
        for one in models
    ]
    below = "The paper: about 8% in its experiments, which are the presets of scale paper."
    return Section(title="The decider's share of the parameters", tables=[Table("parameters", rows)], below=below)
