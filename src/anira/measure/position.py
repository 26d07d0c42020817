"""The position control: how much of the variance of depth the position of a token explains on its own.

A model whose depth only counts positions would follow any knob that makes rows longer. Where every position belongs to
one knob only, as at MANO's answer (position 2L + 2), the two cannot be told apart at all.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from anira.measure.records.loading import Evaluation
from anira.measure.statistics.estimates import Floats, Ints

KINDS = ("answer", "prompt")


@dataclass(frozen=True, kw_only=True)
class PositionControl:
    """Shares of the variance of exit depth among tokens of one kind: R2 of the means by position, knob, or both."""

    kind: str
    """`answer` or `prompt`: what the positions predict."""
    tokens: int
    positions: int
    knobs: int
    by_position: float | None
    by_knob: float | None
    by_both: float | None
    """None where the depth is constant. Means fit a little noise: (positions - 1) / tokens without any effect."""
    separable: bool
    """Whether position and knob can be told apart: False where every position has one knob only."""


def position_control(evaluation: Evaluation) -> list[PositionControl]:
    """Return the control for answer tokens and for prompt tokens, where there are any."""
    depth = pl.col("exit_depth").cast(pl.Float64)
    cells = evaluation.collect(
        evaluation.tokens.group_by("target_kind", "position", "knob")
        .agg(
            pl.len().alias("tokens"),
            depth.sum().alias("depth"),
            (depth**2).sum().alias("squares"),
            depth.min().alias("least"),
            depth.max().alias("most"),
        )
        .sort("target_kind", "position", "knob")
    )
    kinds = {kind: cells.filter(pl.col("target_kind") == kind) for kind in KINDS}
    return [_control(kind, part) for kind, part in kinds.items() if len(part)]


def _control(kind: str, cells: pl.DataFrame) -> PositionControl:
    position, knob = cells["position"].to_numpy(), cells["knob"].to_numpy()
    knobs_at_position = cells.group_by("position").agg(pl.col("knob").n_unique())["knob"]
    return PositionControl(
        kind=kind,
        tokens=int(cells["tokens"].sum()),
        positions=len(knobs_at_position),
        knobs=cells["knob"].n_unique(),
        by_position=_explained(cells, position),
        by_knob=_explained(cells, knob),
        by_both=_explained(cells, np.arange(len(cells))),
        separable=bool((knobs_at_position > 1).any()),
    )


def _explained(cells: pl.DataFrame, groups: Ints) -> float | None:
    """Return R2 of the means by group, from the number, sum and sum of squares of the tokens in each cell."""
    if cells["least"].min() == cells["most"].max():
        return None
    tokens, depth, squares = (cells[name].to_numpy().astype(np.float64) for name in ("tokens", "depth", "squares"))
    of_the_mean = depth.sum() ** 2 / tokens.sum()
    total = squares.sum() - of_the_mean
    between = (_sum(groups, depth) ** 2 / _sum(groups, tokens)).sum() - of_the_mean
    return float(np.clip(between / total, 0, 1))


def _sum(groups: Ints, values: Floats) -> Floats:
    _, index = np.unique(groups, return_inverse=True)
    sums: Floats = np.bincount(index, weights=values).astype(np.float64)
    return sums
