"""In which order sizes are learned: the step at which each value of the knob is, and whether small ones come first.

A size is learned when its accuracy is half way from the majority baseline to 1, and stays there. Single evaluations are
noisy, so the step is that of a change point: the surplus of right answers over that level is added up from evaluation
to evaluation, and the size is learned at the evaluation after the sum was lowest.

    level 0.6, 100 instances     step      500   1000   1500   2000   2500
                                 right      35     62     58     75     80
                                 surplus   -25     +2     -2    +15    +20
                                 sum       -25    -23    -25    -10    +10       learned at 1000

That is where a rising curve that is fitted to the accuracies by isotonic regression reaches the level: one lucky
evaluation does not make a size learned, and one unlucky evaluation does not undo it.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final

import numpy as np
import polars as pl
from scipy import stats

from anira.measure.statistics.bootstrap import DRAWS
from anira.measure.statistics.estimates import LEVEL, Estimate, Floats, Ints, percentile
from anira.measure.tidy import Labels, Row, make_row

FEWEST_EVALUATIONS: Final = 3
SHUFFLES: Final = 999
"""Orders that the observed one is compared with; up to six sizes, all orders that there are."""


def order_rows(
    labels: Labels,
    evaluations: pl.DataFrame,
    majority: Mapping[int, float],
    *,
    rng: np.random.Generator,
    draws: int = DRAWS,
) -> Iterator[Row]:
    """Yield when each size was learned, and whether in the order of the knob; `n` is the number of evaluations.

    `evaluations` has step, knob, instances and accuracy, `majority` is by knob. Kendall's tau-b of learned step and
    knob is 1 if every smaller size was learned before every larger one. Beside it stands the share of all orders of the
    same steps with a tau as far from zero on the same side: with three sizes never below 1 in 6, however sure the steps
    are.
    """
    known = evaluations.filter(pl.col("knob").is_in(list(majority)))
    steps, knobs = (known[name].unique().sort().to_numpy() for name in ("step", "knob"))
    row = partial(make_row, labels, n=len(steps))
    if len(steps) < FEWEST_EVALUATIONS:
        few = Estimate(None, reason=f"too few evaluations: {len(steps)}, and {FEWEST_EVALUATIONS} are needed")
        yield from (row(name, few) for name in ("kendall_order", "order_by_chance"))
        return
    accuracy, instances = (_by_step(known, name, len(knobs)) for name in ("accuracy", "instances"))
    levels = np.array([(1 + majority[knob]) / 2 for knob in knobs.tolist()])
    found = learned_at(accuracy, instances, levels)
    drawn = learned_at(_redrawn(accuracy, instances, rng, draws), instances, levels)
    for knob, level, learned in zip(knobs.tolist(), levels.tolist(), _learned(steps, found, drawn), strict=True):
        yield row("learning_level", Estimate(level), knob=knob)
        yield row("learned_step", learned, knob=knob)
    undefined = _undefined(found, len(steps))
    yield row("kendall_order", percentile(_kendall(knobs, found), _kendalls(knobs, drawn), undefined))
    yield row("order_by_chance", Estimate(_by_chance(knobs, found, rng), reason="" if np.ptp(found) else undefined))


def learned_at(accuracy: Floats, instances: Floats, levels: Floats) -> Ints:
    """Return the number of the evaluation at which each size is learned; the number of evaluations if it never is.

    `accuracy` and `instances` are (..., sizes, evaluations), `levels` is (sizes,).

    >>> accuracy = np.array([[0.35, 0.62, 0.58, 0.75, 0.80], [0.2, 0.3, 0.3, 0.3, 0.3]])
    >>> learned_at(accuracy, np.full((2, 5), 100.0), np.array([0.6, 0.6])).tolist()
    [1, 5]
    """
    surplus = np.cumsum((accuracy - levels[:, None]) * instances, axis=-1)
    before = np.concatenate([np.zeros_like(surplus[..., :1]), surplus], axis=-1)
    # Rounding must not decide between evaluations whose sums are equal.
    at: Ints = np.argmin(np.round(before, 6), axis=-1)
    return at


def _by_step(evaluations: pl.DataFrame, name: str, num_knobs: int) -> Floats:
    """Return (knobs, steps) of a column; an evaluation that lacks a knob has no instances of it."""
    wide = evaluations.sort("step").pivot("step", index="knob", values=name).sort("knob").drop("knob")
    return wide.fill_null(0).to_numpy().astype(np.float64).reshape(num_knobs, -1)


def _redrawn(accuracy: Floats, instances: Floats, rng: np.random.Generator, draws: int) -> Floats:
    """Return accuracies (draws, sizes, steps) that other instances might have had.

    Every evaluation reads the same instances, so if they happen to be easy ones, all accuracies of a size are too high
    together. One random number per size moves them together; drawn one by one they would average out, and intervals
    would be too narrow.
    """
    luck = rng.random((draws, len(accuracy), 1))
    drawn: Floats = stats.binom.ppf(luck, instances, accuracy) / np.maximum(instances, 1)
    return drawn


def _learned(steps: Ints, found: Ints, drawn: Ints) -> Iterator[Estimate]:
    """Yield the step of each size with its 95% interval, all of them evaluations; None stands for after the last."""
    named = [*map(float, steps), None]
    low = np.quantile(drawn, (1 - LEVEL) / 2, axis=0, method="lower")
    high = np.quantile(drawn, (1 + LEVEL) / 2, axis=0, method="higher")
    reasons = {0: "learned by the first evaluation, or before", len(steps): "not learned by the last evaluation"}
    for at, least, most in zip(found.tolist(), low.tolist(), high.tolist(), strict=True):
        yield Estimate(named[at], named[least], named[most], reasons.get(at, ""))


def _kendall(knobs: Ints, learned: Ints) -> float:
    """Return tau-b; sizes that were never learned share the last place. NaN where all sizes share one."""
    return float(stats.kendalltau(knobs, learned).statistic) if np.ptp(learned) else float("nan")


def _kendalls(knobs: Ints, drawn: Ints) -> Floats:
    """Return tau-b of every draw; draws that agree, most of them, are computed once."""
    orders, which = np.unique(drawn, axis=0, return_inverse=True)
    return np.array([_kendall(knobs, order) for order in orders])[which.reshape(-1)]


def _undefined(learned: Ints, num_steps: int) -> str:
    if len(learned) < 2:
        return "there is one size only"
    if (learned == num_steps).all():
        return "no size is learned"
    return "all sizes are learned at the same evaluation"


def _by_chance(knobs: Ints, learned: Ints, rng: np.random.Generator) -> float | None:
    if not np.ptp(learned):
        return None
    shuffled = stats.permutation_test(
        (learned,),
        lambda order: _kendall(knobs, order),
        permutation_type="pairings",
        vectorized=False,
        n_resamples=SHUFFLES,
        alternative="greater" if _kendall(knobs, learned) > 0 else "less",
        rng=rng,
    )
    return float(shuffled.pvalue)
