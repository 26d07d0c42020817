"""Rows out of JSON files, a part in memory at a time: the same rows as if all were."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from anira.config import UserError
from anira.exchange import json_rows
from anira.exchange.json_rows import read_document, read_lines

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
ROWS = st.lists(VALUES, max_size=5)
ANY_CASE = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(params=[1, 7])
def small_steps(monkeypatch, request):
    """Let the file be read so few characters at a time that every value lies across several."""
    monkeypatch.setattr(json_rows, "_STEP", request.param)


@ANY_CASE
@given(rows=ROWS, indent=st.sampled_from([None, 0, 2]), ascii_only=st.booleans())
def test_a_list(small_steps, tmp_path, rows, indent, ascii_only):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(rows, indent=indent, ensure_ascii=ascii_only), encoding="utf-8")
    assert list(read_document(path)) == rows


@ANY_CASE
@given(
    rows=ROWS,
    before=st.dictionaries(st.text("ab", max_size=3), VALUES, max_size=2),
    after=st.dictionaries(st.text("cd", min_size=1, max_size=3), VALUES, max_size=2),
)
def test_a_list_of_examples(small_steps, tmp_path, rows, before, after):
    path = tmp_path / "a.json"
    path.write_text(json.dumps({**before, "examples": rows, **after}, indent=1))
    assert list(read_document(path)) == rows


@ANY_CASE
@given(content=st.binary(max_size=40) | st.text('[]{}:,"1e- \n\\', max_size=30).map(str.encode))
def test_anything_is_rows_or_an_error(small_steps, tmp_path, content):
    path = tmp_path / "a.json"
    path.write_bytes(content)
    try:
        rows = list(read_document(path))
    except UserError:
        return
    if all(isinstance(row, str | UserError) for row in rows):  # lines, which are decoded later
        return
    whole = json.loads(content.decode("utf-8-sig"))
    assert rows == (whole.get("examples", [whole]) if isinstance(whole, dict) else whole)


@pytest.mark.parametrize("content", ["[1,]", "[,1]", "[1 2]", '{"a": 1,}', '{"a": 1 "b": 2}', '{"a" 1}', "[1]]", "[1}"])
def test_almost_json_is_an_error(small_steps, tmp_path, content):
    path = tmp_path / "a.json"
    path.write_text(content)
    with pytest.raises(UserError, match=r"a\.json: "):
        list(read_document(path))


def test_numbers_at_the_edge_of_what_was_read(monkeypatch, tmp_path):
    monkeypatch.setattr(json_rows, "_STEP", 2)
    path = tmp_path / "a.json"
    path.write_text("[12345, -1.5e3 ,7]")
    assert list(read_document(path)) == [12345, -1500.0, 7]


def test_lines_that_are_too_long_are_passed_over(monkeypatch, tmp_path):
    monkeypatch.setattr(json_rows, "LONGEST", 10)
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"short\n" + b"x" * 35 + b"\n" + b"y" * 10 + b"\nz" + b"z" * 40)
    found = [str(line) for line in read_lines(path)]
    complaint = "the row has {} bytes, and none may have more than 10"
    assert found == ["short\n", complaint.format(36), complaint.format(11), complaint.format(41)]


@pytest.mark.parametrize("content", ["[" + "1" * 50 + "]", '["' + "x" * 50, '{"a": [' + "1, " * 30, "[" + " " * 50])
def test_a_value_without_end_is_given_up(monkeypatch, tmp_path, content):
    monkeypatch.setattr(json_rows, "_STEP", 4)
    monkeypatch.setattr(json_rows, "LONGEST", 20)
    path = tmp_path / "a.json"
    path.write_text(content)
    with pytest.raises(UserError, match=r"a\.json: "):
        list(read_document(path))
