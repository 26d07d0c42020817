"""What the figures of an evaluation show, and what they do not, in sentences made from the figures."""

from collections.abc import Iterator
from typing import Final

from anira.measure.allocation import Alignment
from anira.measure.claims.knob import Claim, obstacle
from anira.measure.statistics.estimates import Estimate
from anira.measure.summary import Summary

_MOVES: Final = {1: "rises", -1: "falls"}


def findings(summary: Summary) -> list[str]:
    """Return the sentences about one evaluation, the main finding first."""
    return [*_alignment(summary), _accuracy(summary), *_controls(summary), *_probes(summary), _cost(summary)]


def verdict_sentence(claim: Claim) -> str:
    """Return a verdict with what each run says."""
    each = [f"{run} {estimate.text(3)}" for run, estimate in zip(claim.runs, claim.estimates, strict=True)]
    return f"{claim.experiment}: {claim.text}: {claim.verdict.word}, {claim.verdict.reason}. {'; '.join(each)}."


def _alignment(summary: Summary) -> Iterator[str]:
    everything, correct = summary.aligned(), summary.aligned(subset="correct")
    yield f"{_movement(everything, 'Answer depth')}."
    if everything.slope.value is not None:
        yield f"{_movement(correct, 'Among correct answers only, it')}."
    if hindrance := obstacle(summary):
        yield f"This says nothing about alignment: {hindrance}."


def _movement(row: Alignment, subject: str) -> str:
    slope = row.slope
    if slope.value is None:
        return f"{subject} has no direction against the knob: {slope.reason}"
    if slope.low is None:
        return f"{subject} cannot be judged against the knob: a slope of {slope.value:.3f}, but {slope.reason}"
    figures = f"{slope.text(3)} iterations for one more of the knob, Spearman {row.spearman.text()}"
    if slope.direction:
        return f"{subject} {_MOVES[slope.direction]} with the knob: {figures}"
    return f"{subject} neither clearly rises nor falls with the knob, the interval reaches zero: {figures}"


def _accuracy(summary: Summary) -> str:
    total = summary.accuracy[-1]
    weak = [str(row.knob) for row in summary.accuracy if row.knob is not None and not row.above_majority]
    where = f"at knob {', '.join(weak)} it is not above that" if weak else "at every knob it is above that"
    baseline = f"always giving a knob's most common answer would score {total.majority:.3f}"
    return f"Accuracy is {total.exact.text(3)}; {baseline}; {where}."


def _controls(summary: Summary) -> Iterator[str]:
    if not summary.nulls_cover_zero:
        yield "A null does NOT cover zero: the records or the analysis are broken, believe none of the figures."
    for control in summary.position:
        if control.kind != "answer" or control.by_position is None or control.knobs == 1:
            continue
        text = f"Position alone explains {control.by_position:.0%} of the variance of answer depth"
        if control.separable:
            yield f"{text}, the knob alone {_percent(control.by_knob)}, both together {_percent(control.by_both)}."
        else:
            yield f"{text}; position determines the knob here, so that the effects of the two are not separable."
    unseen = sorted({row.knob for row in summary.accuracy if row.knob is not None and row.split != "seen"})
    if unseen:
        yield f"Not among the knobs of training: {', '.join(map(str, unseen))}; figures over all knobs include them."


def _probes(summary: Summary) -> Iterator[str]:
    rows = [row for row in summary.probes if row.measure == "exit_depth" and row.within.value is not None]
    clear = [f"{row.probe} {_signed(row.within)}" for row in rows if row.within.direction]
    if clear:
        yield f"Within instances depth follows these probes (mean Spearman): {', '.join(clear)}."
    elif rows:
        yield "Within instances depth follows none of the probes clearly."


def _cost(summary: Summary) -> str:
    total = summary.cost[-1]
    return (
        f"A token executes {total.mean_depth.text()} of {summary.labels.max_depth} iterations; FLOPs are "
        f"{_ratio(total.flops_share)} and key-value slots {_ratio(total.kv_share)} of those at full depth."
    )


def _signed(estimate: Estimate) -> str:
    return f"{estimate.value:+.2f}"


def _ratio(estimate: Estimate) -> str:
    return _percent(estimate.value)


def _percent(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.0%}"
