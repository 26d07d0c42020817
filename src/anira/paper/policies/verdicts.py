"""What the numbers say about each policy, in sentences: need first, then equal compute, then alignment."""

from collections.abc import Sequence
from typing import Final

from anira.measure import FEWEST, NEED, quantity
from anira.measure.construction import cannot_show
from anira.paper.policies.measure import Compared, is_fixed
from anira.site import SMOKE, Badge, Note, amount, interval

CONSTANT: Final = 0.99
"""Share of tokens at one depth from which a policy counts as collapsed."""


def answer(found: Compared, *, scale: str) -> list[str]:
    """Return the sentences that the page begins with."""
    policies = [name for name in found.policies if not is_fixed(name)]
    lines = [_earners(found, policies), _need(found)]
    if scale == "smoke":
        lines.append(SMOKE)
    return [line for line in lines if line]


def badge(found: Compared) -> Badge:
    """Say how many policies have earned their depth."""
    states = [earned(found, name) for name in found.policies if not is_fixed(name)]
    judged, above = [state for state in states if state != "unknown"], states.count("above")
    if not judged:
        return Badge("no verdict yet", "open")
    return Badge(f"{above or 'none'} of {len(judged)} earned", "yes" if above else "no")


def verdicts(found: Compared) -> list[Note]:
    """Return a verdict for each policy; fixed depth is the curve that the others are held against."""
    return [Note(name, " ".join(_sentences(found, name))) for name in found.policies if not is_fixed(name)]


def earned(found: Compared, label: str, compute: str = "iterations") -> str:
    """Return how a policy stands to trained fixed depths: above, below, level, or unknown."""
    row = found.row(label, "above_fixed", compute)
    if row["value"] is None or row["low"] is None or row["n"] < FEWEST:
        return "unknown"
    return "above" if row["low"] > 0 else "below" if row["high"] < 0 else "level"


def collapsed_seeds(found: Compared, label: str) -> tuple[int, int]:
    """Return in how many seeds a policy gives almost all tokens the same depth, and how many seeds there are."""
    shares = found.runs.filter(variant=label, quantity="modal_share")
    rule = found.seeds.filter(variant=label, quantity="modal_share").row(0, named=True)
    main = shares.filter(shares["select"] == rule["select"])
    main = main.filter(main["threshold"].eq_missing(rule["threshold"]))
    return int((main["value"] >= CONSTANT).sum()), len(main)


def _earners(found: Compared, policies: Sequence[str]) -> str:
    above = [name for name in policies if earned(found, name) == "above"]
    unknown = [name for name in policies if earned(found, name) == "unknown"]
    if not policies:
        return f"There is no policy to judge on {found.task}: only fixed depths were compared."
    if len(unknown) == len(policies):
        return f"No verdict on {found.task} yet: it takes trained fixed depths and at least {FEWEST} seeds."
    if not above:
        return f"On {found.task}, no policy lies above the trained fixed depths at equal iterations."
    judged = len(policies) - len(unknown)
    return (
        f"On {found.task}, {len(above)} of {judged} policies {'lie' if len(above) > 1 else 'lies'} above the trained "
        f"fixed depths at equal iterations: {', '.join(above)}."
    )


def _need(found: Compared) -> str:
    """Say whether depth is needed on this task, by models trained at depth 1 and at full depth."""
    shallow, deep = (found.row(name, "accuracy_hardest") for name in ("fixed-1", "fixed"))
    if shallow["value"] is None or deep["value"] is None:
        return ""
    unit = quantity("accuracy_hardest")
    gain = deep["value"] - shallow["value"]
    verdict = "Depth is needed here" if gain >= NEED else "Depth is not needed here, so alignment cannot be judged"
    return (
        f"{verdict}: at the hardest knob ({deep['knob']}), models trained at depth 1 get "
        f"{amount(shallow['value'], unit)} right, and models trained at full depth {amount(deep['value'], unit)}."
    )


def _sentences(found: Compared, label: str) -> list[str]:
    return [text for text in (_collapse(found, label), _earned(found, label), _alignment(found, label)) if text]


def _collapse(found: Compared, label: str) -> str:
    constant, seeds = collapsed_seeds(found, label)
    if not constant:
        return ""
    depth = amount(found.row(label, "depth", "answer")["value"], quantity("depth"))
    where = "" if constant == seeds else f" in {constant} of {seeds} seeds"
    return f"Collapsed{where}: at least 99% of tokens have the same depth (mean answer depth {depth})."


def _earned(found: Compared, label: str) -> str:
    row = found.row(label, "above_fixed", "iterations")
    if row["value"] is None:
        return f"Not comparable with fixed depths: {row['reason'] or 'there are none'}."
    unit = quantity("above_fixed")
    gap = f"{amount(row['value'], unit)} points {interval(row['low'], row['high'], unit)}".strip()
    words = {
        "above": f"Above trained fixed depths at equal iterations ({gap}): it has earned its depth.",
        "level": f"Not above trained fixed depths at equal iterations ({gap}): it has earned nothing.",
        "below": f"Below trained fixed depths at equal iterations ({gap}): it has earned nothing.",
        "unknown": f"{gap} against trained fixed depths at equal iterations; {row['n']} of the {FEWEST} seeds that a "
        "verdict takes.",
    }
    flops = {"above": "", "unknown": ""}.get(earned(found, label, "flops"), "By all FLOPs it is not above them.")
    state = earned(found, label)
    return f"{words[state]} {flops}".strip() if state == "above" else words[state]


def _alignment(found: Compared, label: str) -> str:
    need, slope = found.row(label, "need"), found.row(label, "slope")
    if need["value"] is None:
        return "Need is unknown, so alignment cannot be judged."
    if need["value"] < NEED:
        points = amount(need["value"], quantity("need"))
        return f"Need is {points} points, less than {100 * NEED:.0f}: alignment cannot be judged."
    if slope["value"] is None:
        return f"Alignment is undefined: {slope['reason']}."
    cannot = cannot_show(slope["policy"], "slope")
    if cannot:
        return f"Alignment cannot be shown: {cannot}."
    if slope["low"] is None or slope["n"] < FEWEST:
        rise = amount(slope["value"], quantity("slope"))
        return f"Depth is needed; its slope over the knob is {rise}, without a verdict."
    rank = amount(found.row(label, "spearman_knob")["value"], quantity("spearman_knob"))
    way = "rises with" if slope["low"] > 0 else "falls with" if slope["high"] < 0 else "does not follow"
    return f"Depth is needed, and answer depth {way} the knob (Spearman {rank})."
