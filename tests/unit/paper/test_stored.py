"""What experiments left in a folder: all of it, nothing, or a message."""

import json

import pytest

from anira.config import UserError
from anira.paper.stored import forget, read_stored

WHOLE = {"experiment": "lano", "scale": "cpu", "runs": [], "claims": {}}


def test_what_was_stored_is_read(tmp_path):
    (tmp_path / "lano.json").write_text(json.dumps({**WHOLE, "machine": "a"}))
    assert read_stored(tmp_path, "lano") == {**WHOLE, "machine": "a"}
    assert read_stored(tmp_path, "clrs") == {}


OTHERS = [
    {**WHOLE, "runs": 3},
    {**WHOLE, "runs": [3]},
    {**WHOLE, "runs": [{"preset": "lano", "shrunk": None}]},
    {**WHOLE, "claims": []},
    {**WHOLE, "claims": {"a": 3}},
    {**WHOLE, "scale": None},
]
TEXTS = ["{", "[]", "{}", '{"a": 1}', '{"scale": "cpu"}', "[" * 10_000, "9" * 6000, *map(json.dumps, OTHERS), *WHOLE]


@pytest.mark.parametrize("text", TEXTS)
def test_what_is_no_experiment_is_refused(tmp_path, text):
    """Half a file, another thing, or a whole one without one of its keys."""
    if text in WHOLE:
        text = json.dumps({key: value for key, value in WHOLE.items() if key != text})
    (tmp_path / "lano.json").write_text(text)
    with pytest.raises(UserError, match=r"cannot read .*lano.json: .*; make it again with anira reproduce lano"):
        read_stored(tmp_path, "lano")


def test_what_is_forgotten_is_not_made_and_all_else_stays(tmp_path):
    for name in ("lano", "clrs"):
        (tmp_path / f"{name}.json").write_text(json.dumps(WHOLE))
        (tmp_path / f"{name}.html").write_text("a page")
    forget(tmp_path, "lano")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["clrs.html", "clrs.json"]
    assert read_stored(tmp_path, "lano") == {}
    forget(tmp_path / "nowhere", "lano")
