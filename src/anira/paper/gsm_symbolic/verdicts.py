"""What the numbers say about each model, in sentences: the fair baseline first, then depth against the splits."""

from typing import Final

from anira.measure.tidy import Row
from anira.paper.found import Found
from anira.paper.gsm_symbolic.measure import SPLITS, above, judged, knobs
from anira.site import Badge, Note
from anira.site.tables import estimate_text
from anira.site.verdicts import listed

_ROUNDING: Final = 1e-9


def answer(found: Found) -> list[str]:
    """Return the sentences that the page begins with."""
    if not judged(found):
        return ["No model here chooses its depth: there is nothing to judge, only the fixed-depth curve."]
    return [_followers(found), _baseline(found)]


def badge(found: Found) -> Badge:
    """Say whether depth rises with the splits."""
    known = [way for way in _ways(found).values() if way is not None]
    if not known:
        return Badge("no verdict", "open")
    return Badge(f"{known.count(1) or 'none'} of {len(known)} follow", "yes" if 1 in known else "no")


def verdicts(found: Found) -> list[Note]:
    """Return a verdict for each model that chooses its depth."""
    return [Note(name, f"{_saving(found, name)} {_curve(found, name)} {_depth(found, name)}") for name in judged(found)]


def direction(row: Row) -> int | None:
    """Say whether a whole interval lies above or below zero, by more than rounding; None where there is none."""
    if row["low"] is None or row["high"] is None:
        return None
    return int(row["low"] > _ROUNDING) - int(row["high"] < -_ROUNDING)


def _alignment(found: Found, model: str) -> Row:
    """Return the correlation of depth with the splits: on the shared templates where they are known."""
    shared = found.row("spearman_knob", run_id=model, subset="shared")
    return shared if shared["value"] is not None else found.row("spearman_knob", run_id=model)


def _ways(found: Found) -> dict[str, int | None]:
    return {name: direction(_alignment(found, name)) for name in judged(found)}


def _followers(found: Found) -> str:
    known = {name: way for name, way in _ways(found).items() if way is not None}
    up, down = ([name for name, way in known.items() if way == wanted] for wanted in (1, -1))
    if not known:
        return "Whether depth follows the number of clauses cannot be judged: it takes two splits and varying depth."
    if up:
        return f"Answer depth rises with the number of clauses in {len(up)} of {len(known)} models: {listed(up)}."
    less = f" In {listed(down)} it falls." if down else ""
    return f"Answer depth does not rise with the number of clauses in {' or '.join(known)}.{less}"


def _baseline(found: Found) -> str:
    knob = knobs(found)[0]
    rows = {name: above(found, name, knob) for name in judged(found)}
    if all(row["value"] is None for row in rows.values()):
        return (
            "There is no fixed-depth curve, so no saving is a result yet: a fixed lower depth may be as accurate. "
            "Evaluate with --depth 1:D."
        )
    better = [name for name, row in rows.items() if direction(row) == 1]
    if better:
        return f"On {SPLITS[knob]}, more accurate than a fixed depth of the same mean: {listed(better)}."
    return f"On {SPLITS[knob]}, no model is more accurate than a fixed depth of the same mean: choosing earned nothing."


def _saving(found: Found, model: str) -> str:
    knob = knobs(found)[0]
    depth = found.row("depth", run_id=model, knob=knob, subset="answer")["value"]
    most = found.row("max_depth", run_id=model)["value"]
    if depth is None or most is None:
        return "It wrote no answer tokens."
    return f"Mean answer depth is {depth:.2f} of {most:.0f} on {SPLITS[knob]}."


def _curve(found: Found, model: str) -> str:
    rows = {SPLITS[knob]: above(found, model, knob) for knob in knobs(found)}
    missing = [row["reason"] for row in rows.values() if row["value"] is None]
    if missing:
        return f"It cannot be held against fixed depths: {missing[0]}."
    whose = found.words["reference"] or "its own model"
    parts = ", ".join(f"{split} {estimate_text(row)}" for split, row in rows.items())
    return f"Points above the fixed-depth curve of {whose} at equal mean depth: {parts}."


def _depth(found: Found, model: str) -> str:
    row = _alignment(found, model)
    if row["value"] is None:
        return f"Depth against splits is undefined: {row['reason']}."
    words = {1: "rises with", -1: "falls with", 0: "does not follow", None: "has no interval against"}[direction(row)]
    templates = "the shared templates" if row["subset"] == "shared" else "all templates"
    return f"Answer depth {words} the number of clauses (Spearman {estimate_text(row)}, on {templates})."
