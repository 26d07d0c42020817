"""Any command line does what it says or is refused in one line, and what is refused leaves no trace."""

import contextlib
import io
import json
import shutil
import sys
import traceback
from random import Random

import pytest
import torch
from tests.fuzz.command_lines import draw_line, tree
from tests.training_support import train_tiny

from anira.cli import main

PARTS, LINES = 4, 110


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return train_tiny(tmp_path_factory.mktemp("trained"), steps=4)


@pytest.fixture
def folder(tmp_path, trained, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "here").mkdir()  # `..` is a place, too
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path


def fill(folder, trained):
    """Make the folder in which command lines run anew; return what is there."""
    for path in [*(folder / "here").iterdir(), *folder.iterdir()]:
        if path != folder / "here":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.copytree(trained, folder / "here" / "run")
    (folder / "here" / "file").write_text("text\n")
    (folder / "here" / "folder").mkdir()
    return tree(folder)


def run(words):
    """Return status, stdout and stderr of `anira WORDS...`; an exception is a status of its own."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main(words)
        except SystemExit as stop:
            status = int(stop.code or 0)
        except BaseException:
            status = "".join(traceback.format_exc()[-1500:])
        finally:
            torch.set_num_threads(1)
    return status, out.getvalue(), err.getvalue()


def what_is_wrong(words, status, out, err, *, untouched):
    """Return a complaint, or nothing."""
    if status == 0:
        return "" if "--json" not in words or strict_json(out) else "not JSON"
    if status != 2:
        return f"status {status}"
    if "is not finite, and " in err:  # a run that began and could not go on; what it kept is good
        return "" if err.splitlines()[-1].startswith("anira: the ") else "no clear last line"
    if not err.startswith("anira: ") or err.count("\n") != 1 or not err.endswith("\n") or out:
        return "not one line"
    return "" if untouched else "something was written"


def strict_json(text):
    """Say whether a text is JSON, whole or line by line, without NaN and the like."""
    for pieces in ([text], text.splitlines()):
        with contextlib.suppress(json.JSONDecodeError):
            for piece in pieces:
                json.loads(piece, parse_constant=pytest.fail)
            return True
    return False


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("part", range(PARTS))
def test_a_line_works_or_is_refused(folder, trained, part):
    draw, failures = Random(part), []
    before = fill(folder, trained)
    for _ in range(LINES):
        words = draw_line(draw)
        status, out, err = run(words)
        after = tree(folder)
        wrong = what_is_wrong(words, status, out, err, untouched=before == after)
        if wrong:
            failures.append(f"anira {words}: {wrong}\n{out[-1000:]}\n{err[-1000:]}")
        if before != after:
            before = fill(folder, trained)
    assert not failures, "\n\n".join(failures)
