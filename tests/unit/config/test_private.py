"""No path of a machine in what others see."""

import pytest

from anira.config.private import without_paths
from anira.site.report.settings import experiment_names


@pytest.mark.parametrize(
    "path",
    [
        *("/home/alice/x", "/alice", "~/alice/x", "~alice/x", "../alice/x", "./../alice/x", "runs/../../alice/x"),
        *(
            "/My Data/alice/x",
            "//nas/alice/x",
            "\\\\nas\\alice\\x",
            "C:\\alice\\x",
            "c:/alice/x",
            "file:///home/alice/x",
        ),
    ],
)
def test_of_a_path_the_last_name_stays(path):
    assert without_paths({"a": [path]}) == {"a": [path.replace("\\", "/").rpartition("/")[2]]}


@pytest.mark.parametrize(
    "text", ["~", "...", "a/b", "words-ouro-cpu/1f2e3d4c-s0", "hub:owner/name", "x ~ y", "/", "1 / 2"]
)
def test_what_is_no_path_stays(text):
    assert without_paths(text) == text


def test_runs_are_not_named_by_paths():
    names = experiment_names(
        ["fixed", "fixed"], [{"init_from": "/home/alice/runs/one"}, {"init_from": "/home/alice/two"}]
    )
    assert names == ["fixed, init_from one", "fixed, init_from two"]
