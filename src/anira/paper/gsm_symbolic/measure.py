"""What is read from the records of the models: the tidy table, and each model against the fixed-depth curve."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import polars as pl

from anira.measure.gsm_symbolic import above_rows, measure_gsm_symbolic, read_gsm_symbolic
from anira.measure.tidy import Row, make_table
from anira.paper.found import Found

SPLITS: Final = ("Main", "P1", "P2")
"""By knob."""
FIXED: Final = "fixed"
_RULE: Final = ["run_id", "select", "threshold"]


def measured(folders: Sequence[Path], *, draws: int = 1000) -> Found:
    """Measure models by their main rules; two folders must not have the same name of a model in them.

    Each model is a run of its own, without other seeds. The words say whose curve the others are held against: that of
    the first model at fixed depth; empty where each has only its own.
    """
    runs = read_gsm_symbolic(folders)
    table = measure_gsm_symbolic(folders, draws=draws, runs=runs)
    reference = next((run for run in runs if run.main.labels.policy == FIXED and len(run.forced) > 1), None)
    if reference is not None:
        adaptive = [run.main for run in runs if run.main.labels.policy != FIXED]
        of = reference.main.labels.run_id
        above = make_table(row for one in adaptive for row in above_rows(one, reference.forced, of=of))
        table = pl.concat([table, above])
    rules = table.filter(quantity="max_depth").select(_RULE)
    main = table.join(rules, on=_RULE, how="semi", nulls_equal=True)
    return Found(main, main, words={"reference": "" if reference is None else reference.main.labels.run_id})


def models(found: Found) -> dict[str, str]:
    """Return the models, and what sets the depth of each."""
    return dict(found.runs.select("run_id", "policy").unique(maintain_order=True).iter_rows())


def judged(found: Found) -> list[str]:
    """Return the models that choose their depth."""
    return [name for name, policy in models(found).items() if policy != FIXED]


def knobs(found: Found) -> list[int]:
    """Return the splits that were evaluated."""
    return found.runs["knob"].drop_nulls().unique().sort().to_list()


def above(found: Found, model: str, knob: int) -> Row:
    """Return accuracy minus the curve's: that of the fixed model where there is one, or else the model's own."""
    reference = found.words["reference"]
    subset = f"all, curve of {reference}" if reference and model in judged(found) else "all"
    return found.row("above_curve", run_id=model, knob=knob, subset=subset)
