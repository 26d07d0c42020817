"""The paper's regression of BREVO: which features of a node explain the depth that was spent on it.

Four stages, over tokens of right answers. One, features that say the same are dropped (screening.py). Two, each of the
others is left out in turn: what R2 loses is its Delta R2. Three, those above 0.5% make the final model. Four, the
final model is fitted with a constant for every graph size N instead of a line: what a feature keeps of its Delta R2
is no matter of size. Beside the stages stands one fixed model for all runs, the paper's four features, so that runs
can be compared.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, NamedTuple

import numpy as np

from anira.measure.accuracy import Accuracy
from anira.measure.brevo.explained import Explained, Moments, Shares
from anira.measure.brevo.screening import Screening, inflation, screen
from anira.measure.brevo.shares import (
    ARGMAX,
    EXPECTED,
    POSITION,
    added_by_groups,
    moments_of,
    shuffled_groups,
    sizes_of,
)
from anira.measure.brevo.tokens import FEATURES, READ, SIZE, STATE, STRUCTURE, AnswerTokens
from anira.measure.claims.knob import null_obstacle
from anira.measure.claims.verdict import why_silent
from anira.measure.statistics.bootstrap import DRAWS, bootstrap
from anira.measure.statistics.estimates import Estimate, Floats, Ints
from anira.measure.statistics.linear_fit import (
    INTERCEPT,
    Coefficient,
    LinearFit,
    explained_by_means,
    holm,
    shuffled_coefficients,
)
from anira.measure.statistics.nulls import Null
from anira.measure.summary import Labels

SHOWN: Final = ("out_degree_dep", "dfs_depth", "frontier_ready", "newly_enabled")
"""The features of the paper's main table, in its order."""
SMALLEST_DELTA: Final = 0.005


@dataclass(frozen=True, kw_only=True)
class MainRow:
    """One feature of the fixed model: the paper's four features, and a constant for every graph size."""

    feature: str
    coefficient: Estimate
    """Iterations for one more of the feature."""
    p_value: float | None
    """Of no effect, after Holm's correction for the features of this model."""
    given_position: Estimate
    """The same with a constant for every graph size and number of the node in its answer."""
    within: Estimate
    """The same with a constant for every instance: differences between its tokens only."""
    null: Null | None
    """The coefficient with depth shuffled within instances: what differences between instances give. May be off 0."""
    null_within: Null | None
    """The one within instances, shuffled: must cover zero."""


@dataclass(frozen=True, kw_only=True)
class Stage:
    """What became of one feature in the four stages; what it did not reach is None."""

    feature: str
    group: str
    """size, structure, state or read."""
    correlation: float | None
    """Pearson with expected depth; None for a constant feature."""
    dropped: str
    """Why it went in the first stage, or an empty string."""
    vif: float | None
    """Among the features that are left after the first stage."""
    delta: Estimate | None
    """What R2 loses without it, all features of the first stage in the model."""
    coefficient: Estimate | None
    """In the final model, N as a number."""
    delta_linear: Estimate | None
    delta_categorical: Estimate | None
    """What R2 of the final model loses without it, N as a number and as a category."""
    retention: Estimate | None
    """The second through the first."""


@dataclass(frozen=True, kw_only=True)
class Fits:
    """R2 of whole models; each an estimate."""

    linear: Estimate
    """The final model, N as a number."""
    categorical: Estimate
    """The final model, N as a category."""
    improvement: Estimate
    argmax: Estimate
    """The final model, N as a category, for the most probable depth instead of the expected one."""
    expected_gain: Estimate
    """What expected depth has more of R2 than the most probable depth has."""
    read: Estimate
    """What the depths of predecessors add to N (a category) and all other features."""


@dataclass(frozen=True, kw_only=True)
class GroupShares:
    """Structure against state: what each group of features adds to the other (shares.py)."""

    structure: Estimate
    """Of the variance within instances."""
    state: Estimate
    share: Estimate
    """state / (state + structure)"""
    share_given_position: Estimate
    """The same with the place of a node in its answer held fixed."""
    share_moved: Estimate
    """The same with `remaining`, which the paper calls structural, among the features of the state."""
    share_pooled: Estimate
    """The same over all tokens, with a constant for every graph size: differences between instances come in."""
    null_structure: Null | None
    null_state: Null | None
    """What the two add with depth shuffled within instances: noise."""


@dataclass(frozen=True, kw_only=True)
class PositionShares:
    """R2 of means: of the number of a node in its answer, of N, of both; and of the fixed model without and with it."""

    by_position: float
    by_size: float
    by_both: float
    model: float
    model_and_position: float


@dataclass(frozen=True, kw_only=True)
class RegressionFigures:
    """What the records of one run say; where `undefined` has a reason, there is nothing else."""

    labels: Labels
    accuracy: Accuracy
    instances: int
    tokens: int
    undefined: str
    main: tuple[MainRow, ...] = ()
    stages: tuple[Stage, ...] = ()
    intercept: Estimate | None = None
    fits: Fits | None = None
    groups: GroupShares | None = None
    position: PositionShares | None = None
    read_correlation: float | None = None
    """Pearson of the mean and the largest depth of predecessors."""
    warnings: tuple[str, ...]

    @property
    def final(self) -> list[Stage]:
        """The features of the final model."""
        return [row for row in self.stages if row.coefficient is not None]

    @property
    def obstacle(self) -> str:
        """Why the run cannot speak about alignment, or an empty string."""
        why = why_silent(self.accuracy, override=self.labels.override)
        return why or null_obstacle(row.null_within for row in self.main)


def brevo_regression(tokens: AnswerTokens, *, seed: int = 0, draws: int = DRAWS) -> RegressionFigures:
    """Compute all figures of one run; `seed` is that of resampling and shuffling."""
    rng, null_rng, group_rng = np.random.default_rng(seed).spawn(3)
    nothing = RegressionFigures(
        labels=tokens.labels,
        accuracy=tokens.accuracy,
        instances=tokens.instances,
        tokens=len(tokens.instance),
        undefined=tokens.undefined,
        warnings=tokens.warnings,
    )
    if tokens.undefined:
        return nothing
    moments = moments_of(tokens)
    model = _choose(moments.explained())
    estimates = _resampled(tokens, moments, model, rng=rng, draws=draws)
    coefficients = LinearFit(_features(tokens, model.final), tokens.expected_depth, tokens.instance).coefficients
    return replace(
        nothing,
        main=_main(tokens, null_rng),
        stages=tuple(_stage(name, moments.explained(), model, estimates, coefficients) for name in FEATURES),
        intercept=coefficients[INTERCEPT].estimate,
        fits=Fits(**{name: estimates[name] for name in Fits.__dataclass_fields__}),
        groups=_groups(tokens, moments, rng=group_rng, draws=draws),
        position=_position(tokens),
        read_correlation=_defined(moments.explained().correlation(*READ)),
    )


class _Model(NamedTuple):
    """The outcome of the first three stages."""

    screening: Screening
    final: tuple[str, ...]


def _choose(explained: Explained) -> _Model:
    screening = screen(explained, EXPECTED, list(FEATURES), always=(SIZE,))
    kept = screening.kept
    delta = {name: float(explained.added(EXPECTED, _without(kept, name), [name])[0]) for name in kept}
    return _Model(screening, tuple(name for name in kept if delta[name] > SMALLEST_DELTA or name == SIZE))


def _resampled(
    tokens: AnswerTokens, moments: Moments, model: _Model, *, rng: np.random.Generator, draws: int
) -> dict[str, Estimate]:
    """Return all shares of variance with their intervals; the choice of features is not repeated in the resamples."""
    figures = {**_ablations(model), **_fits(model)}
    of_argmax = _argmax(model)
    statistics = {
        "": Shares(moments, list(figures.values()), undefined="the features explain nothing"),
        ARGMAX: Shares(moments, list(of_argmax.values()), undefined="the most probable depth is constant"),
    }
    found = bootstrap(statistics, sizes_of(tokens), rng=rng, draws=draws)
    return dict(zip([*figures, *of_argmax], [*found[""], *found[ARGMAX]], strict=True))


Figure = Callable[[Explained], Floats]


def _ablations(model: _Model) -> dict[str, Figure]:
    """Return Delta R2 in the model of the first stage, in both final models, and the ratio of the last two."""
    figures: dict[str, Figure] = {}
    for name in model.screening.kept:
        figures[f"delta {name}"] = partial(_delta, model.screening.kept, name, by_group=False)
    for name in model.final:
        figures[f"delta_linear {name}"] = partial(_delta, model.final, name, by_group=False)
        figures[f"delta_categorical {name}"] = partial(_delta, model.final, name, by_group=True)
        figures[f"retention {name}"] = partial(_retention, model.final, name)
    return figures


def _delta(names: Sequence[str], name: str, explained: Explained, *, by_group: bool) -> Floats:
    return explained.added(EXPECTED, _without(names, name), [name], by_group=by_group)


def _retention(names: Sequence[str], name: str, explained: Explained) -> Floats:
    linear, categorical = (_delta(names, name, explained, by_group=by_group) for by_group in (False, True))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(linear > 0, categorical / linear, np.nan)


def _groups(tokens: AnswerTokens, moments: Moments, *, rng: np.random.Generator, draws: int) -> GroupShares:
    moved = {"state": (*STATE, "remaining"), "structure": _without(STRUCTURE, "remaining")}
    figures: dict[str, Figure] = {
        "structure": lambda explained: added_by_groups(explained).structure,
        "state": lambda explained: added_by_groups(explained).state,
        "share": lambda explained: added_by_groups(explained).share,
        "share_given_position": lambda explained: added_by_groups(explained, given=POSITION).share,
        "share_moved": lambda explained: added_by_groups(explained, **moved).share,
    }
    inside = moments_of(tokens, within=True)
    statistics = {
        "within": Shares(inside, list(figures.values()), undefined="within instances the features explain nothing"),
        "pooled": Shares(moments, [figures["share"]], undefined="the features explain nothing"),
    }
    found = bootstrap(statistics, sizes_of(tokens), rng=rng, draws=draws)
    shuffled = shuffled_groups(tokens, rng=rng)
    return GroupShares(
        **dict(zip(figures, found["within"], strict=True)),
        share_pooled=found["pooled"][0],
        null_structure=Null.of(shuffled.structure),
        null_state=Null.of(shuffled.state),
    )


def _fits(model: _Model) -> dict[str, Figure]:
    others = [*STRUCTURE, *STATE]
    return {
        "read": lambda explained: explained.added(EXPECTED, others, READ, by_group=True),
        "linear": lambda explained: explained.r2(EXPECTED, model.final),
        "categorical": lambda explained: explained.r2(EXPECTED, model.final, by_group=True),
        "improvement": lambda explained: (
            explained.r2(EXPECTED, model.final, by_group=True) - explained.r2(EXPECTED, model.final)
        ),
    }


def _argmax(model: _Model) -> dict[str, Figure]:
    return {
        "argmax": lambda explained: explained.r2(ARGMAX, model.final, by_group=True),
        "expected_gain": lambda explained: (
            explained.r2(EXPECTED, model.final, by_group=True) - explained.r2(ARGMAX, model.final, by_group=True)
        ),
    }


def _stage(
    name: str,
    explained: Explained,
    model: _Model,
    estimates: Mapping[str, Estimate],
    coefficients: Mapping[str, Coefficient],
) -> Stage:
    kept, in_final = model.screening.kept, name in model.final
    return Stage(
        feature=name,
        group=_group(name),
        correlation=_defined(explained.correlation(name, EXPECTED)),
        dropped=model.screening.dropped.get(name, ""),
        vif=inflation(explained, name, _without(kept, name)) if name in kept else None,
        delta=estimates.get(f"delta {name}"),
        coefficient=coefficients[name].estimate if in_final else None,
        delta_linear=estimates.get(f"delta_linear {name}"),
        # A constant for every N says all that N says.
        delta_categorical=None if name == SIZE else estimates.get(f"delta_categorical {name}"),
        retention=None if name == SIZE else estimates.get(f"retention {name}"),
    )


def _main(tokens: AnswerTokens, rng: np.random.Generator) -> tuple[MainRow, ...]:
    features, depth, instance = _features(tokens, SHOWN), tokens.expected_depth, tokens.instance
    sized, placed, within = (
        LinearFit(features, depth, instance, groups=groups) for groups in (tokens.size, _cells(tokens), instance)
    )
    null, null_within = shuffled_coefficients([sized, within], depth, instance, rng=rng)
    found, given_position, inside = sized.coefficients, placed.coefficients, within.coefficients
    corrected = holm(found)
    return tuple(
        MainRow(
            feature=name,
            coefficient=found[name].estimate,
            p_value=corrected.get(name),
            given_position=given_position[name].estimate,
            within=inside[name].estimate,
            null=null.get(name),
            null_within=null_within.get(name),
        )
        for name in SHOWN
    )


def _position(tokens: AnswerTokens) -> PositionShares:
    features, depth, cells = _features(tokens, SHOWN), tokens.expected_depth, _cells(tokens)
    return PositionShares(
        by_position=explained_by_means(depth, tokens.position),
        by_size=explained_by_means(depth, tokens.size),
        by_both=explained_by_means(depth, cells),
        model=LinearFit(features, depth, tokens.instance, groups=tokens.size).r2,
        model_and_position=LinearFit(features, depth, tokens.instance, groups=cells).r2,
    )


def _cells(tokens: AnswerTokens) -> Ints:
    """Number the pairs of graph size and place in the answer."""
    return tokens.size * (int(tokens.position.max()) + 1) + tokens.position


def _features(tokens: AnswerTokens, names: Sequence[str]) -> dict[str, Floats]:
    return {name: tokens.features[name] for name in names}


def _group(name: str) -> str:
    groups = {"size": (SIZE,), "structure": STRUCTURE, "state": STATE, "read": READ}
    return next(group for group, members in groups.items() if name in members)


def _without(names: Sequence[str], name: str) -> list[str]:
    return [other for other in names if other != name]


def _defined(value: float) -> float | None:
    return None if math.isnan(value) else value
