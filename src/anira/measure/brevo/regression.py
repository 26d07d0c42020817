"""The paper's regression of BREVO: which features of a node explain the depth that was spent on it.

Four stages, over tokens of right answers. One, features that say the same are dropped (screening.py). Two, each of the
others is left out in turn: what R2 loses is its Delta R2. Three, those above 0.5% make the final model. Four, the
final model is fitted with a constant for every graph size N instead of a line: what a feature keeps of its Delta R2
is no matter of size. Beside the stages stands one fixed model for all runs, the paper's four features, so that runs
can be compared.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

import numpy as np

from anira.measure.brevo.screening import inflation, screen
from anira.measure.brevo.shares import ARGMAX, EXPECTED, group_estimates, moments_of, sizes_of
from anira.measure.brevo.tokens import FEATURES, READ, SIZE, STATE, STRUCTURE, AnswerTokens
from anira.measure.statistics.bootstrap import DRAWS, bootstrap
from anira.measure.statistics.estimates import Estimate, Floats, Ints
from anira.measure.statistics.explained import Explained, Moments, Shares
from anira.measure.statistics.linear_fit import LinearFit, explained_by_means, shuffled_coefficients
from anira.measure.statistics.nulls import Null
from anira.measure.tidy import Row, make_row

SHOWN: Final = ("out_degree_dep", "dfs_depth", "frontier_ready", "newly_enabled")
"""The features of the paper's main table, in its order."""
STACKED: Final = tuple("frontier_stack" if name == "frontier_ready" else name for name in SHOWN)
"""The same with the other reading of its frontier: nodes that were met, not nodes that are ready."""
OTHER_READING: Final = ", frontier as met"
"""What the subset of a coefficient ends with in the second reading."""
SMALLEST_DELTA: Final = 0.005
_PROBES: Final = (*STRUCTURE, *STATE)
_ALWAYS: Final = (
    *(("node_effect", name) for name in SHOWN),
    ("node_r2", "categorical"),
    ("state_share", "within"),
)
"""What a run without a fit has rows for, too: they say why there is none."""

Found = tuple[str, str, Estimate, Null | None]
"""Quantity, subset, estimate and null of a row."""
Value = Callable[[Explained], Floats]


def regression_rows(tokens: AnswerTokens, *, seed: int = 0, draws: int = DRAWS) -> Iterator[Row]:
    """Yield all estimates of one run; `seed` is that of resampling and shuffling, `n` counts tokens."""
    for name, subset, estimate, null in _found(tokens, seed, draws):
        n = len(tokens.instance)
        yield make_row(tokens.labels, name, estimate, n=n, split=tokens.split, subset=subset, null=null)


def _found(tokens: AnswerTokens, seed: int, draws: int) -> Iterator[Found]:
    if tokens.undefined:
        nothing = Estimate(None, reason=tokens.undefined)
        yield from ((name, subset, nothing, None) for name, subset in _ALWAYS)
        return
    # A stream for each part: an estimate does not depend on which others are made.
    rng, null_rng, group_rng, stack_rng = np.random.default_rng(seed).spawn(4)
    moments = moments_of(tokens)
    yield from _coefficients(tokens, SHOWN, "", null_rng)
    yield from _coefficients(tokens, STACKED, OTHER_READING, stack_rng)
    yield from _stages(tokens, moments, rng=rng, draws=draws)
    yield from group_estimates(tokens, moments, rng=group_rng, draws=draws)
    yield from _control(tokens)


def _coefficients(tokens: AnswerTokens, names: Sequence[str], ending: str, rng: np.random.Generator) -> Iterator[Found]:
    """Yield the fixed model with a constant for every size; for every size and place; for every instance.

    The null within instances must hold zero. The one given size shows what differences between instances give.
    """
    features, depth, instance = _features(tokens, names), tokens.expected_depth, tokens.instance
    sized, placed, within = (
        LinearFit(features, depth, instance, groups=groups) for groups in (tokens.size, _cells(tokens), instance)
    )
    null, null_within = shuffled_coefficients([sized, within], depth, instance, rng=rng)
    for name in names:
        subset = name + ending
        yield "node_effect", subset, sized.coefficients[name], null.get(name)
        yield "node_effect_placed", subset, placed.coefficients[name], None
        yield "node_effect_within", subset, within.coefficients[name], null_within.get(name)


def _choose(explained: Explained, features: Sequence[str]) -> tuple[Sequence[str], Sequence[str], dict[str, str]]:
    """Return what the first stage keeps, what the third leaves of it, and why the others are not in the final model."""
    kept, why_not = screen(explained, EXPECTED, features, always=(SIZE,))
    delta = {name: float(explained.added(EXPECTED, _without(kept, name), [name])[0]) for name in kept}
    final = [name for name in kept if delta[name] > SMALLEST_DELTA or name == SIZE]
    return kept, final, why_not | dict.fromkeys(set(kept) - {*final}, f"adds less than {SMALLEST_DELTA:.1%} of R2")


def _stages(tokens: AnswerTokens, moments: Moments, *, rng: np.random.Generator, draws: int) -> Iterator[Found]:
    """Yield the four stages feature by feature, then R2 of whole models."""
    explained = moments.explained()
    kept, final, why_not = _choose(explained, list(FEATURES))
    _, bare, _ = _choose(explained, [name for name in FEATURES if name not in READ])
    estimates = _resampled(
        tokens, moments, {**_ablations(kept, final), **_fits(final, bare)}, _argmax(final), rng, draws
    )
    fit = LinearFit(_features(tokens, final), tokens.expected_depth, tokens.instance).coefficients
    estimates |= {("final_effect", name): one for name, one in fit.items()}
    for name in FEATURES:
        yield "node_correlation", name, _defined(explained.correlation(name, EXPECTED), "constant"), None
        if name in kept:
            factor = inflation(explained, name, _without(kept, name))
            yield "node_vif", name, _defined(factor, "determined by the others"), None
        for what in ("node_delta", "final_effect", "final_delta", "final_delta_sized", "final_retention"):
            why = why_not.get(name, "a constant for every N says it")
            yield what, name, estimates.pop((what, name), Estimate(None, reason=why)), None
    yield from ((name, subset, estimate, None) for (name, subset), estimate in estimates.items())
    yield "read_correlation", "all", _defined(explained.correlation(*READ), "constant"), None


Values = Mapping[tuple[str, str], Value]
"""By quantity and subset."""


def _resampled(
    tokens: AnswerTokens, moments: Moments, values: Values, of_argmax: Values, rng: np.random.Generator, draws: int
) -> dict[tuple[str, str], Estimate]:
    """Return all shares of variance with their intervals; the choice of features is not repeated in the resamples."""
    statistics = {
        "": Shares(moments, list(values.values()), undefined="the features explain nothing"),
        ARGMAX: Shares(moments, list(of_argmax.values()), undefined="the most probable depth is constant"),
    }
    found = bootstrap(statistics, sizes_of(tokens), rng=rng, draws=draws)
    return dict(zip([*values, *of_argmax], [*found[""], *found[ARGMAX]], strict=True))


def _ablations(kept: Sequence[str], final: Sequence[str]) -> dict[tuple[str, str], Value]:
    """Return Delta R2 in the model of the first stage, in both final models, and the ratio of the last two."""
    values: dict[tuple[str, str], Value] = {}
    for name in kept:
        values["node_delta", name] = partial(_delta, kept, name, by_group=False)
    for name in final:
        values["final_delta", name] = partial(_delta, final, name, by_group=False)
        if name != SIZE:
            values["final_delta_sized", name] = partial(_delta, final, name, by_group=True)
            values["final_retention", name] = partial(_retention, final, name)
    return values


def _delta(names: Sequence[str], name: str, explained: Explained, *, by_group: bool) -> Floats:
    return explained.added(EXPECTED, _without(names, name), [name], by_group=by_group)


def _retention(names: Sequence[str], name: str, explained: Explained) -> Floats:
    linear, categorical = (_delta(names, name, explained, by_group=by_group) for by_group in (False, True))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(linear > 0, categorical / linear, np.nan)


def _fits(final: Sequence[str], without: Sequence[str]) -> dict[tuple[str, str], Value]:
    """Return R2 of whole models; `without` was chosen without READ, which is the target itself at earlier tokens."""
    return {
        ("node_r2", "linear"): lambda one: one.r2(EXPECTED, final),
        ("node_r2", "categorical"): lambda one: one.r2(EXPECTED, final, by_group=True),
        ("node_r2", "linear_without_read"): lambda one: one.r2(EXPECTED, without),
        ("node_r2", "categorical_without_read"): lambda one: one.r2(EXPECTED, without, by_group=True),
        ("node_r2", "probes"): lambda one: one.r2(EXPECTED, _PROBES, by_group=True),
        ("node_r2_gain", "read"): lambda one: one.added(EXPECTED, _PROBES, READ, by_group=True),
        ("node_r2_gain", "improvement"): lambda one: one.r2(EXPECTED, final, by_group=True) - one.r2(EXPECTED, final),
    }


def _argmax(final: Sequence[str]) -> dict[tuple[str, str], Value]:
    """Return R2 for the most probable depth, and what expected depth has more; N is a category."""
    return {
        ("node_r2", "argmax"): lambda one: one.r2(ARGMAX, final, by_group=True),
        ("node_r2_gain", "expected_gain"): lambda one: (
            one.r2(EXPECTED, final, by_group=True) - one.r2(ARGMAX, final, by_group=True)
        ),
    }


def _control(tokens: AnswerTokens) -> Iterator[Found]:
    """Yield R2 of means (by place in the answer, by N, by both), and of features without and with both held fixed."""
    depth, cells = tokens.expected_depth, _cells(tokens)
    for name, groups in {"by_position": tokens.position, "by_size": tokens.size, "by_both": cells}.items():
        yield "node_r2", name, Estimate(explained_by_means(depth, groups)), None
    models = {
        "model": (SHOWN, tokens.size),
        "model_and_position": (SHOWN, cells),
        "probes_and_position": (_PROBES, cells),
    }
    for name, (features, groups) in models.items():
        fit = LinearFit(_features(tokens, features), depth, tokens.instance, groups=groups)
        yield "node_r2", name, Estimate(fit.r2), None


def _cells(tokens: AnswerTokens) -> Ints:
    """Number the pairs of graph size and place in the answer."""
    return tokens.size * (int(tokens.position.max()) + 1) + tokens.position


def _features(tokens: AnswerTokens, names: Sequence[str]) -> dict[str, Floats]:
    return {name: tokens.features[name] for name in names}


def _without(names: Sequence[str], name: str) -> list[str]:
    return [other for other in names if other != name]


def _defined(value: float, reason: str) -> Estimate:
    return Estimate(value) if math.isfinite(value) else Estimate(None, reason=reason)
