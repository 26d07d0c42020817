"""What the registered rule says (docs/studies.md, study 4): how often does depth rise where it is not needed?"""

from collections.abc import Iterator
from typing import Final, Literal

import polars as pl

from anira.measure import Row
from anira.measure.statistics.estimates import Estimate, proportion
from anira.paper.found import Found, trained_need
from anira.paper.without_need.runs import POLICIES, STEPS, TWIN, is_null
from anira.site import Badge, Note
from anira.site.tables import estimate_text

SMALLEST_SLOPE: Final = 0.05
"""Iterations per unit of the knob from which a slope counts."""
LARGEST_LOSS: Final = 0.02
"""Accuracy that depth 1 may lose at most, for a setting to be one without need."""
RARE: Final = 0.2
"""Share of runs below which a rise is rare, and above which it is common."""
SETTINGS: Final = {TWIN: "words over Z6", STEPS: "word problems step by step"}
EVERY: Final = "every policy"
NULLS_NAME: Final = "nulls"

Verdict = Literal["common", "rare", "open", "no runs"]


def rises(row: Row) -> bool:
    """Say whether a run's depth rises with the knob: what a paper with one seed would show."""
    return row["value"] is not None and row["low"] is not None and row["low"] > 0 and row["value"] >= SMALLEST_SLOPE


def slopes(table: pl.DataFrame) -> pl.DataFrame:
    """Return the slope of each run that is judged, with its task and line."""
    adaptive = ~pl.col("variant").str.contains("^fixed")
    return table.filter(adaptive, quantity="slope", subset="all", split="seen")


def rising_rows(table: pl.DataFrame) -> Iterator[Row]:
    """Yield the share of runs that rise: by setting and line, over each setting, and over all settings."""
    rows = slopes(table).to_dicts()
    judged = [row for row in rows if not is_null(row["variant"])]
    nulls = [row for row in rows if is_null(row["variant"])]
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["task"], row["variant"]), []).append(row)
    for task in dict.fromkeys(row["task"] for row in judged):
        groups[task, EVERY] = [row for row in judged if row["task"] == task]
    groups[EVERY, EVERY], groups[EVERY, NULLS_NAME] = judged, nulls
    for (task, variant), own in groups.items():
        if own:
            yield {**own[0], "run_id": None, "seed": None, "task": task, "variant": variant, **_share(own)}


def _share(rows: list[Row]) -> Row:
    found: Estimate = proportion(sum(map(rises, rows)), len(rows))
    ends = {"value": found.value, "low": found.low, "high": found.high, "null_low": None, "null_high": None}
    return {**ends, "quantity": "rising", "unit": "share of runs", "n": len(rows), "reason": ""}


def needless(found: Found, task: str) -> bool | None:
    """Say whether depth is not needed in a setting; None where nobody knows."""
    loss, _ = trained_need(found.part(task=task))
    return None if loss is None else loss < LARGEST_LOSS


def verdict(found: Found) -> Verdict:
    """Return how common a rise is over all settings."""
    share = found.row("rising", task=EVERY, variant=EVERY)
    if share["value"] is None:
        return "no runs"
    return "common" if share["low"] > RARE else "rare" if share["high"] < RARE else "open"


def invalid(found: Found) -> list[str]:
    """Return the settings that cannot be judged, because depth is needed there or nobody knows."""
    return [words for task, words in SETTINGS.items() if task in found.runs["task"] and not needless(found, task)]


def badge(found: Found) -> Badge:
    """Say how common a rise without need is."""
    word = verdict(found)
    if invalid(found) or word == "no runs":
        return Badge("no verdict", "open")
    return Badge(f"rising without need is {word}", "no" if word == "common" else "yes" if word == "rare" else "open")


def answer(found: Found) -> list[str]:
    """Return the sentences that the page begins with."""
    if verdict(found) == "no runs":
        return ["There are no finished runs."]
    said = [f"Depth rises with difficulty in {_counted(found, EVERY, EVERY)} although depth 1 would do."]
    nulls = _counted(found, EVERY, NULLS_NAME)
    said += [f"Among nulls, which cannot know what a token needs, it rises in {nulls}."] if nulls else []
    wrong = invalid(found)
    return [*said, *([f"No verdict: need is unknown, or depth is needed, in {' and '.join(wrong)}."] if wrong else [])]


def verdicts(found: Found) -> list[Note]:
    """Return what was found in each setting."""
    return [
        Note(words, f"Depth rises in {_counted(found, task, EVERY)}. {_need(found, task)}")
        for task, words in SETTINGS.items()
        if task in POLICIES and task in found.runs["task"]
    ]


def _need(found: Found, task: str) -> str:
    said = trained_need(found.part(task=task))[1]
    return f"At the hardest knob {said}." if said else "Need is unknown."


def _counted(found: Found, task: str, variant: str) -> str:
    share = found.row("rising", task=task, variant=variant)
    if share["value"] is None:
        return ""
    return f"{round(share['value'] * share['n'])} of {share['n']} runs ({estimate_text(share)})"
