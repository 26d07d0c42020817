"""Verdicts in words: badges, sentences and remarks from claims."""

from collections.abc import Sequence
from typing import Final

from anira.measure.claims.knob import Claim
from anira.site.page import Badge, Note, Tone

NAMES: Final = {"anira-e": "ANIRA-E", "anira-o": "ANIRA-O"}
"""What pages call the paper's variants."""
_FOLLOWS: Final = {
    "supported": "Depth rises with difficulty, where depth is needed, in {}.",
    "contradicted": "Depth does not rise with difficulty in {}.",
    "inconclusive": "There is no verdict yet on {}.",
    "not testable": "It cannot be judged in {}.",
}


def follows_badge(claims: Sequence[Claim]) -> Badge:
    """Say in how many of the settings that can be judged depth follows the knob."""
    words = [claim.verdict.word for claim in claims]
    testable = [word for word in words if word != "not testable"]
    if not testable:
        return Badge("not testable here", "open")
    yes = testable.count("supported")
    tone: Tone = "yes" if yes else "no" if "contradicted" in testable else "open"
    return Badge(f"{yes or 'none'} of {len(testable)} follow", tone)


def follows_answer(claims: Sequence[Claim]) -> list[str]:
    """Say where depth follows the knob, and where that cannot be judged."""
    names = {word: [setting_name(claim) for claim in claims if claim.verdict.word == word] for word in _FOLLOWS}
    return [text.format(listed(names[word])) for word, text in _FOLLOWS.items() if names[word]]


def claim_note(claim: Claim) -> Note:
    """Return a claim's verdict as a remark."""
    return Note(f"{setting_name(claim)}: {claim.verdict.word}", f"{claim.text} {claim.verdict.reason}.")


def setting_name(claim: Claim) -> str:
    """Write what a claim is about for people: `mano anira-o` is MANO ANIRA-O."""
    task, *rest = claim.experiment.split()
    return " ".join([task.upper(), *(NAMES.get(word, word) for word in rest)])


def listed(names: Sequence[str]) -> str:
    """Write names as people do.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
