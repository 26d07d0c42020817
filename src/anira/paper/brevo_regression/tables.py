"""The tables of BREVO's regression: what its CSV files hold, and what its page is drawn from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import polars as pl

from anira.measure.brevo.regression import RegressionFigures
from anira.measure.statistics.estimates import Estimate
from anira.site.sheet.cells import Who, estimate_columns, null_columns, run_labels


@dataclass(frozen=True, kw_only=True)
class RegressionRun:
    """A run, and what its records say."""

    origin: str
    """Where it comes from, and in what it differs from its preset."""
    figures: RegressionFigures


@dataclass(frozen=True, kw_only=True)
class PaperVariant:
    """What the paper has for one variant."""

    coefficients: Mapping[str, float]
    """Of its main table."""
    final: Mapping[str, float]
    """Coefficients of the final model, N as a number."""
    delta_linear: Mapping[str, float]
    delta_categorical: Mapping[str, float]
    retention: Mapping[str, float]
    """The last through the one before, as the paper rounds it."""
    r2_linear: float
    r2_categorical: float
    expected_gain: float
    """What expected depth has more of R2 than argmax depth: one figure, without saying of which fit."""


Paper = Mapping[str, PaperVariant]
"""Variant -> what the paper has for it."""


def labels(runs: Sequence[RegressionRun]) -> list[str]:
    """Name runs by what tells them apart."""
    found = [run.figures.labels for run in runs]
    return run_labels([Who(one.variant, one.seed, one.run_id) for one in found])


def coefficient_table(runs: Sequence[RegressionRun], paper: Paper) -> pl.DataFrame:
    """Return the fixed model, one row a run and feature."""
    rows = [
        {
            **_who(label, run),
            "feature": row.feature,
            **estimate_columns("coefficient", row.coefficient),
            "p_holm": row.p_value,
            "paper": _of(paper, run, "coefficients").get(row.feature),
            **estimate_columns("given_position", row.given_position),
            **estimate_columns("within", row.within),
            **null_columns("null", row.null),
            **null_columns("null_within", row.null_within),
        }
        for label, run in zip(labels(runs), runs, strict=True)
        for row in run.figures.main
    ]
    return _frame(rows)


def stage_table(runs: Sequence[RegressionRun], paper: Paper) -> pl.DataFrame:
    """Return the four stages, one row a run and feature."""
    rows = [
        {
            **_who(label, run),
            "feature": row.feature,
            "group": row.group,
            "correlation": row.correlation,
            "dropped": row.dropped,
            "vif": row.vif,
            **_maybe("delta", row.delta),
            **_maybe("coefficient", row.coefficient),
            "paper_coefficient": _of(paper, run, "final").get(row.feature),
            **_maybe("delta_linear", row.delta_linear),
            "paper_delta_linear": _of(paper, run, "delta_linear").get(row.feature),
            **_maybe("delta_categorical", row.delta_categorical),
            "paper_delta_categorical": _of(paper, run, "delta_categorical").get(row.feature),
            **_maybe("retention", row.retention),
            "paper_retention": _of(paper, run, "retention").get(row.feature),
        }
        for label, run in zip(labels(runs), runs, strict=True)
        for row in run.figures.stages
    ]
    return _frame(rows)


def fit_table(runs: Sequence[RegressionRun], paper: Paper) -> pl.DataFrame:
    """Return R2 of whole models, groups of features and position, one row a run and figure."""
    rows = [
        {**_who(label, run), "figure": name, **figure}
        for label, run in zip(labels(runs), runs, strict=True)
        for name, figure in _fits(run.figures, paper.get(run.figures.labels.variant)).items()
    ]
    return _frame(rows)


def _fits(figures: RegressionFigures, paper: PaperVariant | None) -> dict[str, dict[str, float | None]]:
    known: dict[str, float] = {}
    if paper:
        known = {
            "linear": paper.r2_linear,
            "categorical": paper.r2_categorical,
            "expected_gain": paper.expected_gain,
        }
    out: dict[str, dict[str, float | None]] = {}
    for part in (figures.fits, figures.groups):
        for one in fields(part) if part else ():
            if isinstance(value := getattr(part, one.name), Estimate):
                out[one.name] = {**estimate_columns("value", value), "paper": known.get(one.name)}
    if figures.position:
        for one in fields(figures.position):
            value = Estimate(getattr(figures.position, one.name))
            out[f"position: {one.name}"] = {**estimate_columns("value", value), "paper": None}
    return out


def _who(label: str, run: RegressionRun) -> dict[str, Any]:
    who = run.figures.labels
    return {"label": label, "run_id": who.run_id, "variant": who.variant, "seed": who.seed}


def _of(paper: Paper, run: RegressionRun, name: str) -> Mapping[str, float]:
    known = paper.get(run.figures.labels.variant)
    return getattr(known, name) if known else {}


def _maybe(name: str, estimate: Estimate | None) -> dict[str, float | None]:
    return estimate_columns(name, estimate or Estimate(None))


def _frame(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), infer_schema_length=None)
