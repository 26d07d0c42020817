"""What the numbers say about each model, in sentences: the fair baseline first, then depth against the splits."""

from typing import Any, Final

from anira.measure import quantity
from anira.paper.gsm_symbolic.measure import SPLITS, Found
from anira.site import Badge, Note, amount, interval

_ROUNDING: Final = 1e-9


def answer(found: Found) -> list[str]:
    """Return the sentences that the page begins with."""
    if not found.judged:
        return ["No model here chooses its depth: there is nothing to judge, only the fixed-depth curve."]
    return [_followers(found), _baseline(found)]


def badge(found: Found) -> Badge:
    """Say whether depth rises with the splits."""
    ways = [direction(found.row(name, "spearman_knob", None, _subset(found, name))) for name in found.judged]
    known = [way for way in ways if way is not None]
    if not known:
        return Badge("no verdict", "open")
    return Badge(f"{known.count(1) or 'none'} of {len(known)} follow", "yes" if 1 in known else "no")


def verdicts(found: Found) -> list[Note]:
    """Return a verdict for each model that chooses its depth."""
    return [Note(name, f"{_saving(found, name)} {_curve(found, name)} {_depth(found, name)}") for name in found.judged]


def direction(row: dict[str, Any]) -> int | None:
    """Say whether a whole interval lies above or below zero, by more than rounding; None where there is none."""
    if row["low"] is None or row["high"] is None:
        return None
    return int(row["low"] > _ROUNDING) - int(row["high"] < -_ROUNDING)


def _subset(found: Found, model: str) -> str:
    """Return the templates that splits are compared on: the shared ones where they are known."""
    return "shared" if found.row(model, "spearman_knob", None, "shared")["value"] is not None else "all"


def _followers(found: Found) -> str:
    ways = {name: direction(found.row(name, "spearman_knob", None, _subset(found, name))) for name in found.judged}
    up = [name for name, way in ways.items() if way == 1]
    down = [name for name, way in ways.items() if way == -1]
    known = [name for name, way in ways.items() if way is not None]
    if not known:
        return "Whether depth follows the number of clauses cannot be judged: it takes two splits and varying depth."
    if not up:
        less = f" In {', '.join(down)} it falls." if down else ""
        which = f"any of {len(known)} models" if len(known) > 1 else known[0]
        return f"Answer depth does not rise with the number of clauses in {which}.{less if len(known) > 1 else ''}"
    return f"Answer depth rises with the number of clauses in {len(up)} of {len(known)} models: {', '.join(up)}."


def _baseline(found: Found) -> str:
    rows = {name: found.above(name, found.knobs[0]) for name in found.judged}
    if all(row["value"] is None for row in rows.values()):
        return (
            "There is no fixed-depth curve, so no saving is a result yet: a fixed lower depth may be as accurate. "
            "Evaluate with --depth 1:D."
        )
    above = [name for name, row in rows.items() if direction(row) == 1]
    split = SPLITS[found.knobs[0]]
    if not above:
        return (
            f"On {split}, no model is more accurate than a fixed depth of the same mean: choosing has earned nothing."
        )
    return f"On {split}, more accurate than a fixed depth of the same mean: {', '.join(above)}."


def _saving(found: Found, model: str) -> str:
    depth = found.row(model, "depth", found.knobs[0], "answer")["value"]
    most = found.row(model, "max_depth", None)["value"]
    if depth is None or most is None:
        return "It wrote no answer tokens."
    return f"Mean answer depth is {depth:.2f} of {most:.0f} on {SPLITS[found.knobs[0]]}."


def _curve(found: Found, model: str) -> str:
    parts, whose = [], ""
    for knob in found.knobs:
        row, unit = found.above(model, knob), quantity("above_curve")
        if row["value"] is None:
            return f"It cannot be held against fixed depths: {row['reason']}."
        parts.append(f"{SPLITS[knob]} {amount(row['value'], unit)} {interval(row['low'], row['high'], unit)}".strip())
        whose = found.reference or "its own model"
    return f"Points above the fixed-depth curve of {whose} at equal mean depth: {', '.join(parts)}."


def _depth(found: Found, model: str) -> str:
    subset = _subset(found, model)
    row = found.row(model, "spearman_knob", None, subset)
    if row["value"] is None:
        return f"Depth against splits is undefined: {row['reason']}."
    unit, way = quantity("spearman_knob"), direction(row)
    words = {1: "rises with", -1: "falls with", 0: "does not follow", None: "has no interval against"}[way]
    spearman = f"{amount(row['value'], unit)} {interval(row['low'], row['high'], unit)}".strip()
    templates = "the shared templates" if subset == "shared" else "all templates"
    return f"Answer depth {words} the number of clauses (Spearman {spearman}, on {templates})."
