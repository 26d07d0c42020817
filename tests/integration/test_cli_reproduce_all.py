"""`anira reproduce all --scale smoke`: every experiment from nothing, in one process, with the runs shared."""

import contextlib
import io
import json
import re

import pytest
from tests.training_support import begin, metrics, resume

from anira.cli import main
from anira.paper.figures import FIGURES
from anira.training.presets import preset
from anira.training.run import load_run

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("all")


def make_all(folder):
    """Return what `all` prints, on both streams."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(["reproduce", "all", "--scale", "smoke", "--out", "made"])
    assert status == 0, err.getvalue()
    return out.getvalue(), err.getvalue()


@pytest.fixture(scope="module")
def made(folder):
    """Everything but `cost`, which measures time, and does so in every call: it has tests of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delitem(FIGURES, "cost")
        yield make_all(folder)


def test_everything_is_made_from_shared_runs(made, folder):
    pages = {path.stem for path in (folder / "made").glob("*.html")}
    assert pages == {*(name for name, listed in FIGURES.items() if not listed.plan), "index"}
    trained = {path.name for path in (folder / "made" / "runs").iterdir()}
    assert trained == {f"{run}-smoke" for listed in FIGURES.values() for run in listed.runs}
    out, _ = made
    assert out.count("trained in") == len(trained), "a run is trained once, and found by the experiments after"
    assert out.splitlines()[-1] == "all pages: made/index.html"


def test_no_figure_is_nan(made, folder):
    files = [path for path in (folder / "made").iterdir() if path.suffix in (".json", ".csv", ".html")]
    texts = {path.name: re.sub(r"<script>.*?</script>", "", path.read_text(), flags=re.DOTALL) for path in files}
    assert not [name for name, text in texts.items() if re.search(r"\bnan\b", text, re.IGNORECASE)]


def test_toy_runs_support_nothing(made, folder):
    """One seed of 20 steps has learned nothing, and the page of claims says so."""
    verdicts = json.loads((folder / "made" / "claims.json").read_text())["verdicts"]
    assert {one["verdict"] for one in verdicts.values()} <= {"inconclusive", "not testable"}


@pytest.mark.parametrize("variant", ["anira-e", "anira-o", "fixed", "unshared"])
@pytest.mark.parametrize("task", ["mano", "brevo", "depo"])
def test_a_smoke_preset_trains_to_its_end(made, folder, tmp_path, task, variant):
    """Most of them are among the runs that are there; the others are trained here."""
    config = preset(f"{task}-{variant}-smoke").resolved()
    there = list(folder.glob(f"made/runs/{config.preset}/*"))
    path = there[0] if there else resume(begin(tmp_path, config))
    steps = [line["step"] for line in metrics(path, "train")]
    assert steps == list(range(config.log_every, config.steps + 1, config.log_every))
    asked = json.loads((path / "records" / "final" / "evaluation.json").read_text())
    assert asked["complete"]
    assert asked["knobs"] == list(config.make_task().knob.seen)
    _, model, step = load_run(path, None)
    assert step == config.steps
    assert model.policy.name == ("fixed" if variant == "unshared" else variant)


def test_nothing_is_done_twice(made, folder):
    out, err = make_all(folder)
    assert "trained in" not in out
    assert "evaluating" not in err
