"""Names of runs on a page about several tasks."""

from collections.abc import Sequence

from anira.report.experiments.cells import Who, run_labels


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
