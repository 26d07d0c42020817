"""Claims about depth and the knob, judged over all seeds of the same experiment."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from anira.config import json_text
from anira.measure.allocation import Alignment
from anira.measure.claims.verdict import Evidence, Verdict, judge, why_silent
from anira.measure.records.folders import learned
from anira.measure.statistics.estimates import Estimate
from anira.measure.statistics.nulls import Null, nulls_cover_zero
from anira.measure.summary import Labels, Summary
from anira.records.overrides import override_words

T = TypeVar("T")

CLAIMS: Final = {
    "slope": "answer depth rises with the knob (slope)",
    "spearman": "answer depth rises with the knob (Spearman)",
}
"""Statistic -> the claim that it is positive."""
BROKEN_NULL: Final = "a null does not cover zero"


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One claim about one experiment, what each seed says, and the verdict."""

    text: str
    experiment: str
    """Task, variant, and how depth was chosen."""
    runs: tuple[str, ...]
    seeds: tuple[int, ...]
    estimates: tuple[Estimate, ...]
    """One a run, in their order."""
    verdict: Verdict


def judge_claims(summaries: Sequence[Summary]) -> list[Claim]:
    """Return the verdicts on every claim for each experiment among the summaries."""
    return [_claim(statistic, group) for group in by_experiment(summaries) for statistic in CLAIMS]


def by_experiment(summaries: Sequence[Summary]) -> list[list[Summary]]:
    """Return evaluations of the same experiment together, in the order of their seeds.

    Evaluations belong to the same experiment if nothing but the seed sets them apart: task, variant, step, selection,
    knobs and, where known, all settings of the run that change what is learned.
    """
    return by_identity(summaries, lambda one: [one.labels], lambda one: [row.knob for row in one.accuracy])


def by_identity(
    items: Sequence[T], labels: Callable[[T], Sequence[Labels]], beside: Callable[[T], object] = lambda _: None
) -> list[list[T]]:
    """Return what differs in nothing but the seed together, in the order of seeds.

    `labels` are those of the one run, or of both runs, that an item is about; `beside` is what must agree, too.
    """
    groups: dict[str, list[T]] = {}
    for item in sorted(items, key=lambda one: labels(one)[0].seed):
        groups.setdefault(f"{[identity(one) for one in labels(item)]} {beside(item)}", []).append(item)
    return list(groups.values())


def identity(labels: Labels) -> str:
    """Return what sets an evaluation apart from all that are not another seed of the same experiment."""
    config = learned(labels.config)
    return json_text([experiment(labels), labels.step, labels.max_depth, config], sort_keys=True)


def experiment(labels: Labels) -> str:
    """Name what was evaluated in a few words, as in `mano anira-o, select mode`."""
    words = [
        f"{labels.task} {labels.subtask} {labels.variant}" if labels.subtask else f"{labels.task} {labels.variant}"
    ]
    if labels.select:
        words.append(f"select {labels.select}")
    if labels.threshold is not None:
        words.append(f"threshold {labels.threshold:g}")
    if labels.decode != "parallel":
        words.append(labels.decode)
    if labels.override:
        words.append(f"depths {override_words(labels.override)}")
    return ", ".join(words)


def make_claim(text: str, experiment: str, evidence: Sequence[tuple[str, Evidence]], *, smallest: float = 0.0) -> Claim:
    """Return the claim that an effect is at least `smallest`; `evidence` has each run and what it says."""
    found = [one for _, one in evidence]
    return Claim(
        text=text,
        experiment=experiment,
        runs=tuple(run for run, _ in evidence),
        seeds=tuple(one.seed for one in found),
        estimates=tuple(one.estimate for one in found),
        verdict=judge(found, smallest=smallest),
    )


def _claim(statistic: str, group: Sequence[Summary]) -> Claim:
    evidence = [
        (one.labels.run_id, Evidence(one.labels.seed, getattr(in_training(one.alignment), statistic), obstacle(one)))
        for one in group
    ]
    return make_claim(CLAIMS[statistic], experiment(group[0].labels), evidence)


def in_training(rows: Sequence[Alignment]) -> Alignment:
    """Return how exit depth moves with the knob at the knobs of training: where a run has the right to speak.

    Beyond them accuracy may be gone, and depth then says nothing about the task. An evaluation that has no other knobs,
    or none of training, has no subset `seen`: all its instances count.
    """
    found = {row.subset: row for row in rows if row.measure == "exit_depth"}
    return found.get("seen", found["all"])


def obstacle(summary: Summary) -> str:
    """Return why an evaluation cannot speak about alignment, or an empty string."""
    why = why_silent(summary.seen, override=summary.labels.override)
    return why or ("" if summary.nulls_cover_zero else BROKEN_NULL)


def null_obstacle(nulls: Iterable[Null | None]) -> str:
    """Return why no figure can be believed that rests on these nulls, or an empty string."""
    return "" if nulls_cover_zero(list(nulls)) else BROKEN_NULL
