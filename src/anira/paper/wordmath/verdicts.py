"""What the plan's rule says about the runs, in words.

The rule was written down before the runs (plans/p8-wordmath.toml). Depth follows the number of clauses if the slope of
mean answer depth over the clauses of training has a 95% t interval over seeds above zero, and is at least 0.1
iterations per clause. Depth is needed if a model trained at depth 1 loses at least ten points at the most clauses.
"""

from collections.abc import Sequence
from typing import Final

from anira.measure import FEWEST, NEED
from anira.paper.found import Found, trained_need
from anira.paper.wordmath.runs import FORMS
from anira.site import Badge, Note, Tone
from anira.site.tables import estimate_cell, estimate_text
from anira.site.verdicts import NAMES

SLOPE: Final = 0.1
"""Iterations per clause: the smallest slope of interest."""


def hardest(found: Found) -> int:
    """Return the most clauses of training."""
    return int(found.seeds.filter(split="seen")["knob"].max())  # type: ignore[arg-type]


def needed(found: Found) -> bool:
    """Say whether depth is needed."""
    return (trained_need(found)[0] or 0.0) >= NEED - 1e-9


def follows(found: Found, variant: str) -> str:
    """Say whether depth follows the number of clauses, or that this is unknown; constant depth does not."""
    row = found.row("slope", variant=variant)
    if found.row("depth", variant=variant, subset="answer")["n"] < FEWEST:
        return "unknown"
    rises = row["low"] is not None and row["low"] > 0 and row["value"] >= SLOPE
    return "follows" if rises else "does not follow"


def badge(forms: Sequence[Found]) -> Badge:
    """Say in how many of the pairs of model and form depth follows the number of clauses."""
    words = [word for found in forms for name in NAMES if (word := follows(found, name)) != "unknown"]
    if not words:
        return Badge("no verdict yet", "open")
    rising = words.count("follows")
    tone: Tone = "yes" if rising else "no" if any(map(needed, forms)) else "open"
    return Badge(f"{rising or 'none'} of {len(words)} follow", tone)


def answer(found: Found) -> list[str]:
    """Say what one form of the answer shows: whose depth follows, and whether depth is needed."""
    where = f"Where the answer is given {FORMS[found.task]}"
    known = {name: word for name in NAMES if (word := follows(found, name)) != "unknown"}
    if not known:
        return [f"{where}: no verdict yet, it takes three seeds."]
    who = [NAMES[name] for name, word in known.items() if word == "follows"]
    verb = "follows" if who else "does not follow"
    names = " and ".join(who) or " or ".join(NAMES[name] for name in known)
    return [f"{where}, depth {verb} the number of clauses in {names}.", _need(found)]


def _need(found: Found) -> str:
    _, said = trained_need(found)
    verb = "is needed there" if needed(found) else "is not needed there, so that a flat curve is right"
    unknown = "Need is unknown: there are no models trained at depth 1."
    return f"Depth {verb}: at {hardest(found)} clauses {said}." if said else unknown


def verdicts(found: Found) -> list[Note]:
    """Return a verdict for each adaptive model."""
    return [Note(f"{words}, answer {FORMS[found.task]}", _verdict(found, name)) for name, words in NAMES.items()]


def _verdict(found: Found, name: str) -> str:
    row, depth = found.row("slope", variant=name), found.row("depth", variant=name, subset="answer")
    if depth["value"] is None:
        return "There are no finished runs."
    mean = f"Mean answer depth is {estimate_cell(depth).text}"
    if row["value"] is None:
        return f"{mean}; its slope is undefined: {row['reason']}."
    word = follows(found, name)
    end = "a verdict takes three seeds" if word == "unknown" else f"it {word} the number of clauses"
    return f"{mean}, and changes by {estimate_text(row)} iterations per clause: {end}."
