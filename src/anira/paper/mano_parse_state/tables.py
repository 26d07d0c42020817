"""The tables behind the page of MANO's question tokens: what its CSV files hold."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from anira.measure.mano.parse_state import ParseStateFigures
from anira.site.sheet.cells import Who, estimate_columns, null_columns, run_labels

Paper = Mapping[tuple[str, int, str], float]
"""Kind, r_t and term -> the paper's coefficient for ANIRA-E."""
SHARES: Final = {
    "model": "R2 of the model",
    "position": "R2 of the position",
    "both": "R2 of both",
    "beyond_position": "of what position leaves, the model explains",
    "beyond_model": "of what the model leaves, position explains",
}
"""Share of the variance of depth -> words."""


@dataclass(frozen=True, kw_only=True)
class ParseStateRun:
    """A run, and what its records say."""

    origin: str
    """Where it comes from, and in what it differs from its preset."""
    figures: ParseStateFigures


def named(runs: Sequence[ParseStateRun]) -> dict[str, ParseStateFigures]:
    """Return figures by the name of their run: what tells it apart from the others."""
    found = [run.figures for run in runs]
    who = [Who(one.labels.variant, one.labels.seed, one.labels.run_id) for one in found]
    return dict(zip(run_labels(who), found, strict=True))


def _who(label: str, figures: ParseStateFigures) -> dict[str, Any]:
    labels = figures.labels
    return {"label": label, "run_id": labels.run_id, "variant": labels.variant, "seed": labels.seed}


def state_table(runs: Sequence[ParseStateRun]) -> pl.DataFrame:
    """Return depth by state, one row a run, measure and state: what the figures draw."""
    rows = [
        {
            **_who(label, figures),
            "measure": row.measure,
            "kind": row.kind,
            "r_t": row.remaining,
            "s_t": row.completed,
            "tokens": row.tokens,
            "instances": row.instances,
            **estimate_columns("mean", row.mean),
            "deviation": row.deviation,
        }
        for label, figures in named(runs).items()
        for row in figures.states
    ]
    floats = dict.fromkeys(("mean", "mean_low", "mean_high", "deviation"), pl.Float64)
    return pl.DataFrame(rows, schema_overrides={"s_t": pl.Int64, **floats}, infer_schema_length=None)


def model_table(runs: Sequence[ParseStateRun], paper: Paper) -> pl.DataFrame:
    """Return the coefficients of the model, one row a run, measure, branch and term."""
    return pl.DataFrame(
        [
            {
                **_who(label, figures),
                "measure": row.measure,
                "kind": row.kind,
                "r_t": row.remaining,
                "term": row.term,
                "tokens": row.tokens,
                **estimate_columns("coefficient", row.estimate),
                "reason": row.estimate.reason,
                "paper": paper[row.kind, row.remaining, row.term],
            }
            for label, figures in named(runs).items()
            for row in figures.coefficients
        ],
        infer_schema_length=None,
    )


def contrast_table(runs: Sequence[ParseStateRun]) -> pl.DataFrame:
    """Return the contrasts with their nulls, one row a run, measure and contrast."""
    return pl.DataFrame(
        [
            {
                **_who(label, figures),
                "measure": row.measure,
                "contrast": row.name,
                "tokens": row.tokens,
                **estimate_columns("plain", row.plain),
                **null_columns("null_plain", row.null_plain),
                **estimate_columns("matched", row.matched),
                **null_columns("null_matched", row.null_matched),
                "reason": row.plain.reason or row.matched.reason,
            }
            for label, figures in named(runs).items()
            for row in figures.contrasts
        ],
        infer_schema_length=None,
    )


def explained_table(runs: Sequence[ParseStateRun]) -> pl.DataFrame:
    """Return the shares of the variance of depth with their nulls, one row a run and measure."""
    return pl.DataFrame(
        [
            {
                **_who(label, figures),
                "measure": row.measure,
                "tokens": row.tokens,
                **{key: value for name in SHARES for key, value in estimate_columns(name, getattr(row, name)).items()},
                **null_columns("null_model", row.null_model),
                **null_columns("null_beyond_position", row.null_beyond_position),
            }
            for label, figures in named(runs).items()
            for row in figures.explained
        ],
        infer_schema_length=None,
    )
