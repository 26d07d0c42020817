"""Results appear under their name whole or not at all, whatever happens while they are written.

Everything is written under a name of its own beside the final one, brought to the disk, and renamed. A full disk, an
interrupt or a kill leaves what was there before; the next call removes what a killed process left behind.
"""

import contextlib
import errno
import os
import platform
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from anira.config.errors import UserError

PART: Final = ".part"
"""How the name of everything ends that is still being written."""
_OLD: Final = f".old{PART}"


def write_file(path: Path, content: str | bytes) -> None:
    """Write one file."""
    write_files({path: content})


def write_files(contents: Mapping[Path, str | bytes]) -> None:
    """Write files that belong together: none gets its name before all are on the disk. Missing folders are made."""
    with contextlib.ExitStack() as stack:
        for folder in dict.fromkeys(path.parent for path in contents):
            stack.enter_context(_making(folder))
        parts = {path: stack.enter_context(replacing(path)) for path in contents}
        for path, part in parts.items():
            with _failures_named(path):
                part.write_bytes(_encoded(contents[path]))
                _sync(part)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield an empty file beside `path`, which becomes `path` at the end, or vanishes if anything went wrong.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "table.csv"
    >>> with replacing(path) as part:
    ...     _ = part.write_text("knob,depth")
    ...     path.exists()
    False
    >>> path.read_text()
    'knob,depth'
    """
    part = _part(path)
    with _failures_named(path), _removed_at_the_end(part):
        _remove_stale(path)
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        part.touch()  # a folder that cannot be written in is found before any work
        yield part
        _sync(part)
        part.replace(path)
        _sync_names(path.parent)


@contextlib.contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """Yield an empty folder beside `path`, which takes its place at the end, or vanishes if anything went wrong."""
    part = _part(path)
    with _failures_named(path), _removed_at_the_end(part):
        path.parent.mkdir(parents=True, exist_ok=True)
        _restore(path.parent)
        _remove_stale(path)
        part.mkdir()
        yield part
        for inside in part.rglob("*"):
            _sync(inside)
        _exchange(part, path)
        _sync_names(path.parent)


def remove_parts(folder: Path) -> None:
    """Remove what was never finished in a folder; only for whoever knows that nobody else is writing there."""
    _restore(folder)
    for part in folder.glob(f".*{PART}"):
        _remove(part)


def _part(path: Path) -> Path:
    """Return where a file is written first: its name says whose it is, so that two processes never share it."""
    return path.with_name(f".{path.name}.{platform.node()}.{os.getpid()}{PART}")


def _remove_stale(path: Path) -> None:
    """Remove what processes of this machine that no longer live left of earlier calls."""
    head = f".{path.name}.{platform.node()}."
    for found in path.parent.iterdir():
        number = found.name.removeprefix(head).removesuffix(PART)
        if found.name.startswith(head) and found.name.endswith(PART) and number.isdecimal() and not _lives(int(number)):
            _remove(found)


def _exchange(part: Path, path: Path) -> None:
    """Put a folder in the place of another: two steps, because one with something in it cannot be replaced in one."""
    before = path.with_name(f".{path.name}{_OLD}")
    if path.exists():
        path.rename(before)
    try:
        part.rename(path)
    finally:
        _restore(path.parent)
        _remove(before)


def _restore(folder: Path) -> None:
    """Give folders their name back whose process was killed between the two steps."""
    for before in folder.glob(f".*{_OLD}"):
        path = before.with_name(before.name.removesuffix(_OLD)[1:])
        if not path.exists():
            before.rename(path)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    return True


@contextlib.contextmanager
def _making(folder: Path) -> Iterator[None]:
    """Make a folder and those it lies in; they go again if nothing comes into them."""
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    try:
        with _failures_named(folder):
            folder.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        for place in missing:
            with contextlib.suppress(OSError):
                place.rmdir()
        raise


@contextlib.contextmanager
def _failures_named(path: Path) -> Iterator[None]:
    """Say which file could not be written; what is wrong with something else keeps its own words."""
    try:
        yield
    except (UserError, BrokenPipeError):
        raise
    except Exception as error:
        # safetensors, tokenizers and polars are not written in Python, and a full disk is an error of their own there.
        elsewhere = re.search(r"\(os error (\d+)\)", str(error))
        if elsewhere or isinstance(error, OSError):
            reason = os.strerror(int(elsewhere[1])) if elsewhere else getattr(error, "strerror", None) or error
            raise UserError(f"cannot write {path}: {reason}") from error
        raise


@contextlib.contextmanager
def _removed_at_the_end(part: Path) -> Iterator[None]:
    try:
        yield
    finally:
        _remove(part)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)


def _encoded(content: str | bytes) -> bytes:
    # A file name that is not text reaches us with lone surrogates, which no encoding has.
    return content.encode(errors="backslashreplace") if isinstance(content, str) else content


def _sync(path: Path) -> None:
    """Bring a file to the disk, where a full one is noticed at last."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_names(folder: Path) -> None:
    with contextlib.suppress(OSError):  # some file systems have no such call, and the files themselves are safe
        _sync(folder)
