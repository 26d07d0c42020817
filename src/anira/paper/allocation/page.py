"""The page: whether depth follows the knob where it is needed, task by task, and ANIRA-E beside ANIRA-O."""

from collections.abc import Sequence

import polars as pl

from anira.measure.claims.knob import Claim
from anira.paper.allocation.measure import NAMES, Found
from anira.site import SMOKE, Badge, ChartPart, Note, Page, Section, Tone, read_notes
from anira.site.by_knob import KnobTask, knob_section
from anira.site.charts import Legend, interval_chart


def make_page(found: Found, *, scale: str, files: Sequence[str]) -> Page:
    """Return the page."""
    sections = [knob_section(task, is_open=i == 0) for i, task in enumerate(tasks(found))]
    return Page(
        title="Does depth follow the difficulty of the task?",
        badge=badge(found.follows),
        answer=[*answer(found), *[SMOKE] * (scale == "smoke")],
        lead=_slopes(found),
        verdicts=[note(claim) for claim in (*found.follows, *found.less)],
        sections=[*sections, Section(title="How to read this page", notes=read_notes("anira.paper.allocation"))],
        files=files,
        command=f"anira reproduce allocation --scale {scale}",
    )


def tasks(found: Found) -> list[KnobTask]:
    """Return the rows of each task."""
    return [
        KnobTask(
            name=task,
            title=task.upper(),
            knob=found.knobs.get(task, "knob"),
            runs=found.runs.filter(task=task),
            seeds=found.seeds.filter(task=task),
            legend=Legend(NAMES),
        )
        for task in found.runs["task"].unique(maintain_order=True)
    ]


def badge(claims: Sequence[Claim]) -> Badge:
    """Say in how many of the settings that can be judged the claim holds."""
    words = [claim.verdict.word for claim in claims]
    testable = [word for word in words if word != "not testable"]
    if not testable:
        return Badge("not testable here", "open")
    yes = testable.count("supported")
    tone: Tone = "yes" if yes else "no" if "contradicted" in testable else "open"
    return Badge(f"{yes or 'none'} of {len(testable)} follow", tone)


def answer(found: Found) -> list[str]:
    """Say where depth follows the knob, and where that cannot be judged."""
    lines = []
    for word, text in (
        ("supported", "Depth rises with difficulty, where depth is needed, in {}."),
        ("contradicted", "Depth does not rise with difficulty in {}."),
        ("inconclusive", "There is no verdict yet on {}."),
        ("not testable", "It cannot be judged in {}."),
    ):
        names = [_name(claim) for claim in found.follows if claim.verdict.word == word]
        lines += [text.format(_listed(names))] if names else []
    less = [f"{claim.experiment.split()[0].upper()} {claim.verdict.word}" for claim in found.less]
    return [*lines, *([f"That ANIRA-O spends less depth than ANIRA-E: {_listed(less)}."] if less else [])]


def note(claim: Claim) -> Note:
    """Return a claim's verdict as a remark."""
    return Note(f"{_name(claim)}: {claim.verdict.word}", f"{claim.text} {claim.verdict.reason}.")


def _slopes(found: Found) -> ChartPart:
    """Return the slope of every setting with its seeds."""
    label = pl.concat_str(pl.col("task").str.to_uppercase(), pl.lit(" "), pl.col("variant").replace(NAMES)).alias(
        "label"
    )
    rows = pl.concat([found.seeds, found.runs]).filter(quantity="slope", subset="all", split="seen").drop_nulls("value")
    shown = rows.select(label, "seed", "value", "low", "high")
    order = [_name(claim) for claim in found.follows]
    return ChartPart(
        name="slopes",
        title="Iterations more for one more of the knob",
        chart=interval_chart(shown, order=order, title="slope of answer depth, iterations per unit of the knob"),
        caption="Large marks: means over seeds with 95% t intervals; small marks: seeds.",
    )


def _name(claim: Claim) -> str:
    task, *rest = claim.experiment.split()
    return " ".join([task.upper(), *(NAMES.get(word, word) for word in rest)])


def _listed(names: Sequence[str]) -> str:
    """Write names as people do.

    >>> _listed(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
