"""Files that appear whole or not at all."""

import contextlib
import errno
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from anira.config import UserError, remove_parts, replacing, replacing_folder, write_file, write_files


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def full_disk(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_content_arrives_as_it_is(tmp_path):
    write_file(tmp_path / "a.txt", "\u00e9\r\n")
    write_file(tmp_path / "b", b"\x00\xff")
    assert (tmp_path / "a.txt").read_bytes() == b"\xc3\xa9\r\n"
    assert (tmp_path / "b").read_bytes() == b"\x00\xff"
    assert names(tmp_path) == ["a.txt", "b"]


def test_a_name_that_is_not_text_can_be_written(tmp_path):
    write_file(tmp_path / "page.html", "run \udcff")
    assert (tmp_path / "page.html").read_text() == "run \\udcff"


def test_a_full_disk_leaves_what_was_there(tmp_path, monkeypatch):
    old = tmp_path / "old.csv"
    old.write_text("before")
    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(UserError, match=r"cannot write .*old\.csv: No space left on device"):
        write_file(old, "after")
    assert old.read_text() == "before"
    assert names(tmp_path) == ["old.csv"]


def test_files_that_belong_together_appear_together(tmp_path, monkeypatch):
    synced, really = [], os.fsync

    def full_at_the_third(descriptor):
        synced.append(descriptor)
        return full_disk() if len(synced) == 3 else really(descriptor)

    monkeypatch.setattr(os, "fsync", full_at_the_third)
    with pytest.raises(UserError, match="No space left"):
        write_files({tmp_path / f"{i}.csv": "x" for i in range(4)})
    assert names(tmp_path) == []


@pytest.mark.parametrize("full", [False, True])
def test_folders_are_made_and_go_with_their_files(tmp_path, monkeypatch, full):
    (tmp_path / "there").mkdir()
    if full:
        monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(UserError) if full else contextlib.nullcontext():
        write_files({tmp_path / "new" / "deep" / "a": "x", tmp_path / "there" / "b": "y"})
    found = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*"))
    assert found == (["there"] if full else ["new", "new/deep", "new/deep/a", "there", "there/b"])


def test_an_error_of_a_library_that_is_not_python_is_named(tmp_path):
    reason = "I/O error: No space left on device (os error 28)"
    with pytest.raises(UserError, match=r"m: No space left on device$"), replacing(tmp_path / "m"):
        raise RuntimeError(reason)


@pytest.mark.parametrize("error", [ValueError("our own bug"), UserError("row 3: (os error 2)"), KeyboardInterrupt()])
def test_another_error_keeps_its_words_and_leaves_nothing(tmp_path, error):
    with pytest.raises(type(error)) as caught, replacing(tmp_path / "out") as part:
        part.write_text("half")
        raise error
    assert caught.value is error
    assert names(tmp_path) == []


@pytest.mark.parametrize("place", ["nowhere/out.csv", "file/out.csv", "folder"])
def test_a_place_that_cannot_be_written_is_found_before_the_work(tmp_path, place):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    with pytest.raises(UserError, match="cannot write"), replacing(tmp_path / place):
        pytest.fail("the work began")


def test_a_folder_takes_the_place_of_another(tmp_path):
    for content in ("one", "two"):
        with replacing_folder(tmp_path / "step-1") as part:
            (part / "deep").mkdir()
            (part / "deep" / content).write_text(content)
    assert names(tmp_path) == ["step-1"]
    assert names(tmp_path / "step-1" / "deep") == ["two"]


def test_a_folder_that_fails_leaves_the_old_one(tmp_path):
    (tmp_path / "step-1").mkdir()
    (tmp_path / "step-1" / "model").write_text("good")
    with pytest.raises(UserError, match="step-1: No space"), replacing_folder(tmp_path / "step-1") as part:
        (part / "model").write_text("half")
        full_disk()
    assert names(tmp_path) == ["step-1"]
    assert (tmp_path / "step-1" / "model").read_text() == "good"


def test_folders_are_made_above_a_folder(tmp_path):
    with replacing_folder(tmp_path / "run" / "checkpoints" / "step-1") as part:
        (part / "model").write_text("good")
    assert (tmp_path / "run" / "checkpoints" / "step-1" / "model").read_text() == "good"


def test_a_folder_that_cannot_take_its_place_leaves_the_old_one(tmp_path, monkeypatch):
    (tmp_path / "step-1").mkdir()
    (tmp_path / "step-1" / "model").write_text("good")
    really = Path.rename

    def rename(self, target):
        return full_disk() if self.name.endswith(f"{os.getpid()}.part") else really(self, target)

    monkeypatch.setattr(Path, "rename", rename)
    with pytest.raises(UserError, match="No space"), replacing_folder(tmp_path / "step-1"):
        pass
    assert names(tmp_path) == ["step-1"]
    assert (tmp_path / "step-1" / "model").read_text() == "good"


@pytest.mark.parametrize("by", ["the next call", "whoever owns the folder"])
def test_a_kill_while_a_folder_takes_its_place_loses_nothing(tmp_path, by):
    (tmp_path / ".step-1.old.part").mkdir()
    (tmp_path / ".step-1.old.part" / "model").write_text("good")
    if by == "the next call":
        with replacing_folder(tmp_path / "step-2"):
            pass
    else:
        remove_parts(tmp_path)
    assert (tmp_path / "step-1" / "model").read_text() == "good"
    assert not [name for name in names(tmp_path) if name.endswith(".part")]


def dead_process():
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    return done.pid


def test_what_a_killed_process_left_is_removed_by_the_next_call(tmp_path):
    here = platform.node()
    stale = tmp_path / f".out.csv.{here}.{dead_process()}.part"
    stale.write_text("half")
    folder = tmp_path / f".out.csv.{here}.{dead_process()}.part"
    folder.mkdir()
    kept = [tmp_path / f".out.csv.{here}.{os.getppid()}.part", tmp_path / ".out.csv.elsewhere.1.part"]
    for path in kept:
        path.write_text("another process is at it")
    write_file(tmp_path / "out.csv", "x")
    assert names(tmp_path) == sorted(["out.csv", *(path.name for path in kept)])


def test_whoever_owns_a_folder_can_remove_all_parts(tmp_path):
    write_file(tmp_path / "out.csv", "x")
    (tmp_path / ".a.elsewhere.1.part").write_text("")
    (tmp_path / ".b.elsewhere.2.part").mkdir()
    remove_parts(tmp_path)
    assert names(tmp_path) == ["out.csv"]


def test_a_link_is_replaced_not_followed(tmp_path):
    (tmp_path / "outside").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "outside")
    write_file(tmp_path / "link", "new")
    assert (tmp_path / "outside").read_text() == "mine"
    assert (tmp_path / "link").read_text() == "new"
