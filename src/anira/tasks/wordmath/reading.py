"""Reading a word problem: from its words to its clauses in the order of the steps, with an error for what is none."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from anira.config import UserError
from anira.tasks.wordmath.sentences import NAMES, PRONOUNS, SIGNS, Kind, Sentence, recognise

_STOPS: Final = (".", "?")


@dataclass(frozen=True, kw_only=True)
class Told:
    """A sentence of a text, with what fills its slots and where its words stand."""

    sentence: Sentence
    filling: dict[str, str]
    start: int
    end: int

    @property
    def is_clause(self) -> bool:
        """Whether it changes the number."""
        return self.sentence.meaning in SIGNS


@dataclass(frozen=True, kw_only=True)
class Step:
    """One operation of the solution."""

    name: str
    """Whose number it gives; written in a step where people are compared."""
    left: int
    sign: str
    right: int
    result: int


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A word problem that has been understood."""

    told: tuple[Told, ...]
    """All sentences as they stand in the text."""
    order: tuple[int, ...]
    """The opening and the clauses in the order of the steps, as places in `told`."""
    kind: Kind
    things: str
    start: int
    steps: tuple[Step, ...]

    @property
    def result(self) -> int:
        """The number that is asked for."""
        return self.steps[-1].result


def parse(words: list[str], *, limit: int) -> Problem:
    """Understand a text; what is not a problem of this task is the user's error.

    >>> text = "Ana has 5 apples . Then she finds 3 apples . How many apples does Ana have ?"
    >>> parse(text.split(), limit=20).steps
    (Step(name='Ana', left=5, sign='+', right=3, result=8),)
    """
    told = tuple(_sentences(words))
    opening, ask = _only(told, "open"), _only(told, "ask")
    if ask != len(told) - 1:
        raise UserError("the question must be the last sentence")
    clauses = [place for place, one in enumerate(told) if one.is_clause]
    kind = _kind([told[place] for place in clauses])
    things = told[ask].filling["things"]
    for place in (opening, *clauses):
        _agree(told[place], "things", things)
    order = _in_time(told, opening, clauses) if kind == "events" else _along_people(told, opening, clauses)
    _agree(told[ask], "name", told[order[-1] if kind == "comparisons" else opening].filling["name"])
    start = int(told[opening].filling["n"])
    steps = tuple(_steps([told[place] for place in order], limit))
    return Problem(told=told, order=order, kind=kind, things=things, start=start, steps=steps)


def _sentences(words: list[str]) -> Iterator[Told]:
    start = 0
    for end, word in enumerate(words, 1):
        if word not in _STOPS:
            continue
        found = recognise(words[start:end])
        if found is None:
            raise UserError(f"no sentence of this task: {' '.join(words[start:end])!r}")
        sentence, filling = found
        yield Told(sentence=sentence, filling=dict(zip(sentence.slots, filling, strict=True)), start=start, end=end)
        start = end
    if start < len(words):
        raise UserError(f"a sentence without its end: {' '.join(words[start:])!r}")


def _only(told: tuple[Told, ...], meaning: str) -> int:
    """Return the place of the one sentence with this meaning."""
    places = [place for place, one in enumerate(told) if one.sentence.meaning == meaning]
    if len(places) != 1:
        what = {"open": "sentence that says how many there are at the start", "ask": "question"}[meaning]
        raise UserError(f"a problem has one {what}, not {len(places)}")
    return places[0]


def _kind(clauses: list[Told]) -> Kind:
    """Say whether things happen to one person, or people are compared."""
    kinds = {one.sentence.kind: one for one in clauses}
    if not kinds:
        raise UserError("a story needs a clause: nothing happens here, and nobody is compared")
    if len(kinds) > 1:
        one, other = map(_text, kinds.values())
        raise UserError(f"a story tells what happens or compares people, not both: {one!r}, {other!r}")
    return "events" if "events" in kinds else "comparisons"


def _agree(told: Told, slot: str, wanted: str) -> None:
    """Raise a UserError if a sentence speaks of somebody or something else."""
    given = told.filling.get(slot, wanted)
    if given != wanted:
        raise UserError(f"{_text(told)!r} is about {given}, and the story about {wanted}")


def _in_time(told: tuple[Told, ...], opening: int, clauses: list[int]) -> tuple[int, ...]:
    """Return the order in which things happen to one person: as told."""
    if clauses[0] < opening:
        raise UserError(f"{_text(told[opening])!r} must come before what happens")
    name = told[opening].filling["name"]
    forms = PRONOUNS[NAMES[name]]
    for place in clauses:
        _agree(told[place], "name", name)
        for slot, form in zip(("she", "She", "her"), forms, strict=True):
            _agree(told[place], slot, form)
    return (opening, *clauses)


def _along_people(told: tuple[Told, ...], opening: int, clauses: list[int]) -> tuple[int, ...]:
    """Return the order in which people's numbers follow from each other, from the one that is given on."""
    following: dict[str, int] = {}
    for place in clauses:
        if following.setdefault(told[place].filling["other"], place) != place:
            raise UserError(f"two sentences compare with {told[place].filling['other']}: one is allowed")
    order = [opening]
    while (after := following.pop(told[order[-1]].filling["name"], None)) is not None:
        order.append(after)
    if following:
        other = next(iter(following))
        raise UserError(f"nothing says how many {other} has: comparisons must lead from one person to the next")
    names = [told[place].filling["name"] for place in order]
    if len(set(names)) < len(names):
        raise UserError(f"{names[-1]} is told about twice")
    return tuple(order)


def _steps(order: list[Told], limit: int) -> Iterator[Step]:
    """Work the numbers out, and refuse those that no story of this task has."""
    value = int(order[0].filling["n"])
    for told in order[1:]:
        operation, amount = told.sentence.meaning, int(told.filling.get("n", 2))
        name = told.filling.get("name", order[0].filling["name"])
        if operation == "halve" and value % 2:
            raise UserError(f"{_text(told)!r} would halve {value}: numbers stay whole")
        result = {"add": value + amount, "take": value - amount, "double": value * 2, "halve": value // 2}[operation]
        if not 1 <= result <= limit:
            raise UserError(f"{_text(told)!r} leads to {result}: numbers stay between 1 and {limit}")
        yield Step(name=name, left=value, sign=SIGNS[operation], right=amount, result=result)
        value = result


def _text(told: Told) -> str:
    return told.sentence.text.format(**told.filling)
