"""Machinery of configurations: strict loading and saving, a stable hash, the error type for users.

The configurations themselves are frozen keyword-only dataclasses that live beside what they configure.
"""

from anira.config.errors import SAME_SIGNAL, Interrupted, UserError, nearest
from anira.config.extras import how_to_install
from anira.config.files import remove_parts, replacing, replacing_folder, write_file, write_files
from anira.config.strict import check_finite, config_hash, from_dict, json_text, later, load, save, to_dict
from anira.config.terminal import command, layout, printable

__all__ = [
    "SAME_SIGNAL",
    "Interrupted",
    "UserError",
    "check_finite",
    "command",
    "config_hash",
    "from_dict",
    "how_to_install",
    "json_text",
    "later",
    "layout",
    "load",
    "nearest",
    "printable",
    "remove_parts",
    "replacing",
    "replacing_folder",
    "save",
    "to_dict",
    "write_file",
    "write_files",
]
