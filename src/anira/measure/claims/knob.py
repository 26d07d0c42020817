"""A claim about one setting, judged over its seeds."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from anira.config import json_text
from anira.measure.claims.verdict import Evidence, Verdict, judge
from anira.measure.records.folders import learned
from anira.measure.statistics.estimates import Estimate
from anira.measure.statistics.nulls import Null, nulls_cover_zero
from anira.measure.summary import Labels
from anira.records.overrides import override_words

T = TypeVar("T")

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


def null_obstacle(nulls: Iterable[Null | None]) -> str:
    """Return why no figure can be believed that rests on these nulls, or an empty string."""
    return "" if nulls_cover_zero(list(nulls)) else BROKEN_NULL
