"""A dense run from its training to its page: figures by place in the word, and products that are no inputs."""

import json
import re

import pytest
from tests.training_support import train_tiny

from anira.training.run import load_run

OPTIONS = {"group": "A4", "min_letters": 4, "max_letters": 4, "letters": "generators"}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return train_tiny(tmp_path_factory.mktemp("words"), "words-anira-o-smoke", task_config=OPTIONS)


def test_analysis_has_accuracy_and_depth_by_place(anira, run):
    result = anira("analyze", run, "--json")
    assert (result.status, result.err) == (0, "")
    rows = [row for row in json.loads(result.out)["rows"] if row["knob"] is not None]
    accuracy = [row for row in rows if row["quantity"] == "accuracy"]
    assert [row["knob"] for row in accuracy] == [1, 2, 3, 4]
    assert {row["n"] for row in accuracy} == {6}
    assert [row["knob"] for row in rows if (row["quantity"], row["subset"]) == ("depth", "answer")] == [1, 2, 3, 4]


def test_free_decoding_writes_one_product(anira, run):
    result = anira("evaluate", run, "-n", 5, "--generate")
    assert result.status == 0
    said = json.loads(anira("generate", run, "3 4 4", "--json").out)
    assert said["tokens"] == ["<bos>", "3", "4", "4"]
    assert len(said["depths"]) == 4
    task = load_run(run, None)[0].make_task()
    assert said["true_answer"] == task.instance(task.read("3 4 4"), 0).answer


def test_the_page_names_products_that_are_never_read(anira, run, tmp_path):
    page = tmp_path / "page.html"
    assert anira("report", run, "--out", page).status == 0
    assert "predicts" in page.read_text()
    assert not re.search(r"token \d+", page.read_text())
