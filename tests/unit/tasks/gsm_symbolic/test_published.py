"""Files in the published layouts, whole and damaged."""

import json

import pytest
from tests.gsm_support import TEMPLATES, row, write_data

from anira.config import UserError
from anira.tasks.gsm_symbolic import check_splits, parse_rows, read_folder


@pytest.mark.parametrize("layout", ["hub", "github"])
def test_both_layouts_give_the_same_questions(tmp_path, layout):
    found = read_folder(write_data(tmp_path, layout=layout))
    assert {name: len(rows) for name, rows in found.by_split.items()} == {"main": 12, "p1": 12, "p2": 6}
    assert found.shared == {100, 102, 104}
    assert {one.template for one in found.by_split["main"]} > found.shared
    assert [one.knob for one in found.by_split["p1"]] == [1] * 12


def test_the_folder_of_the_github_files_will_do(tmp_path):
    folder = write_data(tmp_path, layout="github") / "generated_data"
    assert len(read_folder(folder, ["p2"]).by_split["p2"]) == TEMPLATES["p2"] * 2


def test_data_sets_follow_each_other(tmp_path):
    rows = read_folder(write_data(tmp_path, instances=3)).by_split["main"]
    assert [(one.instance, one.id) for one in rows] == [(i, t) for i in range(3) for t in range(TEMPLATES["main"])]


def test_templates_of_p2_are_known_where_only_main_is_asked_for(tmp_path):
    found = read_folder(write_data(tmp_path), ["main"])
    assert (list(found.by_split), list(found.digests), len(found.shared)) == (["main"], ["main"], 3)
    (tmp_path / "p2" / "test.jsonl").unlink()
    assert read_folder(tmp_path, ["main"]).shared is None


@pytest.mark.parametrize(
    ("answer", "gold"),
    [
        ("x #### 32.5", 32.5),
        ("x\n#### 45.0", 45.0),
        ("x #### 1,250", 1250),
        ("#### -4 ", -4),
        ("1 #### 2 #### 3", 3),
        ("#### $7", 7),
    ],
)
def test_gold_answers_are_numbers(answer, gold):
    (found,) = parse_rows([("here", row("main", 0, 0, answer))], "main")
    assert found.gold == gold


def without(name):
    return {key: value for key, value in row("main", 0, 0).items() if key != name}


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        ([], "is empty"),
        (["\n", "  \n"], "is empty"),
        (['{"id": 1, '], "line 1: not JSON"),
        ([json.dumps(row("main", 0, 0)), "[1]"], "line 2: a row must be an object"),
        ([json.dumps(without("original_id"))], "line 1: 'original_id' is missing"),
        ([json.dumps(without("question"))], "line 1: 'question' is missing"),
        ([json.dumps({**row("main", 0, 0), "id": "3"})], "'id' must be int, not '3'"),
        ([json.dumps({**row("main", 0, 0), "instance": True})], "'instance' must be int, not True"),
        ([json.dumps(row("main", 0, 0))] * 2, "template 0, instance 0 is there twice"),
        ([json.dumps(row("main", 0, 0, "the answer is 3"))], "does not end in '#### N'"),
        ([json.dumps(row("main", 0, 0, "#### three"))], "does not end in '#### N'"),
        ([json.dumps(row("main", 0, 0, "#### " + "9" * 400))], "does not end in '#### N'"),
        ([b"\xff\xfe"], "line 1: not JSON"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(tmp_path, lines, complaint):
    path = tmp_path / "main" / "test.jsonl"
    path.parent.mkdir()
    path.write_bytes(b"\n".join(line if isinstance(line, bytes) else line.encode() for line in lines))
    with pytest.raises(UserError, match=str(path)) as raised:
        read_folder(tmp_path, ["main"])
    assert complaint in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_split_that_is_not_there_says_where_it_should_be(tmp_path):
    write_data(tmp_path)
    (tmp_path / "p1" / "test.jsonl").unlink()
    with pytest.raises(UserError, match=r"has no split p1: .*p1/test.jsonl .* generated_data/GSM_p1.jsonl"):
        read_folder(tmp_path)
    with pytest.raises(UserError, match="is no folder"):
        read_folder(tmp_path / "elsewhere")


def test_unknown_splits_are_refused():
    with pytest.raises(UserError, match="no split 'p3'"):
        check_splits(["main", "p3"])
    with pytest.raises(UserError, match="at least one split"):
        check_splits([])
