"""The page of claims: each claim of the paper in one line, with the verdict and what it rests on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl
from markupsafe import Markup

from anira.measure.claims.knob import Claim
from anira.measure.claims.paper import PAPER_CLAIMS, PaperClaim, combine
from anira.measure.claims.verdict import Verdict
from anira.site.drawing.seeds import seeds_figure
from anira.site.sheet.cells import estimate_columns
from anira.site.sheet.sheet import Section, Sheet, Table
from anira.site.sheet.verdicts import verdict_cells


@dataclass(frozen=True, kw_only=True)
class JudgedClaim:
    """A claim of the paper, and what each setting says about it."""

    key: str
    settings: tuple[tuple[str, Claim], ...]
    """The experiment, and its claim about one task and variant over all seeds."""
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


def claims_sheet(judged: Sequence[JudgedClaim], scale: str, *, missing: Sequence[str]) -> Sheet:
    """Return the page; `missing` are experiments that were not made yet."""
    rows = [_in_a_line(one) for one in judged]
    absent = f"Not made, and not counted: {', '.join(missing)}." if missing else ""
    summary = Section(title="All claims", tables=[Table("all claims", rows)], below=absent)
    return Sheet(
        name="claims",
        title=f"The paper's claims, judged at {scale} scale",
        runs=[],
        sections=[summary, *map(_section, judged)],
    )


def claims_table(judged: Sequence[JudgedClaim]) -> pl.DataFrame:
    """Return one row a claim, setting and seed."""
    rows = [
        {
            "claim": one.key,
            "experiment": experiment,
            "measured": claim.text,
            "setting": claim.experiment,
            "run_id": run,
            "seed": seed,
            **estimate_columns("estimate", estimate),
            "undefined": estimate.reason,
            "verdict": claim.verdict.word,
            "reason": claim.verdict.reason,
        }
        for one in judged
        for experiment, claim in one.settings
        for run, seed, estimate in zip(claim.runs, claim.seeds, claim.estimates, strict=True)
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def _in_a_line(one: JudgedClaim) -> dict[str, str]:
    seeds = [len(set(claim.seeds)) for _, claim in one.settings]
    pages = dict.fromkeys(name for name, _ in one.settings)
    return {
        "verdict": one.verdict.word,
        "claim": one.paper.sentence,
        "settings": one.verdict.reason,
        "seeds": _span(seeds),
        "from": Markup(", ").join(Markup('<a href="{0}.html">{0}</a>').format(name) for name in pages) or "-",
    }


def _span(counts: Sequence[int]) -> str:
    ends = dict.fromkeys((min(counts, default=0), max(counts, default=0)))
    return " to ".join(map(str, ends))


def _section(one: JudgedClaim) -> Section:
    rows = [_setting(name, claim) for name, claim in one.settings]
    drawn = [claim for _, claim in one.settings if any(estimate.low is not None for estimate in claim.estimates)]
    shrunk = [{"task": task, "here, and in brackets in the paper": ", ".join(own)} for task, own in one.shrunk.items()]
    return Section(
        title=one.paper.sentence,
        text=[f"{one.verdict.word.capitalize()}: {one.verdict.reason}.", f"Rule: {one.paper.rule}"],
        panels=[seeds_figure(drawn, name=one.key)] if drawn else [],
        tables=[
            Table("What every seed says", rows, folded=len(rows) > 12),
            Table("What was shrunk", shrunk, folded=True),
        ],
    )


def _setting(name: str, claim: Claim) -> dict[str, str]:
    return {"measured": claim.text, **verdict_cells(claim), "from": name}
