"""Damaged run folders, through every command that reads one: one clear line, or the result of the whole run.

A command that refuses changes nothing, and no command touches what lies outside of the folder.
"""

import contextlib
import hashlib
import io
import os
import random
import shutil
import traceback
from pathlib import Path

import polars as pl
import pytest
from tests.fuzz.damage import DAMAGES, Place
from tests.training_support import begin, metrics, tiny_config, train_tiny

from anira.cli import main
from anira.training import RunFolder, train

SEEDS = range(6)
CASES = 55
COMMANDS = {
    "analyze": ("analyze", "run", "--json"),
    "evaluate": ("evaluate", "run", "-n", "2", "--knobs", "2", "--name", "drawn"),
    "generate": ("generate", "run", "+ 1 2 <ans>", "--json"),
    "resume": ("train", "--resume", "run"),
    "go on": ("train", "--resume", "run"),
    "report": ("report", "run", "--out", "page.html"),
}
WEIGHTS = {"analyze": 6, "evaluate": 3, "generate": 4, "resume": 3, "go on": 2, "report": 3}

LAST = ("checkpoints/step-8", "records/final/evaluation.json", "config.json")


class Stop(Exception):
    """Ends a training in the middle."""


def stopped(root: Path) -> Path:
    """Train to the fifth of eight steps: the last checkpoint is of step 4, and metrics go beyond it."""
    path = begin(root, tiny_config(log_every=1))

    def report(line):
        if line["step"] == 5:
            raise Stop

    with pytest.raises(Stop), RunFolder(path) as folder:
        train(folder.read_config(), path, resume=False, report=report, trackers=[])
    return path


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Whole runs, by the command that they are for: the run, and what the command makes of it."""
    root = tmp_path_factory.mktemp("whole")
    finished, begun = train_tiny(root / "finished", log_every=1), stopped(root / "begun")
    other = train_tiny(root / "other", "mano-anira-e-smoke", seed=1, log_every=1)
    found = {}
    for name in COMMANDS:
        run = begun if name == "go on" else finished
        place = make_place(root / f"of {name}", run, other, 0)
        status, out, err = call(place, name)
        assert status == 0, err
        found[name] = (run, other, out, place.run.parent)
    return found


def make_place(folder: Path, run: Path, other: Path, seed: int) -> Place:
    (folder / "outside" / "folder").mkdir(parents=True)
    (folder / "outside" / "mine").write_text("mine")
    shutil.copytree(run, folder / "cwd" / "run", symlinks=True)
    return Place(folder / "cwd" / "run", other, folder / "outside", random.Random(seed))


def call(place: Place, name: str) -> tuple[object, str, str]:
    """Run a command in the folder where the run lies; an exception is returned as its traceback."""
    out, err, before = io.StringIO(), io.StringIO(), Path.cwd()
    os.chdir(place.run.parent)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status: object = main(list(COMMANDS[name]))
    except BaseException:
        status = traceback.format_exc()
    finally:
        os.chdir(before)
    return status, out.getvalue(), err.getvalue()


def content(folder: Path) -> dict[str, str]:
    """Return everything in a folder that a command could change, links as links."""
    found = {}
    for path in sorted(folder.rglob("*")):
        kind = "link" if path.is_symlink() else "folder" if path.is_dir() else "file" if path.is_file() else "other"
        seen = bytes(path.readlink()) if kind == "link" else path.read_bytes() if kind == "file" else b""
        if path.name != ".lock" and path.suffix != ".part":  # what a killed process left behind goes at any time
            found[str(path.relative_to(folder))] = f"{kind} {hashlib.sha256(seen).hexdigest()}"
    return found


def complaint(place: Place, name: str, whole) -> tuple[object, str | None]:
    """Run a command on a damaged run; return its exit status, and what is wrong with what it does, if anything is."""
    outside, folder = content(place.outside), content(place.run.parent)
    status, out, err = call(place, name)
    if content(place.outside) != outside:
        return status, "it changed something outside"
    if status == 2:
        lines = [line for line in err.splitlines() if line.startswith("anira: ")]
        clear = len(lines) == 1 and err.splitlines()[-1] == lines[0] and "Traceback" not in err
        changed = "it refused, and changed the folder" if content(place.run.parent) != folder else None
        return status, changed if clear else f"not one clear line: {err}"
    if status == 0 and right(place.run, name, out, whole):
        return status, None
    return status, f"it ended with {status}, and another result: {out[:300]} {err[:300]}"


def right(run: Path, name: str, out: str, whole) -> bool:
    """Say whether a command that succeeded gives what it gives for the whole run."""
    _, _, expected, good = whole[name]
    if not all((run / path).exists() for path in LAST):
        return True  # what is left is used: an older checkpoint, another evaluation, records that no run claims
    return out == expected if name in ("analyze", "generate") else same_files(run, name, good / "run")


def same_files(run: Path, name: str, good: Path) -> bool:
    """Say whether a command that succeeded made what it makes of the whole run."""
    if name == "evaluate":
        return same_tables(run / "records" / "drawn", good / "records" / "drawn")
    if name in ("resume", "go on"):
        same = same_tables(run / "records" / "final", good / "records" / "final")
        return same and metrics(run) == metrics(good) and weights(run) == weights(good)
    # Without its metrics, a page has less to show.
    pages = [one.with_name("page.html").read_text() for one in (run, good)]
    return not (run / "metrics.jsonl").exists() or pages[0] == pages[1]


def same_tables(one: Path, other: Path) -> bool:
    names = [path.name for path in other.glob("*.parquet")]
    return all(pl.read_parquet(one / name).equals(pl.read_parquet(other / name)) for name in names)


def weights(run: Path) -> list[bytes]:
    last = run / "checkpoints" / "step-8"
    return [(last / name).read_bytes() for name in ("model.safetensors", "optimizer.safetensors")]


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_damaged_runs_are_refused_or_give_the_right_result(whole, tmp_path, seed):
    draw, wrong, refused = random.Random(seed), [], 0
    for case in range(CASES):
        name = draw.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        run, other, _, _ = whole[name]
        place = make_place(tmp_path / str(case), run, other, 1000 * seed + case)
        how = [draw.choice(DAMAGES)(place)]
        if draw.random() < 0.25:  # there may be nothing left that a second one can read
            with contextlib.suppress(ValueError, LookupError, OSError, RecursionError, pl.exceptions.PolarsError):
                how.append(draw.choice(DAMAGES)(place))
        status, found = complaint(place, name, whole)
        if found:
            wrong.append(f"seed {seed} case {case}: {name} after {'; '.join(how)}: {found}")
        refused += status == 2
        shutil.rmtree(tmp_path / str(case))
    assert not wrong, "\n\n".join(wrong)
    assert refused > CASES / 6, "a command reads a part of a run only, but many damages must matter"
