"""What lies in a folder that somebody else may have filled: no name and no link leads out of it."""

import os
from pathlib import Path

from anira.config.errors import UserError


def inside(folder: Path, *names: str) -> Path:
    """Return the path of something in a folder; a name or a link that could lead elsewhere is refused.

    The folder itself may be reached through links: the user named it.

    >>> inside(Path("run"), "records", "final").as_posix()
    'run/records/final'
    """
    path = folder
    for name in names:
        path = path / check_name(name)
        if path.is_symlink():
            raise UserError(f"{path} is a symbolic link: what belongs to {folder} must lie in it")
    return path


def check_name(name: str) -> str:
    """Return a name that stands for something directly in a folder; `..`, `/tmp` and hidden names are refused.

    >>> check_name("step-20.bak")
    'step-20.bak'
    """
    separators = {"/", os.sep, os.altsep or "/", "\0"}
    if not name or name.startswith(".") or separators & set(name):
        reason = "it must not be empty, begin with a dot, or have a slash in it"
        raise UserError(f"{name!r} cannot be the name of something in a folder: {reason}")
    return name


def subfolders(folder: Path) -> list[Path]:
    """Return the folders in a folder by name, hidden ones aside; links are refused. No folder has none."""
    if not folder.is_dir():
        return []
    names = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    return [path for path in (inside(folder, name) for name in names) if path.is_dir()]
