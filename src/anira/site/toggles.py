"""What a reader may switch on and off in any chart: names in its legend, and the small marks of single seeds."""

from collections.abc import Iterator
from typing import Any, Final

Spec = dict[str, Any]
_FAINT: Final = 0.06
_PICKED, _SEEDS = "picked", "seeds"


def with_toggles(spec: Spec) -> Spec:
    """Change a Vega-Lite specification so that a click in its legend picks who is drawn, and a box hides seeds.

    What is not picked turns faint; without a pick all are drawn. The box appears where something has several seeds.
    """
    units = [unit for unit in _units(spec) if "opacity" not in unit.get("encoding", {})]
    coloured = [unit for unit in units if "field" in unit["encoding"].get("color", {})]
    seeds = [unit for unit in units if _has_seeds(unit, spec)]
    if coloured:
        coloured[0]["params"] = [*coloured[0].get("params", []), _legend(coloured[0]["encoding"]["color"]["field"])]
    if seeds:
        box = {"name": _SEEDS, "value": True, "bind": {"input": "checkbox", "name": "single seeds "}}
        spec["params"] = [*spec.get("params", []), box]
    for unit in units:
        tests = [{"param": _PICKED}] * (unit in coloured) + [_SEEDS] * (unit in seeds)
        if tests:
            opacity = unit["mark"].get("opacity", 1)
            faint = 0 if unit in seeds else min(_FAINT, opacity)
            unit["encoding"]["opacity"] = {"condition": {"test": {"and": tests}, "value": opacity}, "value": faint}
    return spec


def _units(spec: Spec) -> Iterator[Spec]:
    """Yield every single view of a specification that draws marks by an encoding."""
    if "encoding" in spec and "mark" in spec:
        yield spec
    for kind in ("layer", "hconcat", "vconcat", "concat"):
        for part in spec.get(kind, ()):
            yield from _units(part)
    if "spec" in spec:
        yield from _units(spec["spec"])


def _legend(field: str) -> Spec:
    # Every click adds a name or takes it away: a phone has no shift key.
    select = {"type": "point", "fields": [field], "toggle": "true"}
    return {"name": _PICKED, "select": select, "bind": "legend"}


def _has_seeds(unit: Spec, whole: Spec) -> bool:
    """Say whether a view draws a mark for each of several seeds."""
    tips = unit["encoding"].get("tooltip", [])
    named = any(tip.get("field") == "seed" for tip in (tips if isinstance(tips, list) else [tips]))
    data = unit.get("data") or whole.get("data") or {}  # data that all views share stand above them
    rows = whole.get("datasets", {}).get(data.get("name"), [])
    return named and len({row.get("seed") for row in rows}) > 1
