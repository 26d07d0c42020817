"""Shards that cannot be read, or are none, are found with one clear line; so is a hub that does not answer."""

import json

import fsspec
import pytest
from huggingface_hub import errors
from tests.text_support import write_lines, write_parquet

from anira.config import UserError
from anira.text import TextConfig, open_shards
from anira.text.shards import BLOCK, LeftOut
from anira.text.sources import hub_errors, hub_shards


def refusal(folder, **options):
    with pytest.raises(UserError) as caught:
        for shard in open_shards(TextConfig(data=str(folder), **options)):
            list(shard.rows())
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_bad_folders(tmp_path):
    assert "name a folder" in refusal("")
    assert "has no .parquet or .jsonl files" in refusal(tmp_path)
    assert "there is no" in refusal(tmp_path / "nowhere")
    (tmp_path / "a.txt").write_text("text")
    assert "neither .parquet nor .jsonl" in refusal(tmp_path / "a.txt")


def test_bad_parquet(tmp_path):
    file = tmp_path / "a.parquet"
    write_parquet(file, ["a"], column="content")
    assert "has no column 'text', but id, content: name it with --column" in refusal(tmp_path)
    write_parquet(file, [1, 2])
    assert "column 'text' must hold text, not int64" in refusal(tmp_path)
    write_parquet(file, [["a"]])
    assert "column 'text' must hold text, not list" in refusal(tmp_path)
    write_parquet(file, [])
    assert "is empty: remove it" in refusal(tmp_path)
    file.write_bytes(b"")
    assert "cannot be read as Parquet" in refusal(tmp_path)
    write_parquet(file, ["some text"] * 500)
    content = bytearray(file.read_bytes())
    content[4 : len(content) // 2] = bytes(len(content) // 2 - 4)
    file.write_bytes(content)
    assert "cannot be read as Parquet" in refusal(tmp_path)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('{"text": "a"', "is not JSON"),
        ("[1]", "must be an object with a column 'text'"),
        ('{"body": "a"}', "has no column 'text', but body"),
        ('{"text": 3}', "must hold text, not int"),
        ("[" * 100_000, "is not JSON"),
    ],
)
def test_bad_lines(tmp_path, line, why):
    (tmp_path / "a.jsonl").write_text('{"text": "fine"}\n' + line + "\n")
    assert why in refusal(tmp_path)
    assert "the line at byte 17" in refusal(tmp_path)


def test_an_empty_file_of_lines(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b"")
    assert "is empty: remove it" in refusal(tmp_path)


def test_a_huge_cell_is_left_out(tmp_path):
    huge = "x" * (1 << 20)
    write_parquet(tmp_path / "a.parquet", ["a", huge, "b"])
    write_lines(tmp_path / "b.jsonl", ["a", huge * 9, "b"])
    for shard in open_shards(TextConfig(data=str(tmp_path), longest=1000)):
        assert [row.cell for row in shard.rows()] == ["a", LeftOut.LONG, "b"]


def test_a_row_group_that_unpacks_to_far_more_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("anira.text.shards._SPARE", 1000)
    monkeypatch.setattr("anira.text.shards._RATIO", 2)
    write_parquet(tmp_path / "a.parquet", ["x" * 100_000])
    assert "row group 0 would unpack from" in refusal(tmp_path)


def test_rows_have_addresses_from_which_reading_goes_on(tmp_path):
    write_parquet(tmp_path / "a.parquet", list("abcdefghi"), group=4)
    write_lines(tmp_path / "b.jsonl", ["y" * (BLOCK // 3)] * 8)
    for shard in open_shards(TextConfig(data=str(tmp_path), longest=BLOCK)):
        rows = list(shard.rows())
        assert len({row.group for row in rows}) == 3
        for i, row in enumerate(rows):
            assert list(shard.rows(row.group, row.row)) == rows[i:]
        assert list(shard.rows(rows[-1].group, rows[-1].row + 1)) == []


@pytest.fixture
def hub():
    """A hub with a dataset in memory: its configurations begin alike."""
    files = fsspec.filesystem("memory")
    for name, text in (("4plus/part_000001", "b"), ("4plus/part_000000", "a"), ("4plus_MIND/part_000000", "mind")):
        with files.open(f"datasets/owner/math/{name}.jsonl", "wb") as file:
            file.write(json.dumps({"text": text}).encode())
    yield files
    files.rm("/datasets", recursive=True)


def test_a_hub_dataset_is_read_by_exactly_its_configuration(hub):
    shards = hub_shards("owner/math", TextConfig(subset="4plus"), hub)
    assert [row.cell for shard in shards for row in shard.rows()] == ["a", "b"]
    assert len(hub_shards("owner/math", TextConfig(), hub)) == 3
    with pytest.raises(UserError, match="has no"):
        hub_shards("owner/math", TextConfig(subset="4"), hub)


def response(status):
    import httpx2

    return httpx2.Response(status, request=httpx2.Request("GET", "https://huggingface.co"))


def test_what_the_hub_refuses_is_one_line():
    cases = {
        "is gated: accept its terms": errors.GatedRepoError("no", response=response(403)),
        "is not on the hub, or is private": errors.RepositoryNotFoundError("no", response=response(404)),
        "cannot be read from the hub: Name or service not known": OSError("Name or service not known\nRetrying"),
        "has no such files": FileNotFoundError("no/such"),
    }
    for words, error in cases.items():
        with pytest.raises(UserError, match=words), hub_errors("dataset 'owner/math'"):
            raise error


def test_access_is_proved_by_reading(hub, monkeypatch):
    """Listing a gated dataset succeeds; only opening a file of it says that there is no access."""
    monkeypatch.setattr("huggingface_hub.HfFileSystem", lambda: hub)

    def refused(*words, **options):
        raise errors.GatedRepoError("no", response=response(403))

    monkeypatch.setattr(hub, "open", refused)
    assert "is gated" in refusal("hub:owner/math", subset="4plus")
