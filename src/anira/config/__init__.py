"""Machinery of configurations: strict loading and saving, a stable hash, the error type for users.

The configurations themselves are frozen keyword-only dataclasses that live beside what they configure.
"""

from anira.config.errors import SAME_SIGNAL, Interrupted, UserError, nearest
from anira.config.strict import check_finite, config_hash, from_dict, json_text, load, save, to_dict

__all__ = [
    "SAME_SIGNAL",
    "Interrupted",
    "UserError",
    "check_finite",
    "config_hash",
    "from_dict",
    "json_text",
    "load",
    "nearest",
    "save",
    "to_dict",
]
