"""What of a machine must not be shown to others: paths. What else a run notes of it is left out as a whole."""

import re
from collections.abc import Mapping
from typing import Any, Final

_PATH: Final = re.compile(r"(~[^/\\\s]*[/\\]|//?[^/\s]|\\\\|file:|[A-Za-z]:[/\\]|(.*[/\\])?\.\.([/\\]|$))")
"""How a path out of the working directory begins (~/, /home, //server, \\\\server, file:, C:), or .. anywhere in it."""


def without_paths(value: Any) -> Any:
    """Return plain values in which every path of a machine is its last name only.

    >>> without_paths({"init_from": "/home/me/models/base", "preset": "mano-fixed-cpu", "rates": [0.5]})
    {'init_from': 'base', 'preset': 'mano-fixed-cpu', 'rates': [0.5]}
    """
    if isinstance(value, Mapping):
        return {name: without_paths(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [without_paths(one) for one in value]
    if isinstance(value, str) and _PATH.match(value):
        return re.split(r"[\\/]", value.rstrip("\\/"))[-1].lstrip("~.")
    return value
