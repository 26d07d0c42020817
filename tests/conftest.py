"""What several test folders share: checked types, and running the command line, in this process or in a child."""

import gc
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import NamedTuple

import pytest
import tests.type_checks
from hypothesis import settings

# Before the first import of the package: each of its functions then checks the types and shapes that it declares.
tests.type_checks.install("anira")

from anira.cli import PLUGINS, main  # noqa: E402

# What the system holds for us outlives a process that is killed, and nobody pulls the plug here.
os.fsync = lambda descriptor: None

# A slow machine is no bug: nothing here is judged by absolute time.
settings.register_profile("anira", deadline=None, max_examples=50)
settings.register_profile("thorough", deadline=None, max_examples=400)  # pytest --hypothesis-profile thorough
settings.load_profile("anira")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put files with slow tests first: a long one that begins last would leave the other worker without work."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


def pytest_collection_finish() -> None:
    """Take modules and tests out of the garbage collector's sight: they stay, and each full collection reads them."""
    gc.collect()
    gc.freeze()


class Result(NamedTuple):
    status: int
    out: str
    err: str


Run = Callable[..., Result]


@pytest.fixture(autouse=True)
def _no_plugins_of_others() -> Iterator[None]:
    """Forget the plug-ins that a test has named: jobs that later ones start would be told to import them."""
    yield
    PLUGINS.clear()


@pytest.fixture
def anira(capsys, monkeypatch) -> Run:
    """Run `anira WORDS...` in this process."""
    monkeypatch.setenv("COLUMNS", "100")

    def run(*words: str) -> Result:
        capsys.readouterr()
        try:
            status = main([str(word) for word in words])
        except SystemExit as stop:
            status = int(stop.code or 0)
        return Result(status, *capsys.readouterr())

    return run


@pytest.fixture
def anira_child(tmp_path) -> Run:
    """Run `anira WORDS...` in a process of its own, in an empty folder."""

    def run(*words: str) -> Result:
        done = subprocess.run(
            [sys.executable, "-m", "anira.cli", *map(str, words)],
            cwd=tmp_path,
            env={**os.environ, "COLUMNS": "100"},
            capture_output=True,
            text=True,
            check=False,
        )
        return Result(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def file_limit() -> Callable[[int], AbstractContextManager[None]]:
    """Let every write beyond so many bytes of a file fail, as on a full disk, whoever writes it."""

    @contextmanager
    def limit(size: int) -> Iterator[None]:
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    return limit
