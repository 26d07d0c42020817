from pathlib import Path

import pytest
from tests.report_support import FakeRun, write_run

from anira.site.report.about import KnobWords
from anira.site.report.page import build
from anira.site.report.runs import load_runs

KNOBS = {"mano": KnobWords("L", "operators in the expression"), "brevo": KnobWords("N", "nodes of the graph")}
PLANTED = {
    "rising": FakeRun(variant="anira-o", slope=0.5),
    "flat": FakeRun(variant="anira-e", slope=0.0),
    "fixed": FakeRun(variant="fixed"),
    "falling": FakeRun(variant="anira-e", task="brevo", knobs=(3, 4, 5, 6), slope=-0.2),
}


@pytest.fixture(scope="session")
def folders(tmp_path_factory) -> dict[str, Path]:
    """Run folders with a known effect each."""
    root = tmp_path_factory.mktemp("runs")
    return {name: write_run(root, run) for name, run in PLANTED.items()}


@pytest.fixture(scope="session")
def runs(folders):
    """The three runs on MANO."""
    return load_runs([folders["rising"], folders["flat"], folders["fixed"]])


@pytest.fixture(scope="session")
def report(folders):
    """A page about all of them."""
    return build(load_runs(list(folders.values())), knobs=KNOBS)
