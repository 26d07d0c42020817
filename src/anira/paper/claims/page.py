"""The page of claims: each claim of the paper in one line, with the verdict and what it rests on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import altair as alt
import polars as pl

from anira.measure.claims.paper import PAPER_CLAIMS, PaperClaim, combine
from anira.measure.claims.verdict import Claim, Evidence, Verdict, seed_mean
from anira.site import Badge, Cell, ChartPart, Page, Section, Tone, table_part
from anira.site.charts import interval_part
from anira.site.style import GREY, tooltip

_INK: Final = {"supported": "#1a7f37", "contradicted": "#b3261e", "inconclusive": "#e69f00", "not testable": GREY}
_TONES: Final[dict[str, Tone]] = {"supported": "yes", "contradicted": "no"}


@dataclass(frozen=True, kw_only=True)
class JudgedClaim:
    """A claim of the paper, and what each setting says about it."""

    key: str
    settings: tuple[tuple[str, Claim], ...]
    """The page, and its claim about one task and variant over all seeds."""
    shrunk: Mapping[str, Sequence[str]]
    """By task: settings of the runs that are not the paper's, with the paper's in brackets."""

    @property
    def paper(self) -> PaperClaim:
        """What the paper says, and the rule."""
        return PAPER_CLAIMS[self.key]

    @property
    def verdict(self) -> Verdict:
        """The verdict of all settings together."""
        return combine([claim for _, claim in self.settings])

    @property
    def word(self) -> str:
        """The verdict's word; where no page that was made looks at the claim, that."""
        return self.verdict.word if self.settings else "not looked at"


def make_page(judged: Sequence[JudgedClaim], missing: Sequence[str]) -> Page:
    """Return the page; `missing` are pages that were not made yet."""
    words = [one.word for one in judged]
    clear = {word for word in words if word in _TONES}
    counts = ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words))
    absent = [f"Not made yet, so not counted: {', '.join(missing)} (anira reproduce all)."] if missing else []
    return Page(
        title="Which of the paper's claims hold?",
        badge=Badge(
            f"{words.count('supported')} of {len(words)} supported",
            _TONES[clear.pop()] if len(clear) == 1 else "open",
        ),
        answer=[f"Of the paper's {len(words)} claims: {counts}.", *absent],
        lead=_counts(judged),
        sections=[_all(judged), *map(_section, judged)],
    )


def _counts(judged: Sequence[JudgedClaim]) -> ChartPart:
    """Return how many settings give each verdict, claim by claim."""
    rows = [{"claim": one.key, "verdict": claim.verdict.word} for one in judged for _, claim in one.settings]
    table = pl.DataFrame(rows, schema={"claim": pl.String, "verdict": pl.String}).group_by("claim", "verdict").len()
    words = list(_INK)
    chart = (
        alt.Chart(table)
        .mark_bar()
        .encode(
            x=alt.X("len:Q", title="settings (task, variant, measure)", axis=alt.Axis(tickMinStep=1, format="d")),
            y=alt.Y("claim:N", title=None, sort=list(PAPER_CLAIMS), scale=alt.Scale(domain=list(PAPER_CLAIMS))),
            color=alt.Color("verdict:N", scale=alt.Scale(domain=words, range=list(_INK.values())), title="verdict"),
            tooltip=tooltip("claim:N", "verdict:N", "len:Q"),
        )
    )
    caption = "A claim is supported where all settings that can be judged agree."
    return ChartPart(name="counts", title="Verdicts of the settings of each claim", chart=chart, caption=caption)


def claims_table(judged: Sequence[JudgedClaim]) -> pl.DataFrame:
    """Return one row for each claim, setting and seed."""
    rows = [
        {
            "claim": one.key,
            "page": page,
            "measured": claim.text,
            "setting": claim.experiment,
            "run_id": run,
            "seed": seed,
            "value": estimate.value,
            "low": estimate.low,
            "high": estimate.high,
            "reason": estimate.reason,
            "verdict": claim.verdict.word,
            "because": claim.verdict.reason,
        }
        for one in judged
        for page, claim in one.settings
        for run, seed, estimate in zip(claim.runs, claim.seeds, claim.estimates, strict=True)
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def _all(judged: Sequence[JudgedClaim]) -> Section:
    rows = []
    for one in judged:
        pages = list(dict.fromkeys(page for page, _ in one.settings))
        link = Cell(", ".join(pages) or "-", link=f"{pages[0]}.html" if pages else "")
        said = Cell(one.verdict.reason, wrap=True)
        rows.append([Cell(one.paper.sentence, wrap=True), one.word, said, link])
    table = table_part("All claims", ["claim", "verdict", "settings", "pages"], rows)
    return Section(title="All claims", parts=[table])


def _section(one: JudgedClaim) -> Section:
    rows = [
        [
            claim.experiment,
            claim.verdict.word,
            Cell(claim.verdict.reason, wrap=True),
            Cell(claim.text, wrap=True),
            Cell(page, link=f"{page}.html"),
        ]
        for page, claim in one.settings
    ]
    shrunk = [[task, Cell(", ".join(own), wrap=True)] for task, own in one.shrunk.items() if own]
    tables = [
        table_part("Setting by setting", ["setting", "verdict", "because", "measured", "page"], rows),
        table_part("What was shrunk", ["task", "here, and in brackets in the paper"], shrunk),
    ]
    chart = _chart(one)
    return Section(
        title=f"{one.paper.sentence.rstrip('.')}: {one.word}",
        text=[f"{one.word.capitalize()}: {one.verdict.reason}.", f"Rule: {one.paper.rule}"],
        parts=[*([chart] if chart else []), *(table for table in tables if table.rows)],
    )


def _chart(one: JudgedClaim) -> ChartPart | None:
    """Return the estimates of every setting with their seeds; None where no seed has one."""
    rows = [row for _, claim in one.settings for row in _estimates(claim)]
    return interval_part(
        pl.DataFrame(rows, schema=_ROW, orient="row"),
        name=one.key,
        title="What every seed says",
        axis="effect, as it is measured",
    )


_ROW: Final = {"label": pl.String, "seed": pl.Int64, "value": pl.Float64, "low": pl.Float64, "high": pl.Float64}


def _estimates(claim: Claim) -> list[tuple[object, ...]]:
    """Return the mean over the seeds that have an estimate, then each of them."""
    found = [
        Evidence(seed, one) for seed, one in zip(claim.seeds, claim.estimates, strict=True) if one.value is not None
    ]
    rows = [(None, seed_mean(found)), *((one.seed, one.estimate) for one in found)] if found else []
    return [(claim.experiment, seed, one.value, one.low, one.high) for seed, one in rows]
