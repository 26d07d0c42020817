"""Verdicts in words: badges, sentences and remarks from claims."""

from collections.abc import Mapping, Sequence
from typing import Final

from anira.measure.claims.knob import Claim
from anira.site.page import Badge, Note, Tone

NAMES: Final = {"anira-e": "ANIRA-E", "anira-o": "ANIRA-O"}
"""What pages call the paper's variants."""
_WORDS: Final = {**NAMES, "fixed": "fixed depth", "unshared": "unshared layers"}
FOLLOWS: Final = {
    "supported": "Depth rises with difficulty, where depth is needed, in {}.",
    "contradicted": "Depth does not rise with difficulty in {}.",
}
"""What is said of settings whose depth follows the knob, or does not."""
_OPEN: Final = {"inconclusive": "There is no verdict yet on {}.", "not testable": "It cannot be judged in {}."}


def claims_badge(claims: Sequence[Claim], verb: str = "follow") -> Badge:
    """Say in how many of the settings that can be judged a claim holds."""
    testable = [claim.verdict.word for claim in claims if claim.verdict.word != "not testable"]
    if not testable:
        return Badge("not testable here", "open")
    if set(testable) == {"inconclusive"}:
        return Badge("no verdict yet", "open")
    yes = testable.count("supported")
    tone: Tone = "yes" if yes else "no" if "contradicted" in testable else "open"
    return Badge(f"{yes or 'none'} of {len(testable)} {verb}", tone)


def verdict_lines(claims: Sequence[Claim], texts: Mapping[str, str]) -> list[str]:
    """Return a sentence for each verdict that some settings have; `texts` has at least those of clear verdicts."""
    known = {**texts, **{word: text for word, text in _OPEN.items() if word not in texts}}
    names = {word: [setting_name(claim) for claim in claims if claim.verdict.word == word] for word in known}
    return [text.format(listed(names[word])) for word, text in known.items() if names[word]]


def claim_note(claim: Claim, name: str = "") -> Note:
    """Return a claim's verdict as a remark; `name` says what it is about, where the setting alone does not."""
    return Note(f"{name or setting_name(claim)}: {claim.verdict.word}", f"{claim.text} {claim.verdict.reason}.")


def setting_name(claim: Claim) -> str:
    """Write what a claim is about for people: `mano anira-o` is MANO ANIRA-O."""
    task, *rest = claim.experiment.split()
    return " ".join([task.upper(), *(_WORDS.get(word, word) for word in rest)])


def listed(names: Sequence[str]) -> str:
    """Write names as people do.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
