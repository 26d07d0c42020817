"""The language of word problems: who, what, and every sentence, in four wordings for each meaning.

Slots in braces are filled when a story is told: {name} is whom a sentence is about and {other} somebody else, {she},
{She} and {her} stand for {name}, {n} is a number, and {things} is what is counted ({toys} is not).
"""

from dataclasses import dataclass
from functools import cache
from typing import Final, Literal

from anira.tasks.vocab import ANSWER, BOS, EOS, PAD, Vocab

Kind = Literal["events", "comparisons"]
KINDS: Final[tuple[Kind, ...]] = ("events", "comparisons")

SIGNS: Final = {"add": "+", "take": "-", "double": "*", "halve": "/"}
"""Operation -> its sign in a step; doubling and halving are written `* 2` and `/ 2`."""

PRONOUNS: Final = {"she": ("she", "She", "her"), "he": ("he", "He", "him")}
NAMES: Final = {
    **{"Ana": "she", "Ben": "he", "Cleo": "she", "Dan": "he", "Ella": "she", "Finn": "he"},
    **{"Gita": "she", "Hugo": "he", "Ida": "she", "Jon": "he", "Kira": "she", "Leo": "he"},
}
THINGS: Final = ("apples", "books", "cards", "coins", "marbles", "pencils", "shells", "stamps")

WORDINGS: Final = 4
"""Wordings of a sentence; the last of them is the one that can be held out."""

FRAME: Final = {
    "open": (
        "{name} has {n} {things} .",
        "{name} owns {n} {things} .",
        "{name} keeps {n} {things} at home .",
        "{name} counts {n} {things} .",
    ),
    "ask": (
        "How many {things} does {name} have ?",
        "How many {things} has {name} got ?",
        "What number of {things} does {name} have ?",
        "{name} has how many {things} ?",
    ),
    "aside": (
        "{n} of the {things} are old .",
        "Meanwhile {other} buys {n} {toys} .",
        "{other} likes {n} of them best .",
        "A friend wants {n} of the {things} .",
    ),
}
"""What every story has, and the sentences that change nothing."""

CLAUSES: Final = {
    "events": {
        "add": (
            "{name} buys {n} more {things} .",
            "Then {she} finds {n} {things} .",
            "A friend gives {her} {n} more .",
            "Later {she} gets {n} more .",
        ),
        "take": (
            "{name} sells {n} of the {things} .",
            "Then {she} loses {n} {things} .",
            "{She} gives {n} to a friend .",
            "Later {n} of them get lost .",
        ),
        "double": (
            "{name} buys as many again .",
            "Then {she} finds as many again .",
            "A friend gives {her} as many again .",
            "Later {she} has twice as many .",
        ),
        "halve": (
            "{name} sells half of the {things} .",
            "Then {she} loses half of them .",
            "{She} gives half to a friend .",
            "Later {she} has half as many .",
        ),
    },
    "comparisons": {
        "add": (
            "{name} has {n} more {things} than {other} .",
            "{name} owns {n} more than {other} .",
            "{name} is {n} {things} ahead of {other} .",
            "{name} beats {other} by {n} {things} .",
        ),
        "take": (
            "{name} has {n} fewer {things} than {other} .",
            "{name} owns {n} fewer than {other} .",
            "{name} is {n} {things} behind {other} .",
            "{name} trails {other} by {n} {things} .",
        ),
        "double": (
            "{name} has twice as many {things} as {other} .",
            "{name} owns twice what {other} has .",
            "{name} has twice the {things} of {other} .",
            "{name} matches twice what {other} has .",
        ),
        "halve": (
            "{name} has half as many {things} as {other} .",
            "{name} owns half of what {other} has .",
            "{name} has half the {things} of {other} .",
            "{name} matches half of what {other} has .",
        ),
    },
}
"""What changes the number that is asked for: one person's over time, or from one person to the next."""

FINAL: Final = "####"
STEPS: Final = {"events": "{left} {sign} {n} = {result} .", "comparisons": "{name} : {left} {sign} {n} = {result} ."}
ENDS: Final = (f"{{result}} {EOS}", f"{FINAL} {{result}} {EOS}")
"""The end of an answer: the number alone, or behind steps."""


@dataclass(frozen=True, kw_only=True)
class Sentence:
    """One wording of one meaning."""

    text: str
    meaning: str
    kind: Kind | None
    """Which stories it belongs to; None: to both kinds."""
    wording: int

    @property
    def slots(self) -> tuple[str, ...]:
        """The slots in their order in the text."""
        return tuple(word[1:-1] for word in self.text.split() if word.startswith("{"))


SENTENCES: Final = (
    *(
        Sentence(text=text, meaning=meaning, kind=None, wording=wording)
        for meaning, texts in FRAME.items()
        for wording, text in enumerate(texts)
    ),
    *(
        Sentence(text=text, meaning=meaning, kind=kind, wording=wording)
        for kind in KINDS
        for meaning, texts in CLAUSES[kind].items()
        for wording, text in enumerate(texts)
    ),
)


@cache
def make_vocab(limit: int) -> Vocab:
    """Return all words of the language, with the numbers 1 .. limit as one token each."""
    fixed = dict.fromkeys(word for one in SENTENCES for word in one.text.split() if not word.startswith("{"))
    pronouns = (word for forms in PRONOUNS.values() for word in forms)
    marks = dict.fromkeys([PAD, BOS, EOS, ANSWER, FINAL, *SIGNS.values(), "=", ":"])
    return Vocab([*marks, *map(str, range(1, limit + 1)), *NAMES, *THINGS, *pronouns, *fixed])


_SLOT_OF: Final = {
    **dict.fromkeys(NAMES, "name"),
    **dict.fromkeys(THINGS, "things"),
    **{word: slot for forms in PRONOUNS.values() for slot, word in zip(("she", "She", "her"), forms, strict=True)},
}
_SAME_WORDS: Final = {"other": "name", "toys": "things"}


def recognise(words: list[str]) -> tuple[Sentence, list[str]] | None:
    """Return the sentence that these words are, and what fills its slots, in their order.

    >>> sentence, filling = recognise("Ben buys 3 more apples .".split())
    >>> sentence.meaning, filling
    ('add', ['Ben', '3', 'apples'])
    """
    slots = ["n" if word.isdigit() else _SLOT_OF.get(word) for word in words]
    shape = tuple(f"{{{slot}}}" if slot else word for slot, word in zip(slots, words, strict=True))
    sentence = _by_shape().get(shape)
    return None if sentence is None else (sentence, [word for word, slot in zip(words, slots, strict=True) if slot])


@cache
def _by_shape() -> dict[tuple[str, ...], Sentence]:
    """Return sentences by their words, with slots that the same words can fill made equal."""
    found = {}
    for sentence in SENTENCES:
        text = sentence.text
        for slot, same in _SAME_WORDS.items():
            text = text.replace(f"{{{slot}}}", f"{{{same}}}")
        found[tuple(text.split())] = sentence
    return found
