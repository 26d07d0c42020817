"""Whether depth at MANO's question tokens follows the state of the parse, in questions that were answered right.

The parser's state before a token is known from the tokens before it: r_t, operands that the innermost open operator
still needs; s_t, operators in the subtree that the last token completed; d_t, open operators. A token is compared with
the depth at its own position:

    token    +   +   5   3   -   12  17
    r_t      0   2   2   1   1   2   1
    s_t      0   0   0   0   1   0   0
    d_t      0   1   2   2   1   2   2
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

import numpy as np
import polars as pl

from anira.config import UserError
from anira.measure.effects import CONSTANT, NO_TOKENS, Effect, along, at_equal, effect, least_squares
from anira.measure.mano.piecewise import BRANCHES, Tokens, fit_branch, parse_shares
from anira.measure.records.reading import Records
from anira.measure.splits import widest
from anira.measure.statistics.bootstrap import DRAWS, bootstrap
from anira.measure.statistics.estimates import Estimate, Floats, Ints
from anira.measure.statistics.nulls import Null, orders_within
from anira.measure.tidy import Row, make_row

MEASURES: Final = {"exit_depth": "", "expected_depth": "expected_"}
"""Depth of a token -> how the names of its quantities begin."""
PROBES: Final = {
    "operator": "probe_is_operator",
    "remaining": "probe_remaining_operands",
    "completed": "probe_completed_size",
    "stack": "probe_stack_depth",
}
CONTRASTS: Final = ("right_child", "completed_slope")
FORMS: Final = ("plain", "matched")
"""As in the paper; and among tokens at the same position with the same d_t, where counting positions gives zero."""
SHARES: Final = ("model", "position", "both", "beyond_position", "beyond_model")


Found = tuple[str, str, Estimate, int, Null | None]
"""Quantity, subset, estimate, number of tokens and null of a row."""


def parse_state_rows(one: Records, *, seed: int = 0, draws: int = DRAWS) -> Iterator[Row]:
    """Yield depth by state, the piecewise model, two contrasts and what is explained; `n` counts tokens.

    `seed` is that of resampling and shuffling. Nulls have depth shuffled within instances: what differences between
    instances alone give, which may be off zero.
    """
    if one.labels.task != "mano":
        raise UserError(f"{one.evaluation.folder} is an evaluation of task {one.labels.task!r}, not of mano")
    right = one.instances.filter("correct")
    tokens, depths = _question_tokens(one, right)
    rng, null_rng = np.random.default_rng(seed).spawn(2)
    shuffled = orders_within(tokens.instance, rng=null_rng) if len(right) else ()
    orders: list[Ints] = [order.astype(np.int32) for order in shuffled]
    split = widest(one.instances)
    for measure, depth in depths.items():
        found = chain(
            _states(tokens, depth),
            _model(tokens, depth),
            *(_contrast(name, tokens, depth, orders) for name in CONTRASTS),
            _explained(tokens, depth, right["knob"].to_numpy(), orders, rng=rng, draws=draws),
        )
        for name, subset, estimate, n, null in found:
            full = MEASURES[measure] + name
            yield make_row(one.labels, full, estimate, n=n, split=split, subset=subset, null=null)


def _question_tokens(one: Records, instances: pl.DataFrame) -> tuple[Tokens, dict[str, Floats]]:
    """Return the question tokens of the given instances, and their depth by measure."""
    require_probes(one)
    rows = instances.lazy().select("instance_id").with_row_index("instance")
    probes = [pl.col(column).cast(pl.Float64).alias(name) for name, column in PROBES.items()]
    wanted = one.evaluation.tokens.filter(pl.col(PROBES["operator"]).is_not_null())
    frame = one.evaluation.collect(
        wanted.select("instance_id", *(pl.col(name).cast(pl.Float64) for name in ("position", *MEASURES)), *probes)
        .join(rows, on="instance_id")
        .sort("instance", "position")
    )
    columns = {name: frame[name].to_numpy() for name in ("position", *PROBES)}
    tokens = Tokens(instance=frame["instance"].cast(pl.Int64).to_numpy(), **columns)
    return tokens, {name: frame[name].to_numpy() for name in MEASURES if not frame[name].null_count()}


def require_probes(one: Records) -> None:
    """Refuse records without the parser's state."""
    if missing := [name for name in PROBES.values() if name.removeprefix("probe_") not in one.evaluation.probes]:
        raise UserError(f"{one.evaluation.folder} has no column {', '.join(missing)}: evaluate again")


def _states(tokens: Tokens, depth: Floats) -> Iterator[Found]:
    """Yield operators by r_t, operators with r_t = 1 by s_t, and operands by r_t."""
    groups = {f"operator r={r}": tokens.among("operator", r) for r in (0, 2, 1)}
    right = groups["operator r=1"]
    for size in np.unique(tokens.completed[right]):
        groups[f"operator r=1 s={size:.0f}"] = right & (tokens.completed == size)
    groups |= {f"operand r={r}": tokens.among("operand", r) for r in (2, 1)}
    for subset, kept in groups.items():
        own = depth[kept]
        none = Estimate(None, reason=NO_TOKENS)
        mean = least_squares(own, np.ones((len(own), 1)), tokens.instance[kept])[0] if len(own) else none
        spread = Estimate(float(own.std(ddof=1))) if len(own) > 1 else Estimate(None, reason="fewer than two tokens")
        yield "state_depth", subset, mean, len(own), None
        yield "state_deviation", subset, spread, len(own), None


def _model(tokens: Tokens, depth: Floats) -> Iterator[Found]:
    for branch in BRANCHES:
        n = int(tokens.among(branch.kind, branch.remaining).sum())
        for term, estimate in fit_branch(branch, tokens, depth).items():
            yield "parse_term", f"{branch.kind} r={branch.remaining} {term}", estimate, n, None


def _contrast(name: str, tokens: Tokens, depth: Floats, orders: Sequence[Ints]) -> Iterator[Found]:
    kept, effects = _effects(name, tokens, depth)
    weights = np.zeros((len(effects), len(depth)))
    weights[:, kept] = [row for _, row in effects]
    shuffled = np.stack([weights @ depth[order] for order in orders], axis=1) if orders else np.empty((len(effects), 0))
    for form, (estimate, _), values in zip(FORMS, effects, shuffled, strict=True):
        null = Null.of(values) if estimate.value is not None else None
        yield name, form, estimate, int(kept.sum()), null


def _effects(name: str, tokens: Tokens, depth: Floats) -> tuple[Ints, tuple[Effect, Effect]]:
    """Return the tokens that a contrast is over, and its effect in both forms."""
    kept = tokens.among("operator", 1)
    if name == "right_child":
        kept = kept | tokens.among("operator", 2)
    own, instance, stack, position = depth[kept], tokens.instance[kept], tokens.stack[kept], tokens.position[kept]
    if name == "right_child":
        still, x = "r_t", (tokens.remaining[kept] == 1).astype(np.float64)
        plain = effect(own, x, instance, at_equal(np.zeros(len(own))), fixed="r_t does not vary")
    else:
        still, x = "s_t", tokens.completed[kept]
        plain = effect(own, x, instance, along(stack), fixed="s_t does not vary apart from d_t")
    given, fixed = at_equal(position, stack), f"{still} does not vary at equal position and d_t"
    return kept, (plain, effect(own, x, instance, given, fixed=fixed))


def _explained(
    tokens: Tokens, depth: Floats, knob: Ints, orders: list[Ints], *, rng: np.random.Generator, draws: int
) -> Iterator[Found]:
    """Yield shares of variance with their nulls; a share is never below zero, and its null lies above it."""
    if not len(depth) or np.ptp(depth) == 0:
        none = Estimate(None, reason=CONSTANT if len(depth) else NO_TOKENS)
        yield from (("parse_r2", name, none, len(depth), None) for name in SHARES)
        return
    shares, shuffled = parse_shares(tokens, depth, orders)
    found = bootstrap({"shares": shares}, knob, rng=rng, draws=draws)["shares"]
    for name, estimate, values in zip(SHARES, found, shuffled, strict=True):
        yield "parse_r2", name, estimate, len(depth), Null.of(values)
