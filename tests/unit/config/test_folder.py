"""Nothing in a folder leads out of it."""

from pathlib import Path

import pytest

from anira.config import UserError
from anira.config.folder import check_name, inside, subfolders


@pytest.mark.parametrize("name", ["", ".", "..", "/abs", "a/b", "../a", ".hidden", "a\0b"])
def test_a_name_that_could_lead_out_is_refused(name):
    with pytest.raises(UserError, match="cannot be the name of something in a folder"):
        check_name(name)
    with pytest.raises(UserError, match="cannot be the name of something in a folder"):
        inside(Path("run"), "records", name)


@pytest.mark.parametrize("name", ["final", "step-20.bak", "-x", "a b", "\u00e9", "a..b"])
def test_any_other_name_is_one(name):
    assert check_name(name) == name
    assert inside(Path("run"), name) == Path("run") / name


def test_links_are_refused_at_every_level(tmp_path):
    (tmp_path / "outside" / "deep").mkdir(parents=True)
    (tmp_path / "run").mkdir()
    for name, target in (("away", tmp_path / "outside"), ("nowhere", tmp_path / "nothing"), ("near", tmp_path / "run")):
        (tmp_path / "run" / name).symlink_to(target)
        with pytest.raises(UserError, match=f"{name} is a symbolic link"):
            inside(tmp_path / "run", name)
        with pytest.raises(UserError, match=f"{name} is a symbolic link"):
            inside(tmp_path / "run", name, "deep")


def test_the_folder_itself_may_be_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert inside(tmp_path / "link", "final") == tmp_path / "link" / "final"


def test_subfolders_are_no_files_and_links_are_refused(tmp_path):
    for name in ("b", "a", ".hidden"):
        (tmp_path / name).mkdir()
    (tmp_path / "file").write_text("")
    assert [path.name for path in subfolders(tmp_path)] == ["a", "b"]
    assert subfolders(tmp_path / "nowhere") == subfolders(tmp_path / "file") == []
    (tmp_path / "link").symlink_to(tmp_path / "a")
    with pytest.raises(UserError, match="link is a symbolic link"):
        subfolders(tmp_path)
