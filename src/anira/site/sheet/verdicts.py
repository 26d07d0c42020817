"""The verdicts of an experiment as sections of its page: what every seed says, and what that makes together."""

from collections.abc import Sequence

from anira.measure.claims.knob import Claim
from anira.site.plain import short
from anira.site.sheet.sheet import Section, Table


def verdict_sections(claims: Sequence[Claim]) -> list[Section]:
    """Return a section for each thing that was measured, with a row for each setting."""
    texts = dict.fromkeys(claim.text for claim in claims)
    return [
        Section(
            title=f"Verdict: {text}",
            tables=[Table(f"verdicts: {text}", [verdict_cells(claim) for claim in claims if claim.text == text])],
        )
        for text in texts
    ]


def verdict_cells(claim: Claim) -> dict[str, str]:
    """Return a row of a table about one setting."""
    each = zip(claim.seeds, claim.estimates, strict=True)
    return {
        "for": claim.experiment,
        "verdict": claim.verdict.word,
        "because": claim.verdict.reason,
        "each seed": "; ".join(f"seed {seed}: {short(estimate, 3)}" for seed, estimate in each) or "-",
    }
