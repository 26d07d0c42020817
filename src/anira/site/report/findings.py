"""The sentences at the top of a report: what each experiment shows about depth and difficulty, from its figures."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from anira.measure.claims.knob import in_training, judge_claims, obstacle
from anira.measure.forced import NEEDED, need
from anira.measure.statistics.estimates import Estimate
from anira.measure.summary import Summary
from anira.records.overrides import override_words
from anira.site.report.runs import Run


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What one experiment shows."""

    experiment: str
    sentence: str
    caveats: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Findings:
    """What each experiment of a task shows, and the caveats that hold for all of them."""

    each: tuple[Finding, ...]
    caveats: tuple[str, ...]


def findings(experiments: Sequence[Sequence[Run]], *, knob: str) -> Findings:
    """Say what each experiment shows; its runs differ in nothing but the seed."""
    each = [_finding(runs, knob) for runs in experiments]
    common = [line for line in each[0].caveats if all(line in one.caveats for one in each)] if len(each) > 1 else []
    own = [replace(one, caveats=tuple(line for line in one.caveats if line not in common)) for one in each]
    return Findings(each=tuple(own), caveats=tuple(common))


def _finding(runs: Sequence[Run], knob: str) -> Finding:
    summaries = [run.summary for run in runs]
    sentence = _one(summaries[0], knob) if len(runs) == 1 else _several(summaries, knob)
    return Finding(experiment=runs[0].experiment, sentence=sentence, caveats=tuple(_caveats(summaries, knob)))


def _one(summary: Summary, knob: str) -> str:
    sentence = f"{_movement(summary.aligned().slope, knob)}; accuracy {_accuracy(summary)}."
    hindrance = obstacle(summary)
    return f"no finding, because {hindrance}: {sentence}" if hindrance else sentence


def _movement(slope: Estimate, knob: str) -> str:
    if slope.value is None:
        return f"answer depth does not move with {knob}: {slope.reason}"
    if slope.low is None or slope.high is None:
        return f"the slope of answer depth against {knob} has no interval: {slope.reason}"
    # Two decimals, unless they would show an end of the interval as zero that is not.
    digits = 2 if min(abs(slope.low), abs(slope.high)) >= 0.005 else 3
    unit = f"iterations per unit of {knob}"
    if not slope.direction:
        return f"no clear effect: mean answer depth changes by {slope.text(digits)} {unit}"
    if slope.direction > 0:
        return f"mean answer depth rises by {slope.text(digits)} {unit}"
    return f"mean answer depth falls by {Estimate(-slope.value, -slope.high, -slope.low).text(digits)} {unit}"


def _accuracy(summary: Summary) -> str:
    total = summary.accuracy[-1]
    return f"{total.exact.value:.2f} (majority answer {total.majority:.2f})"


def _several(summaries: Sequence[Summary], knob: str) -> str:
    slopes = [summary.aligned().slope for summary in summaries]
    rising, falling = (sum(slope.direction == sign for slope in slopes) for sign in (1, -1))
    against = f", and clearly falls in {falling}" if falling else ""
    each = ", ".join(slope.text() for slope in slopes)
    right = sorted(f"{summary.accuracy[-1].exact.value or 0.0:.2f}" for summary in summaries)
    return (
        f"mean answer depth clearly rises with {knob} in {rising} of {len(slopes)} seeds{against}: "
        f"{each} iterations per unit of {knob}; accuracy {' to '.join(dict.fromkeys([right[0], right[-1]]))}."
    )


def need_sentence(run: Run, knob: str) -> str:
    """Say whether a run needs depth at the hardest knob that it was trained on, by the rule of docs/statistics.md."""
    found = need(run.summary.accuracy, run.forced)
    if found is None:
        return "whether depth is needed was not evaluated"
    hardest, lost = found
    word = "needs" if lost >= NEEDED else "does not need"
    return f"this model {word} its depth: forced to 1, accuracy at {knob} = {hardest} is {100 * lost:.0f} points lower"


def _caveats(summaries: Sequence[Summary], knob: str) -> Iterator[str]:
    verdict = judge_claims(summaries)[0].verdict
    where = ", over the values of training" if in_training(summaries[0].alignment).subset == "seen" else ""
    yield f"As a claim that depth rises with {knob}{where}: {verdict.word}; {verdict.reason}."
    if any(control.kind == "answer" and not control.separable for summary in summaries for control in summary.position):
        yield f"The position of the answer determines {knob} in this task: the two cannot be told apart here."
    for summary in summaries:
        yield from (f"Seed {summary.labels.seed}: {warning}." for warning in summary.warnings)
        if summary.labels.override:
            yield f"Depths were {override_words(summary.labels.override)}, not chosen by the policy."
