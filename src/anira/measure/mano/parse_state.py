"""Whether depth at MANO's question tokens follows the state of the parse, in questions that were answered right.

The parser's state before a token is known from the tokens before it: r_t, operands that the innermost open operator
still needs; s_t, operators in the subtree that the last token completed; d_t, open operators. A token is compared with
the depth at its own position:

    token    +   +   5   3   -   12  17
    r_t      0   2   2   1   1   2   1
    s_t      0   0   0   0   1   0   0
    d_t      0   1   2   2   1   2   2
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from anira.config import UserError
from anira.measure.accuracy import Accuracy, accuracy_overall
from anira.measure.effects import CONSTANT, NO_TOKENS, Effect, along, at_equal, effect, least_squares
from anira.measure.mano.piecewise import BRANCHES, Coefficient, Shares, Tokens, fit_branch
from anira.measure.records.instances import instance_table
from anira.measure.records.loading import Evaluation, load_evaluation
from anira.measure.statistics.bootstrap import DRAWS, bootstrap
from anira.measure.statistics.estimates import Estimate, Floats, Ints
from anira.measure.statistics.nulls import Null, orders_within
from anira.measure.summary import Labels, labels_of

MEASURES: Final = ("exit_depth", "expected_depth")
PROBES: Final = {
    "operator": "probe_is_operator",
    "remaining": "probe_remaining_operands",
    "completed": "probe_completed_size",
    "stack": "probe_stack_depth",
}
CONTRASTS: Final = {
    "right_child": "operators with r_t = 1 get more depth than those with r_t = 2",
    "completed": "among operators with r_t = 1 depth rises with s_t",
}
"""Name -> the claim that it is positive."""


@dataclass(frozen=True, kw_only=True)
class StateDepth:
    """Depth of the tokens in one state."""

    measure: str
    kind: str
    """operator or operand."""
    remaining: int
    completed: int | None
    """None where s_t may be anything."""
    tokens: int
    instances: int
    mean: Estimate
    deviation: float | None
    """Standard deviation over tokens; None for fewer than two."""


@dataclass(frozen=True, kw_only=True)
class Contrast:
    """How much more depth one state of the parse gets than another."""

    measure: str
    name: str
    """One of CONTRASTS."""
    tokens: int
    plain: Estimate
    """As in the paper: a difference of means, or the slope in s_t with d_t held fixed as a straight line."""
    matched: Estimate
    """Among tokens at the same position and with the same d_t: a depth that counts positions gives zero."""
    null_plain: Null | None
    """With depth shuffled within instances: what differences between instances alone give. May be off zero."""
    null_matched: Null | None


@dataclass(frozen=True, kw_only=True)
class Explained:
    """Shares of the variance of depth over all question tokens."""

    measure: str
    tokens: int
    model: Estimate
    """R2 of the piecewise model."""
    position: Estimate
    """R2 of the means by position."""
    both: Estimate
    beyond_position: Estimate
    """What the model explains of what position leaves."""
    beyond_model: Estimate
    """What position explains of what the model leaves."""
    null_model: Null | None
    """R2 of the model with depth shuffled within instances; never below zero."""
    null_beyond_position: Null | None


@dataclass(frozen=True, kw_only=True)
class ParseStateFigures:
    """What the records of one evaluation say."""

    labels: Labels
    warnings: tuple[str, ...]
    knobs: tuple[int, ...]
    accuracy: Accuracy
    """Over the knobs that training rows have."""
    questions: int
    """Those answered right: all other figures are about them."""
    tokens: int
    largest_completed: int | None
    largest_stack: int | None
    states: tuple[StateDepth, ...]
    coefficients: tuple[Coefficient, ...]
    contrasts: tuple[Contrast, ...]
    explained: tuple[Explained, ...]

    @property
    def measures(self) -> list[str]:
        """The measures of depth that the records hold."""
        return [row.measure for row in self.explained]

    def contrast(self, measure: str, name: str) -> Contrast:
        """Return one contrast."""
        return next(row for row in self.contrasts if (row.measure, row.name) == (measure, name))


def parse_state_figures(records: Path, *, seed: int = 0, draws: int = DRAWS) -> ParseStateFigures:
    """Compute all figures of an evaluation of MANO; `seed` is that of resampling and shuffling."""
    evaluation = load_evaluation(records)
    table = instance_table(evaluation)
    labels = labels_of(evaluation, table)
    if labels.task != "mano":
        raise UserError(f"{records} is an evaluation of task {labels.task!r}, not of mano")
    right = table.filter("correct")
    tokens, depths = _question_tokens(evaluation, right)
    knob = right["knob"].to_numpy()
    rng, null_rng = np.random.default_rng(seed).spawn(2)
    orders: list[Ints] = []
    if len(knob):
        orders += [order.astype(np.int32) for order in orders_within(tokens.instance, rng=null_rng)]
    states, coefficients, contrasts, explained = [], [], [], []
    for measure, depth in depths.items():
        states += _states(tokens, depth, measure)
        coefficients += [row for branch in BRANCHES for row in fit_branch(branch, tokens, depth, measure)]
        contrasts += [_contrast(name, tokens, depth, measure, orders) for name in CONTRASTS]
        explained.append(_explained(tokens, depth, measure, knob, orders, rng=rng, draws=draws))
    return ParseStateFigures(
        labels=labels,
        warnings=evaluation.warnings,
        knobs=tuple(table["knob"].unique().sort()),
        accuracy=accuracy_overall(table, seen_only="seen" in table["split"]),
        questions=len(right),
        tokens=len(tokens.instance),
        largest_completed=_largest(tokens.completed[tokens.among("operator", 1)]),
        largest_stack=_largest(tokens.stack),
        states=tuple(states),
        coefficients=tuple(coefficients),
        contrasts=tuple(contrasts),
        explained=tuple(explained),
    )


def _question_tokens(evaluation: Evaluation, right: pl.DataFrame) -> tuple[Tokens, dict[str, Floats]]:
    """Return the question tokens of the given instances, and their depth by measure."""
    if missing := [name for name in PROBES.values() if name.removeprefix("probe_") not in evaluation.probes]:
        raise UserError(f"{evaluation.folder} has no column {', '.join(missing)}: evaluate again")
    rows = right.lazy().select("instance_id").with_row_index("instance")
    wanted = evaluation.tokens.filter(pl.col(PROBES["operator"]).is_not_null())
    frame = evaluation.collect(
        wanted.select("instance_id", *(pl.col(name).cast(pl.Float64) for name in ("position", *MEASURES)), *_probes())
        .join(rows, on="instance_id")
        .sort("instance", "position")
    )
    columns = {name: frame[name].to_numpy() for name in ("position", *PROBES)}
    tokens = Tokens(instance=frame["instance"].cast(pl.Int64).to_numpy(), **columns)
    return tokens, {name: frame[name].to_numpy() for name in MEASURES if not frame[name].null_count()}


def _probes() -> list[pl.Expr]:
    return [pl.col(column).cast(pl.Float64).alias(name) for name, column in PROBES.items()]


def _largest(values: Floats) -> int | None:
    return int(values.max()) if len(values) else None


def _states(tokens: Tokens, depth: Floats, measure: str) -> list[StateDepth]:
    """Return operators by r_t, operators with r_t = 1 by s_t, and operands by r_t."""
    sizes = np.unique(tokens.completed[tokens.among("operator", 1)]).astype(int).tolist()
    operators = [("operator", remaining, None) for remaining in (0, 2, 1)]
    operands = [("operand", remaining, None) for remaining in (2, 1)]
    wanted = [*operators, *(("operator", 1, size) for size in sizes), *operands]
    return [_state(tokens, depth, measure, *state) for state in wanted]


def _state(tokens: Tokens, depth: Floats, measure: str, kind: str, remaining: int, completed: int | None) -> StateDepth:
    kept = tokens.among(kind, remaining)
    if completed is not None:
        kept = kept & (tokens.completed == completed)
    own, instance = depth[kept], tokens.instance[kept]
    mean = least_squares(own, np.ones((len(own), 1)), instance)[0] if len(own) else Estimate(None, reason=NO_TOKENS)
    return StateDepth(
        measure=measure,
        kind=kind,
        remaining=remaining,
        completed=completed,
        tokens=len(own),
        instances=len(np.unique(instance)),
        mean=mean,
        deviation=float(own.std(ddof=1)) if len(own) > 1 else None,
    )


def _contrast(name: str, tokens: Tokens, depth: Floats, measure: str, orders: list[Ints]) -> Contrast:
    kept, plain, matched = _effects(name, tokens, depth)
    weights = np.zeros((2, len(depth)))
    weights[:, kept] = plain.row, matched.row
    shuffled = np.stack([weights @ depth[order] for order in orders], axis=1) if orders else np.empty((2, 0))
    nulls = [
        Null.of(values) if one.estimate.value is not None else None
        for one, values in zip((plain, matched), shuffled, strict=True)
    ]
    return Contrast(
        measure=measure,
        name=name,
        tokens=int(kept.sum()),
        plain=plain.estimate,
        matched=matched.estimate,
        null_plain=nulls[0],
        null_matched=nulls[1],
    )


def _effects(name: str, tokens: Tokens, depth: Floats) -> tuple[Ints, Effect, Effect]:
    """Return the tokens that a contrast is over, and its two effects."""
    kept = tokens.among("operator", 1)
    if name == "right_child":
        kept = kept | tokens.among("operator", 2)
    own, instance, stack, position = depth[kept], tokens.instance[kept], tokens.stack[kept], tokens.position[kept]
    if name == "right_child":
        x, given = (tokens.remaining[kept] == 1).astype(np.float64), at_equal(np.zeros(len(own)))
        plain = effect(own, x, instance, given, fixed="r_t does not vary")
    else:
        x = tokens.completed[kept]
        plain = effect(own, x, instance, along(stack), fixed="s_t does not vary apart from d_t")
    still = "r_t" if name == "right_child" else "s_t"
    matched = effect(
        own, x, instance, at_equal(position, stack), fixed=f"{still} does not vary at equal position and d_t"
    )
    return kept, plain, matched


def _explained(
    tokens: Tokens,
    depth: Floats,
    measure: str,
    knob: Ints,
    orders: list[Ints],
    *,
    rng: np.random.Generator,
    draws: int,
) -> Explained:
    names = ("model", "position", "both", "beyond_position", "beyond_model")
    nulls: list[Null | None] = [None] * len(names)
    if not len(depth) or np.ptp(depth) == 0:
        none = Estimate(None, reason=CONSTANT if len(depth) else NO_TOKENS)
        found = [none] * len(names)
    else:
        shares = Shares(tokens, depth)
        found = bootstrap({"shares": shares}, knob, rng=rng, draws=draws)["shares"]
        nulls = [Null.of(values) for values in shares.shuffled(orders)]
    return Explained(
        measure=measure,
        tokens=len(depth),
        **dict(zip(names, found, strict=True)),
        null_model=nulls[0],
        null_beyond_position=nulls[3],
    )
