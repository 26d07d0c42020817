"""What the numbers say about each policy, in sentences: need first, then equal compute, then alignment."""

from collections.abc import Sequence
from typing import Final

from anira.measure import FEWEST, NEED
from anira.measure.construction import cannot_show
from anira.paper.found import Found, trained_need
from anira.paper.policies.measure import by_main_rule, is_fixed, policies, row
from anira.site import Badge, Note
from anira.site.tables import estimate_cell

CONSTANT: Final = 0.99
"""Share of tokens at one depth from which a policy counts as collapsed."""


def answer(found: Found) -> list[str]:
    """Return the sentences that the page begins with."""
    return [line for line in (_earners(found, _judged(found)), _need(found)) if line]


def badge(found: Found) -> Badge:
    """Say how many policies have earned their depth."""
    states = [state for name in _judged(found) if (state := earned(found, name)) != "unknown"]
    if not states:
        return Badge("no verdict yet", "open")
    above, level, below = map(states.count, ("above", "level", "below"))
    words = [f"{above or 'none'} of {len(states)} earned", *[f"{level} open"] * bool(level)]
    return Badge(", ".join(words), "yes" if above else "no" if below == len(states) else "open")


def verdicts(found: Found) -> list[Note]:
    """Return a verdict for each policy; fixed depth is the curve that the others are held against."""
    rules = (_collapse, _earned, _alignment)
    return [Note(name, " ".join(filter(None, (say(found, name) for say in rules)))) for name in _judged(found)]


def _judged(found: Found) -> list[str]:
    return [name for name in policies(found) if not is_fixed(name)]


def earned(found: Found, label: str, compute: str = "iterations") -> str:
    """Return how a policy stands to trained fixed depths: above, below, level, or unknown."""
    gap = row(found, label, "above_fixed", compute)
    if gap["value"] is None or gap["low"] is None or gap["n"] < FEWEST:
        return "unknown"
    return "above" if gap["low"] > 0 else "below" if gap["high"] < 0 else "level"


def collapsed_seeds(found: Found, label: str) -> tuple[int, int]:
    """Return in how many seeds a policy gives almost all tokens the same depth, and how many seeds there are."""
    shares = by_main_rule(found.runs).filter(variant=label, quantity="modal_share")["value"]
    return int((shares >= CONSTANT).sum()), len(shares)


def _earners(found: Found, names: Sequence[str]) -> str:
    states = {name: earned(found, name) for name in names}
    above = [name for name, state in states.items() if state == "above"]
    judged = [name for name, state in states.items() if state != "unknown"]
    if not names:
        return f"There is no policy to judge on {found.task}: only fixed depths were compared."
    if not judged:
        return f"No verdict on {found.task} yet: it takes trained fixed depths and at least {FEWEST} seeds."
    below = [name for name in judged if states[name] == "below"]
    said = [
        f"On {found.task}, {len(above) or 'none'} of {len(judged)} policies "
        f"{'lies' if len(above) == 1 else 'lie'} above the trained fixed depths at equal iterations"
        f"{': ' * bool(above)}{', '.join(above)}.",
        *([f"{len(below)} lie{'s' * (len(below) == 1)} below: {', '.join(below)}."] if below else []),
        *(["For the others it is open."] if len(above) + len(below) < len(judged) else []),
    ]
    return " ".join(said)


def _need(found: Found) -> str:
    """Say whether depth is needed on this task, by models trained at depth 1 and at full depth."""
    gain, said = trained_need(found)
    if gain is None:
        return ""
    verdict = "Depth is needed here" if gain >= NEED else "Depth is not needed here, so alignment cannot be judged"
    return f"{verdict}: at the hardest knob, {said}."


def _collapse(found: Found, label: str) -> str:
    constant, seeds = collapsed_seeds(found, label)
    if not constant:
        return ""
    depth = estimate_cell(row(found, label, "depth", "answer")).text
    where = "" if constant == seeds else f" in {constant} of {seeds} seeds"
    return f"Collapsed{where}: at least 99% of tokens have the same depth (mean answer depth {depth})."


def _earned(found: Found, label: str) -> str:
    found_gap = row(found, label, "above_fixed", "iterations")
    if found_gap["value"] is None:
        return f"Not comparable with fixed depths: {found_gap['reason'] or 'there are none'}."
    cell, state = estimate_cell(found_gap), earned(found, label)
    gap = f"{cell.text} points {cell.small}".strip()
    if state == "unknown":
        seeds = f"{found_gap['n']} of the {FEWEST} seeds that a verdict takes"
        return f"{gap} against trained fixed depths at equal iterations; {seeds}."
    if state == "level":
        seeds = f"{found_gap['n']} seeds do not tell it from them"
        return f"Open: at equal iterations it is {gap} from trained fixed depths, and {seeds}."
    where, so = {
        "above": ("Above", "it has earned its depth"),
        "below": ("Below", "it has earned nothing"),
    }[state]
    by_flops = state == "above" and earned(found, label, "flops") in ("level", "below")
    flops = " By all FLOPs it is not above them." if by_flops else ""
    return f"{where} trained fixed depths at equal iterations ({gap}): {so}.{flops}"


def _alignment(found: Found, label: str) -> str:
    need, slope = row(found, label, "need"), row(found, label, "slope")
    if need["value"] is None:
        return "Need is unknown, so alignment cannot be judged."
    if need["value"] < NEED:
        return f"Need is {estimate_cell(need).text} points, less than {100 * NEED:.0f}: alignment cannot be judged."
    if slope["value"] is None:
        return f"Alignment is undefined: {slope['reason']}."
    cannot = cannot_show(slope["policy"], "slope")
    if cannot:
        return f"Alignment cannot be shown: {cannot}."
    if slope["low"] is None or slope["n"] < FEWEST:
        return f"Depth is needed; its slope over the knob is {estimate_cell(slope).text}, without a verdict."
    rank = estimate_cell(row(found, label, "spearman_knob")).text
    way = "rises with" if slope["low"] > 0 else "falls with" if slope["high"] < 0 else "does not follow"
    return f"Depth is needed, and answer depth {way} the knob (Spearman {rank})."
