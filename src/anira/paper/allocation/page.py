"""The page: whether depth follows the knob where it is needed, task by task, and ANIRA-E beside ANIRA-O."""

from anira.paper.found import Found
from anira.site import Page
from anira.site.by_knob import KnobTask, knob_section
from anira.site.charts import Legend, interval_part
from anira.site.verdicts import (
    FOLLOWS,
    NAMES,
    claim_note,
    claims_badge,
    listed,
    setting_label,
    setting_name,
    verdict_lines,
)


def make_page(found: Found) -> Page:
    """Return the page."""
    follows, less = found.claims["follows-complexity"], found.claims["o-less-depth"]
    slopes = found.both.filter(quantity="slope", subset="all", split="seen").with_columns(setting_label())
    return Page(
        title="Does depth follow the difficulty of the task?",
        badge=claims_badge(follows),
        answer=answer(found),
        lead=interval_part(
            slopes,
            name="slopes",
            title="Slope: extra iterations per unit of the knob",
            axis="slope of answer depth, iterations per unit of the knob",
            order=map(setting_name, follows),
        ),
        verdicts=[claim_note(claim) for claim in (*follows, *less)],
        sections=[knob_section(task) for task in tasks(found)],
    )


def tasks(found: Found) -> list[KnobTask]:
    """Return the rows of each task."""
    parts = {task: found.part(task=task) for task in found.runs["task"].unique(maintain_order=True)}
    return [
        KnobTask(
            name=task,
            title=task.upper(),
            knob=found.words.get(task, "knob"),
            runs=part.runs,
            seeds=part.seeds,
            legend=Legend(NAMES),
        )
        for task, part in parts.items()
    ]


def answer(found: Found) -> list[str]:
    """Say where depth follows the knob, and where that cannot be judged."""
    less = [f"{setting_name(claim).split()[0]} {claim.verdict.word}" for claim in found.claims["o-less-depth"]]
    said = [f"That ANIRA-O spends less depth than ANIRA-E: {listed(less)}."] if less else []
    return [*verdict_lines(found.claims["follows-complexity"], FOLLOWS), *said]
