"""What is read from the records of the models: the tidy table, and each model against the fixed-depth curve."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from anira.measure.gsm_symbolic import above_rows, measure_gsm_symbolic, read_gsm_symbolic
from anira.measure.records.reading import RunRecords
from anira.measure.tidy import Row, find, make_table

SPLITS: Final = ("Main", "P1", "P2")
"""By knob."""
FIXED: Final = "fixed"
_RULE: Final = ["run_id", "select", "threshold"]


@dataclass(frozen=True)
class Found:
    """All models in numbers."""

    table: pl.DataFrame
    """The tidy table, by each model's main rule."""
    models: tuple[str, ...]
    policies: tuple[str, ...]
    """What sets the depth of each model."""
    knobs: tuple[int, ...]
    reference: str
    """The model at fixed depth whose curve the others are held against; empty where each has only its own."""

    def row(self, model: str, quantity: str, knob: int | None, subset: str = "all") -> Row:
        """Return one estimate; where there is none its value is None."""
        return find(self.table, quantity, knob=knob, subset=subset, run_id=model)

    @property
    def judged(self) -> list[str]:
        """The models that choose their depth."""
        return [name for name, policy in zip(self.models, self.policies, strict=True) if policy != FIXED]

    def above(self, model: str, knob: int, subset: str = "all") -> Row:
        """Return accuracy less the curve's: that of the fixed model where there is one, or else the model's own."""
        if self.reference and model in self.judged:
            return self.row(model, "above_curve", knob, f"{subset}, curve of {self.reference}")
        return self.row(model, "above_curve", knob, subset)


def measured(folders: Sequence[Path], *, draws: int = 1000) -> Found:
    """Measure models; two folders must not have the same name of a model in them."""
    runs = read_gsm_symbolic(folders)
    table = measure_gsm_symbolic(folders, draws=draws, runs=runs)
    reference = next((run for run in runs if run.main.labels.policy == FIXED and len(run.forced) > 1), None)
    if reference is not None:
        table = pl.concat([table, make_table(_against(runs, reference))])
    rules = table.filter(quantity="max_depth").select(_RULE)
    return Found(
        table.join(rules, on=_RULE, how="semi", nulls_equal=True),
        tuple(run.main.labels.run_id for run in runs),
        tuple(run.main.labels.policy for run in runs),
        tuple(table["knob"].drop_nulls().unique().sort().to_list()),
        "" if reference is None else reference.main.labels.run_id,
    )


def _against(runs: Sequence[RunRecords], reference: RunRecords) -> Iterator[Row]:
    for run in runs:
        if run.main.labels.policy != FIXED:
            yield from above_rows(run.main, reference.forced, of=reference.main.labels.run_id)
