"""How accuracy and depth went over training, from a run's folder: curves, order of the sizes, the two phases.

Curves and their dates are in metrics.jsonl. Records of evaluations during training add intervals to depth where the
folder still has them (RUN/records/step-000500), those of the last one the majority baseline.

    figures = dynamics_figures(Path("runs/mano-anira-o-cpu/1f2e3d4c-s0"))
    figures.order.kendall      # Estimate: are sizes learned from easy to hard?
    figures.phases.rise        # Estimate
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from anira.config.folder import inside, subfolders
from anira.measure.accuracy import Accuracy, accuracy_by_knob, accuracy_overall
from anira.measure.allocation import depth_by_knob
from anira.measure.claims.knob import Claim, by_identity, experiment, make_claim
from anira.measure.claims.verdict import SEEDS_NEEDED, Evidence, why_silent
from anira.measure.records.instances import instance_table
from anira.measure.records.loading import load_evaluation
from anira.measure.statistics.bootstrap import DRAWS
from anira.measure.statistics.estimates import Estimate, proportion
from anira.measure.summary import Labels, labels_of
from anira.measure.training.metrics import batch_lines, evaluation_lines, read_metrics
from anira.measure.training.order import Order, learned_order
from anira.measure.training.phases import Phases, find_phases

TEXTS: Final = {
    "easy-to-hard": "smaller sizes are learned first (Kendall of learned step and knob)",
    "two-phases": "depth rises, then falls with accuracy kept (the weaker of rise and fall)",
}
LARGEST_CHANCE: Final = 0.05 ** (1 / SEEDS_NEEDED)
"""An order of sizes that comes by chance more often cannot speak: as many seeds as a verdict needs would all have it in
more than one case of twenty."""
NO_RECORDS: Final = "the run has no records of this step"


@dataclass(frozen=True, kw_only=True)
class CurvePoint:
    """One knob at one evaluation."""

    step: int
    knob: int
    instances: int
    accuracy: Estimate
    depth: Estimate
    """Mean exit depth of answer tokens; without an interval where there are no records of the step."""
    expected_depth: float | None


@dataclass(frozen=True, kw_only=True)
class Batch:
    """A batch of training rows that was logged."""

    step: int
    depth: float
    """Mean depth of answer tokens, drawn from q as training does."""
    gamma: float | None


@dataclass(frozen=True, kw_only=True)
class DynamicsFigures:
    """What one run's training shows."""

    labels: Labels
    warm_up: int
    """Steps over which gamma rises; 0 where it is constant."""
    final: Accuracy
    """Over all knobs of training at the last step, beside the majority baseline."""
    curve: tuple[CurvePoint, ...]
    """In the order of step and knob."""
    batches: tuple[Batch, ...]
    order: Order
    phases: Phases
    warnings: tuple[str, ...]

    @property
    def experiment(self) -> str:
        """Task, variant, how depth was chosen, and the schedule of gamma."""
        schedule = f"\u03b3 rising over {self.warm_up:,} steps" if self.warm_up else "constant \u03b3"
        return f"{experiment(self.labels)}, {schedule}"


def dynamics_figures(run: Path, *, seed: int = 0, draws: int = DRAWS) -> DynamicsFigures:
    """Compute all there is to say about the training of a run; it needs metrics.jsonl and records/final."""
    metrics = read_metrics(run)
    evaluations, batches = evaluation_lines(metrics), batch_lines(metrics)
    final = load_evaluation(run / "records" / "final")
    table = instance_table(final)
    majority = {row.knob: row.majority for row in accuracy_by_knob(table) if row.knob is not None}
    labels = labels_of(final, table)
    order_rng, depth_rng = np.random.default_rng(seed).spawn(2)
    return DynamicsFigures(
        labels=labels,
        warm_up=int(labels.config.get("gamma_warmup_steps", 0)),
        final=accuracy_overall(table, seen_only="seen" in table["split"]),
        curve=tuple(_curve(evaluations, depth_intervals(run, rng=depth_rng, draws=draws))),
        batches=tuple(Batch(**row) for row in batches.iter_rows(named=True)),
        order=learned_order(evaluations, majority, rng=order_rng, draws=draws),
        phases=find_phases(batches, evaluations),
        warnings=final.warnings,
    )


def depth_intervals(run: Path, *, rng: np.random.Generator, draws: int = DRAWS) -> dict[tuple[int, int], Estimate]:
    """Return the depth of answer tokens by step and knob, for the evaluations of training that the folder holds."""
    found: dict[tuple[int, int], Estimate] = {}
    for folder in subfolders(inside(run, "records")):
        if not re.fullmatch(r"step-\d+|final", folder.name):
            continue
        table = instance_table(load_evaluation(folder))
        rows = depth_by_knob(table, rng=rng, draws=draws)
        found |= {(table["step"][0], row.knob): row.answer for row in rows if row.knob is not None}
    return found


def _curve(evaluations: pl.DataFrame, depths: Mapping[tuple[int, int], Estimate]) -> list[CurvePoint]:
    return [
        CurvePoint(
            step=row["step"],
            knob=row["knob"],
            instances=row["instances"],
            accuracy=proportion(round(row["accuracy"] * row["instances"]), row["instances"]),
            depth=depths.get((row["step"], row["knob"]), Estimate(row["depth"], reason=NO_RECORDS)),
            expected_depth=row["expected_depth"],
        )
        for row in evaluations.iter_rows(named=True)
    ]


def dynamics_claims(runs: Sequence[DynamicsFigures]) -> dict[str, list[Claim]]:
    """Return the verdicts of each experiment among the runs, by the key of the claim."""
    groups = by_identity(runs, lambda run: [run.labels])
    return {
        "easy-to-hard": [_claim("easy-to-hard", group, [_order(run) for run in group]) for group in groups],
        "two-phases": [_claim("two-phases", group, [_phases(run) for run in group]) for group in groups],
    }


def _claim(key: str, group: Sequence[DynamicsFigures], evidence: Sequence[Evidence]) -> Claim:
    runs = [run.labels.run_id for run in group]
    return make_claim(TEXTS[key], group[0].experiment, list(zip(runs, evidence, strict=True)))


def _order(run: DynamicsFigures) -> Evidence:
    chance = run.order.by_chance or 0.0
    weak = f"an order as good comes by chance in {chance:.0%} of all cases" if chance > LARGEST_CHANCE else ""
    return Evidence(run.labels.seed, run.order.kendall, _unlearned(run) or weak)


def _phases(run: DynamicsFigures) -> Evidence:
    warm_up = f"\u03b3 rises over the first {run.warm_up:,} steps, which makes phases by itself" if run.warm_up else ""
    return Evidence(run.labels.seed, run.phases.weakest, warm_up or _unlearned(run))


def _unlearned(run: DynamicsFigures) -> str:
    return why_silent(run.final)
