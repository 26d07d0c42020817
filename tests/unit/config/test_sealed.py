"""A file that has changed says so."""

import os
import random

import pytest

from anira.config import UserError
from anira.config.sealed import LARGEST, check_file, facts_of, parse_json, read_json, read_sealed, write_sealed

VALUES = {"step": 3, "rate": 0.1, "names": ["a", "\u00e9"], "inner": {"none": None, "big": 2**70}}


@pytest.fixture
def path(tmp_path):
    write_sealed(tmp_path / "a.json", VALUES)
    return tmp_path / "a.json"


def test_values_come_back(path):
    assert read_sealed(path) == VALUES


def test_the_order_of_keys_does_not_matter(path):
    lines = path.read_text().replace('"step": 3,\n', "").replace('"rate"', '"step": 3,\n  "rate"')
    path.write_text(lines)
    assert read_sealed(path) == VALUES


def test_no_bit_can_change_unseen(path):
    whole, rng = path.read_bytes(), random.Random(0)
    for bit in rng.sample(range(8 * len(whole)), 200):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        with pytest.raises(UserError, match=str(path)):
            read_sealed(path)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "Expecting value"),
        (b"{}", "has no check-sum"),
        (b"[1]", "table of keys and values"),
        (b'{"a": 1, "sha256": "0"}', "has changed since it was written"),
        (b'{"a": 1, "sha256": 7}', "has changed since it was written"),
        (b'{"a": Infinity}', "Infinity is not JSON"),
        (b'{"a": ' + b"9" * 5000 + b"}", "Exceeds the limit"),
        (b"[" * 100_000, "nested more than"),
        (b"[" * 50 + b"]" * 50, "nested more than"),
        (b'{"a": "\\ud800"}', "surrogates not allowed"),
        (b"\xff\xfe{", "can't decode"),
    ],
)
def test_what_cannot_be_read_says_why(path, content, complaint):
    path.write_bytes(content)
    with pytest.raises(UserError, match=complaint) as caught:
        read_sealed(path)
    assert str(path) in str(caught.value)


def test_a_pipe_a_folder_and_a_giant_are_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    with (tmp_path / "giant").open("wb") as file:
        file.truncate(LARGEST + 1)
    for name in ("pipe", "folder", "giant"):
        with pytest.raises(UserError, match=r"it is not a file|more than 64 MB"):
            read_json(tmp_path / name)


def test_a_file_that_is_not_there_is_left_to_the_caller(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_sealed(tmp_path / "nothing")


def test_nan_is_not_written(tmp_path):
    with pytest.raises(UserError, match="must be a finite number"):
        write_sealed(tmp_path / "a.json", {"loss": float("nan")})
    assert not list(tmp_path.iterdir())


def test_a_listed_file_must_be_as_listed(tmp_path):
    (tmp_path / "a").write_bytes(b"content")
    facts = facts_of(tmp_path / "a")
    assert check_file(tmp_path, "a", facts) == tmp_path / "a"
    for content in (b"Content", b"content.", b""):
        (tmp_path / "a").write_bytes(content)
        with pytest.raises(UserError, match="the content of a has changed"):
            check_file(tmp_path, "a", facts)
    with pytest.raises(UserError, match="b is missing"):
        check_file(tmp_path, "b", facts)
    with pytest.raises(UserError, match="the content of a has changed"):
        check_file(tmp_path, "a", None)


def test_numbers_and_texts_are_json():
    assert parse_json('{"a": [1, 2.5, "x", null, true]}') == {"a": [1, 2.5, "x", None, True]}
