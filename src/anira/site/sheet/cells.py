"""What tables of experiments are made of: the names of runs, and estimates as columns."""

from collections.abc import Sequence
from typing import NamedTuple

from anira.measure.statistics.estimates import Estimate
from anira.measure.statistics.nulls import Null


class Who(NamedTuple):
    """Whose figures these are."""

    variant: str
    seed: int
    run_id: str


def run_labels(runs: Sequence[Who]) -> list[str]:
    """Name runs by variant, and by seed and folder where that does not tell them apart.

    >>> run_labels([Who("anira-e", 0, "a"), Who("anira-o", 0, "b"), Who("anira-o", 1, "c")])
    ['anira-e', 'anira-o, seed 0', 'anira-o, seed 1']
    """
    names = [run.variant for run in runs]
    for more in ([f", seed {run.seed}" for run in runs], [f" ({run.run_id})" for run in runs]):
        names = [f"{name}{extra}" if names.count(name) > 1 else name for name, extra in zip(names, more, strict=True)]
    return names


def labels_by_task(runs: Sequence[tuple[str, Who]]) -> list[str]:
    """Name runs by their task, and by what tells those of one task apart.

    >>> labels_by_task([("mano", Who("anira-e", 0, "a")), ("brevo", Who("anira-e", 0, "b"))])
    ['mano anira-e', 'brevo anira-e']
    """
    labels = [""] * len(runs)
    for task in dict.fromkeys(task for task, _ in runs):
        own = [i for i, (name, _) in enumerate(runs) if name == task]
        for i, label in zip(own, run_labels([runs[i][1] for i in own]), strict=True):
            labels[i] = f"{task} {label}"
    return labels


def estimate_columns(name: str, estimate: Estimate) -> dict[str, float | None]:
    """Return a value and the ends of its interval as three columns.

    >>> estimate_columns("slope", Estimate(0.3, 0.2, 0.4))
    {'slope': 0.3, 'slope_low': 0.2, 'slope_high': 0.4}
    """
    return {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}


def null_columns(name: str, null: Null | None) -> dict[str, float | None]:
    """Return the mean of a null and the ends of its interval as three columns."""
    low, mean, high = (None, None, None) if null is None else (null.low, null.mean, null.high)
    return {name: mean, f"{name}_low": low, f"{name}_high": high}


def null_text(null: Null | None, digits: int = 3) -> str:
    """Write a null, or a dash where there is none."""
    return "-" if null is None else null.text(digits)
