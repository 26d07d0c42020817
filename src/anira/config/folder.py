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
    """Return a name if it stands for something directly in a folder, hidden files aside.

    >>> check_name("..")
    Traceback (most recent call last):
    anira.config.errors.UserError: '..' cannot be the name of something in a folder: it must not be empty, ...
    """
    separators = {"/", os.sep, os.altsep or "/", "\0"}
    if not name or name.startswith(".") or separators & set(name):
        reason = "it must not be empty, begin with a dot, or have a slash in it"
        raise UserError(f"{name!r} cannot be the name of something in a folder: {reason}")
    return name


def subfolders(folder: Path) -> list[Path]:
    """Return the folders in a folder by name, links aside; there are none in a folder that does not exist."""
    try:
        found = sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [path for path in found if path.is_dir() and not path.is_symlink()]
