"""What the registered rule says (docs/studies.md, study 1): does depth follow need, size, or neither?"""

from typing import Final, Literal

from anira.measure import FEWEST, NEED
from anira.paper.found import Found, trained_need
from anira.site import Badge, Note
from anira.site.tables import estimate_cell
from anira.site.verdicts import NAMES

NEEDY, TWIN = "words", "words-z6"
"""Words over S3, and their twin, as presets name them."""
GROUPS: Final = {NEEDY: "S3", TWIN: "Z6"}
SMALLEST_GAP: Final = 0.10
"""Iterations per letter that depth must rise more over S3."""
SMALLEST_SLOPE: Final = 0.05
"""Iterations per letter from which a slope over Z6 counts."""
LARGEST_LOSS: Final = 0.02
"""Accuracy that depth 1 may lose over Z6 at most, for the twin to be one without need."""

Follows = Literal["need", "size", "neither", "unknown"]


def invalid(found: Found) -> str:
    """Say why the study cannot be judged, if it cannot: S3 must need depth, and Z6 must not."""
    losses = {task: trained_need(found.part(task=task))[0] for task in GROUPS}
    if any(loss is None for loss in losses.values()):
        return "Need is unknown: it takes models trained at depth 1 and at full depth over both groups."
    if losses[NEEDY] < NEED:  # type: ignore[operator]
        return "Depth is not needed over S3, so the study cannot be judged."
    if losses[TWIN] >= LARGEST_LOSS:  # type: ignore[operator]
        return "Depth is needed over Z6 too, so the twins do not differ in need and the study cannot be judged."
    return ""


def follows(found: Found, variant: str) -> Follows:
    """Return what a policy's depth follows."""
    gap = found.row("slope_above_twin", task=NEEDY, variant=variant)
    if gap["value"] is None or gap["n"] < FEWEST:
        return "unknown"
    if gap["low"] > 0 and gap["value"] >= SMALLEST_GAP:
        return "need"
    return "size" if rises_without_need(found, variant) else "neither"


def rises_without_need(found: Found, variant: str) -> bool:
    """Say whether depth rises with letters over Z6 too."""
    slope = found.row("expected_slope", task=TWIN, variant=variant)
    return slope["low"] is not None and slope["low"] > 0 and slope["value"] >= SMALLEST_SLOPE


def badge(found: Found) -> Badge:
    """Say what depth follows, in how many of the policies."""
    words = [word for name in NAMES if (word := follows(found, name)) != "unknown"]
    if not words or invalid(found):
        return Badge("no verdict" if words else "no verdict yet", "open")
    need = words.count("need")
    return Badge(f"{need or 'none'} of {len(words)} follow need", "yes" if need else "no")


def answer(found: Found) -> list[str]:
    """Return the sentences that the page begins with."""
    said = [_line(found, name) for name in NAMES]
    return [*said, invalid(found) or _need(found)]


def _line(found: Found, variant: str) -> str:
    word, name = follows(found, variant), NAMES[variant]
    if word == "unknown":
        return f"{name}: no verdict yet, it takes {FEWEST} seeds over both groups."
    also = " It rises with size as well." if word == "need" and rises_without_need(found, variant) else ""
    verb = {"need": "follows need", "size": "follows size, not need", "neither": "follows neither need nor size"}[word]
    return f"The depth of {name} {verb}.{also}"


def _need(found: Found) -> str:
    return " ".join(f"Over {group}, {trained_need(found.part(task=task))[1]}." for task, group in GROUPS.items())


def verdicts(found: Found) -> list[Note]:
    """Return a verdict for each policy, with the slopes behind it."""
    return [Note(f"{words}: {follows(found, name)}", _slopes(found, name)) for name, words in NAMES.items()]


def _slopes(found: Found, variant: str) -> str:
    cells = {
        group: estimate_cell(found.row("expected_slope", task=task, variant=variant)) for task, group in GROUPS.items()
    }
    each = " and ".join(f"{cell.text} {cell.small}".strip() + f" over {group}" for group, cell in cells.items())
    gap = estimate_cell(found.row("slope_above_twin", task=NEEDY, variant=variant))
    paired = f"by seed the first is larger by {gap.text} {gap.small}".strip()
    return f"Expected answer depth rises per letter by {each}; {paired}."
