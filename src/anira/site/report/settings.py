"""What runs were asked to do: flat settings, what sets runs apart, and what differs from the paper."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from anira.config import json_text
from anira.config.private import without_paths
from anira.measure.records.folders import HOUSEKEEPING


class Difference(NamedTuple):
    """A setting in which runs are not what they are compared with."""

    name: str
    here: str
    there: str


def flatten(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested settings under dotted names.

    >>> flatten({"steps": 10, "model": {"policy": {"name": "anira-o"}}})
    {'steps': 10, 'model.policy.name': 'anira-o'}
    """
    flat: dict[str, Any] = {}
    for name, value in config.items():
        if isinstance(value, Mapping):
            flat |= flatten(value, f"{prefix}{name}.")
        else:
            flat[f"{prefix}{name}"] = value
    return flat


def differences(pairs: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> list[Difference]:
    """Return the settings in which some run differs from its reference, housekeeping aside.

    Where runs differ among themselves, their values stand side by side. A setting that one side does not state is not
    compared.

    >>> differences([({"steps": 10, "gamma": 0.1}, {"steps": 20, "gamma": 0.1}), ({"steps": 15}, {"steps": 20})])
    [Difference(name='steps', here='10 / 15', there='20')]
    """
    values: dict[str, list[tuple[str, str]]] = {}
    for config, reference in pairs:
        here, there = flatten(config), flatten(reference)
        for name in here.keys() & there.keys() - HOUSEKEEPING:
            values.setdefault(name, []).append((show(here[name]), show(there[name])))
    order = dict.fromkeys(name for config, _ in pairs for name in flatten(config))
    return [
        Difference(name, *(" / ".join(dict.fromkeys(side)) for side in zip(*values[name], strict=True)))
        for name in order
        if any(here != there for here, there in values.get(name, []))
    ]


def show(value: Any) -> str:
    """Write a setting for a reader.

    >>> show(250000), show(1e-4), show(None), show([3, 4]), show(True)
    ('250,000', '0.0001', '-', '3, 4', 'yes')
    """
    if value is None or value == "":
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list | tuple):
        return ", ".join(map(show, value))
    return str(value)


def experiment_names(variants: Sequence[str], settings: Sequence[Mapping[str, Any]]) -> list[str]:
    """Name runs by their variant and, where several experiments share it, by the settings in which these differ.

    Runs that differ in nothing but the seed are one experiment and get the same name.

    >>> experiment_names(["anira-o", "anira-o", "fixed"], [{"gamma": 0.1}, {"gamma": 0.2}, {}])
    ['anira-o, gamma 0.1', 'anira-o, gamma 0.2', 'fixed']
    """
    known = [{key: value for key, value in flatten(one).items() if key not in HOUSEKEEPING} for one in settings]
    flat = [json.loads(json_text(one)) for one in known]
    names = []
    for variant, own in zip(variants, flat, strict=True):
        rivals = [other for name, other in zip(variants, flat, strict=True) if name == variant]
        keys = [key for key in own if any(other.get(key) != own[key] for other in rivals)]
        names.append(
            ", ".join([variant, *(f"{key.rpartition('.')[2]} {show(without_paths(own[key]))}" for key in keys)])
        )
    return names
