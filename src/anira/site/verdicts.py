"""Verdicts in words: badges, sentences and remarks from claims."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import polars as pl

from anira.measure.claims.paper import combine
from anira.measure.claims.verdict import SEEDS_NEEDED, Claim
from anira.site.page import Badge, Note, Tone

NAMES: Final = {"anira-e": "ANIRA-E", "anira-o": "ANIRA-O"}
"""What pages call the paper's variants."""
WORDS: Final = {**NAMES, "fixed": "fixed depth", "unshared": "unshared layers"}
"""The same, with what they are compared with."""
FOLLOWS: Final = {
    "supported": "Depth rises with difficulty, where depth is needed, in {}.",
    "contradicted": "Depth does not rise with difficulty in {}.",
}
"""What is said of settings whose depth follows the knob, or does not."""
_TONES: Final[dict[str, Tone]] = {"supported": "yes", "contradicted": "no"}
_OPEN: Final = {"inconclusive": "There is no verdict yet on {}.", "not testable": "It cannot be judged in {}."}


def claims_badge(claims: Sequence[Claim]) -> Badge:
    """Say the verdict of all settings together, and how many of those that have a vote support the claim."""
    testable = [claim for claim in claims if claim.verdict.word != "not testable"]
    if not testable:
        return Badge("not testable here", "open")
    votes = [claim.verdict.word for claim in testable if len(set(claim.seeds)) >= SEEDS_NEEDED]
    if not votes:
        return Badge(f"no verdict yet: it takes {SEEDS_NEEDED} seeds", "open")
    if set(votes) == {"inconclusive"}:
        return Badge("inconclusive", "open")
    word, yes = combine(claims).word, votes.count("supported")
    support = "setting supports it" if len(votes) == 1 else "settings support it"
    return Badge(f"{word}: {yes or 'none'} of {len(votes)} {support}", _TONES.get(word, "open"))


def joint_badge(claims: Mapping[str, Sequence[Claim]]) -> Badge:
    """Return one badge for several claims, by what they are called."""
    badges = {name: claims_badge(own) for name, own in claims.items()}
    tones = {badge.tone for badge in badges.values()}
    tone: Tone = "no" if "no" in tones else "yes" if tones == {"yes"} else "open"
    words = {name: badge.words.partition(":")[0] for name, badge in badges.items()}
    return Badge("; ".join(f"{name}: {word}" for name, word in words.items()), tone)


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
    task, _, rest = claim.experiment.partition(" ")
    return f"{task.upper()} {named(rest)}".rstrip()


def named(text: str) -> str:
    """Write variants in a text as pages call them.

    >>> named("anira-o against fixed")
    'ANIRA-O against fixed depth'
    """
    return re.sub(r"[\w-]+", lambda word: WORDS.get(word[0], word[0]), text)


def setting_label() -> pl.Expr:
    """Return the name of each row's setting as a column `label`, as in MANO ANIRA-O."""
    return pl.concat_str(pl.col("task").str.to_uppercase(), pl.lit(" "), pl.col("variant").replace(WORDS)).alias(
        "label"
    )


def shown(table: pl.DataFrame, names: Mapping[str, str] = NAMES) -> dict[str, dict[str, Any]]:
    """Return what each variant that a table has is called, and the label by which its rows are found."""
    return {words: {"variant": name} for name, words in names.items() if name in table["variant"]}


def listed(names: Sequence[str]) -> str:
    """Write names as people do.

    >>> listed(["a", "b", "c"]), listed(["a, old", "b, old", "c"])
    ('a, b and c', 'a, old; b, old and c')
    """
    between = "; " if any("," in name for name in names) else ", "
    return " and ".join(filter(None, [between.join(names[:-1]), names[-1]]))
