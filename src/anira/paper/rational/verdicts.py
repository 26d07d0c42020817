"""What the registered rule says (docs/studies.md, study 2): are chosen depths more rational than a constant one?"""

from typing import Final, Literal

from anira.measure import FEWEST, PRICE
from anira.measure.tidy import Row
from anira.paper.found import Found
from anira.site import Badge, Note
from anira.site.tables import estimate_cell, estimate_text
from anira.site.verdicts import listed

GAP: Final = "regret_less_constant"
OTHER_PRICES: Final = (0.005, 0.08)
"""Nats per iteration at which the same is reported without a verdict."""

State = Literal["more", "level", "less", "unknown"]
_WORDS: Final[dict[State, str]] = {
    "more": "more rational than a constant",
    "level": "level with a constant",
    "less": "less rational than a constant",
    "unknown": "no verdict yet",
}


def priced(price: float) -> str:
    """Return the subset of the rows at another price.

    >>> priced(0.005)
    'price 0.005'
    """
    return f"price {price:g}"


def judged(found: Found) -> list[str]:
    """Return the policies, the one with the least regret beside its constant first."""
    names = found.seeds["variant"].unique(maintain_order=True).to_list()
    gaps = {name: _gap(found, name)["value"] for name in names}
    return sorted(names, key=lambda name: (gaps[name] is None, gaps[name] or 0.0))


def state(found: Found, name: str) -> State:
    """Return how a policy's regret stands to that of the best constant depth of the same models."""
    gap = _gap(found, name)
    if gap["low"] is None or gap["n"] < FEWEST:
        return "unknown"
    return "more" if gap["high"] < 0 else "less" if gap["low"] > 0 else "level"


def badge(found: Found) -> Badge:
    """Say how many policies are more rational than a constant."""
    states = [one for name in judged(found) if (one := state(found, name)) != "unknown"]
    if not states:
        return Badge("no verdict yet", "open")
    more = states.count("more")
    return Badge(f"{more or 'none'} of {len(states)} more rational", "yes" if more else "no")


def answer(found: Found) -> list[str]:
    """Return the sentences that the page begins with."""
    states = {name: state(found, name) for name in judged(found)}
    groups = {word: [name for name, one in states.items() if one == word] for word in _WORDS}
    lines = {
        "more": "The depths that {} chose cost less than the best constant depth of the same models.",
        "level": "Those of {} cost about as much.",
        "less": "Those of {} cost more.",
        "unknown": f"No verdict yet on {{}}: it takes {FEWEST} seeds.",
    }
    said = [lines[word].format(listed(names)) for word, names in groups.items() if names]
    return [*said, f"An iteration is priced at {PRICE:g} nats per token."]


def verdicts(found: Found) -> list[Note]:
    """Return a verdict for each policy, with the regrets behind it."""
    return [Note(f"{name}: {_WORDS[state(found, name)]}", _regrets(found, name)) for name in judged(found)]


def _regrets(found: Found, name: str) -> str:
    gap = _gap(found, name)
    if gap["value"] is None:
        return f"Its regret is undefined: {gap['reason'] or 'there are no finished runs'}."
    labels = {"variant": name, "knob": None, "subset": "answer"}
    own, constant, early, late = (
        estimate_cell(found.row(what, **labels)).text for what in ("regret", "regret_constant", "too_early", "too_late")
    )
    return (
        f"Regret is {own} nats per answer token against {constant} of the best constant depth, a difference of "
        f"{estimate_text(gap)}. {early} of answer tokens stop too early and {late} too late."
    )


def _gap(found: Found, name: str) -> Row:
    return found.row(GAP, variant=name, subset="answer")
