"""`anira reproduce`, as somebody types it."""

import contextlib
import io
import json
import shutil

import polars as pl
import pytest
from tests.conftest import Result
from tests.training_support import TINY_MODEL, TINY_RUN, tiny_config

import anira.cli.reproduce
import anira.cli.train as anira_train
from anira.cli import main
from anira.config import UserError
from anira.paper import figures
from anira.paper.figures import FIGURES, Figure
from anira.training import RunFolder
from anira.training.run import load_run

TASK = {"start_symbol": 10, "packed_length": 64}


def train_tiny_runs(patch, **changes):
    """Train tiny runs in place of the presets."""
    parse = anira_train._parse_preset

    def parse_preset(name, argv):
        _, options = parse(name, argv)
        return tiny_config(name, **changes), options

    patch.setattr(anira_train, "_parse_preset", parse_preset)


@pytest.fixture(scope="module")
def from_nothing(tmp_path_factory):
    """LANO in an empty folder, and what was said."""
    out, err = io.StringIO(), io.StringIO()
    folder = tmp_path_factory.mktemp("lano")
    with pytest.MonkeyPatch.context() as patch, contextlib.chdir(folder):
        train_tiny_runs(patch, task_config=TASK, max_length=64)
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main(["reproduce", "lano", "--scale", "smoke", "--out", "made"])
    return folder, Result(status, out.getvalue(), err.getvalue())


@pytest.fixture
def first(from_nothing, monkeypatch, tmp_path):
    """What was said; and work in a copy of the folder, in which nothing is trained any more."""
    folder, result = from_nothing
    shutil.copytree(folder / "made", tmp_path / "made")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(anira_train, "_parse_preset", None)
    return result


def test_lano_from_nothing_then_from_what_is_there(anira, first, tmp_path):
    assert first.status == 0, first.err
    announced = (
        "to be trained, because there is no finished run in results or made/runs: lano-anira-e-smoke, "
        "lano-anira-o-smoke"
    )
    assert first.err.startswith(announced)
    made = tmp_path / "made"
    files = {"index.html", "lano.json", "lano.csv", "lano-seeds.csv", "lano.html"}
    assert {path.name for path in made.iterdir()} == {*files, "runs"}
    found = json.loads((made / "lano.json").read_text())
    assert (found["experiment"], found["scale"]) == ("lano", "smoke")
    for run in found["runs"]:
        assert {"steps 8 (20)", "task_config.start_symbol 10 (16)"} <= set(run["differs"])
    table = pl.read_csv(made / "lano.csv")
    assert table.filter(quantity="sentences").select("variant", "n").rows() == [("anira-e", 40), ("anira-o", 40)]
    floors, entropies = (table.filter(quantity=name)["value"] for name in ("entropy_floor", "cross_entropy"))
    assert (floors > 0.3).all()
    assert (entropies > floors).all()
    assert len(table.filter(quantity="work")) == 2 * 2 * 2 * 5
    assert "ANIRA-O" in (made / "lano.html").read_text()
    for word in ("made/lano.csv", "made/runs/lano-anira-e-smoke/", "trained in", "parse-space expansion", "+0.666"):
        assert word in first.out

    folders = sorted(made.glob("runs/*/*"))
    before = [load_run(folder, None)[2] for folder in folders]
    second = anira("reproduce", "lano", "--scale", "smoke", "--out", "made")
    assert (second.status, before) == (0, [TINY_RUN["steps"]] * 2)
    assert "trained in" not in second.out
    assert "to be trained" not in second.err
    assert second.out.count("(found; not as the preset: ") == 2
    assert json.loads((made / "lano.json").read_text()) == found
    assert pl.read_csv(made / "lano.csv").equals(table)

    elsewhere = anira("reproduce", "lano", "--scale", "smoke", "--out", "other", "--runs", "made/runs")
    assert elsewhere.status == 0
    assert {path.name for path in (tmp_path / "other").iterdir()} == files
    assert sorted(made.glob("runs/*/*")) == folders
    assert RunFolder(folders[0]).read_config().model["hidden_size"] == TINY_MODEL["hidden_size"]


def test_clrs_from_nothing_then_from_what_is_there(anira, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    train_tiny_runs(monkeypatch, task_config={"tasks": ["sort", "minimum"], "sizes": [3, 5]})
    first = anira("reproduce", "clrs", "--scale", "smoke", "--out", "made")
    assert first.status == 0, first.err
    made = tmp_path / "made"
    files = {"index.html", "clrs.json", "clrs.csv", "clrs-seeds.csv", "clrs.html"}
    assert {path.name for path in made.iterdir()} == {*files, "runs"}
    table = pl.read_csv(made / "clrs.csv")
    rows = table.filter(quantity="accuracy").drop_nulls("knob")
    assert (
        rows.select("subtask", "knob").rows() == [(name, n) for name in ("sort", "minimum") for n in (3, 4, 5, 6)] * 2
    )
    assert rows["split"].to_list()[:4] == ["seen", "interpolation", "seen", "extrapolation"]
    second = anira("reproduce", "clrs", "--scale", "smoke", "--out", "made")
    assert second.status == 0
    assert "trained in" not in second.out
    assert pl.read_csv(made / "clrs.csv").equals(table)


def test_records_are_enough(anira, first, tmp_path):
    """What was sampled once is analysed without a model."""
    for path in (tmp_path / "made" / "runs").glob("*/*/checkpoints/*/model.safetensors"):
        path.unlink()
    assert anira("reproduce", "lano", "--scale", "smoke", "--out", "made").status == 0


def test_without_a_name_it_lists_the_experiments(anira):
    result = anira("reproduce")
    assert (result.status, result.err) == (0, "")
    for name, listed in FIGURES.items():
        assert name in result.out
        assert listed.summary in result.out


MISTAKES = {
    "unknown figure": ("lamo", "unknown figure 'lamo': did you mean 'lano'"),
    "unknown scale": ("lano --scale gpu", "--scale must be one of 'smoke', 'cpu', 'paper', not 'gpu'"),
    "unknown option": ("lano --output here", "unknown option: --output"),
}


@pytest.mark.parametrize(("words", "expected"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_one_line(anira, tmp_path, monkeypatch, words, expected):
    monkeypatch.chdir(tmp_path)
    status, out, err = anira("reproduce", *words.split())
    assert (status, out) == (2, "")
    assert err.startswith("anira: ")
    assert err.count("\n") == 1, err
    assert expected in err
    assert not list(tmp_path.iterdir())


@pytest.fixture
def three(monkeypatch, tmp_path):
    """Three experiments, of which the second one fails and the third has a bug."""
    monkeypatch.chdir(tmp_path)
    source = {
        "good": "return Outcome(files=(setting.out / 'good.json',), runs=(), text='good figures')",
        "bad": "raise UserError('bad luck')",
        "buggy": "return 1 / 0",
    }
    head = "from anira.config import UserError\nfrom anira.paper.setting import Outcome\n"
    for name, line in source.items():
        (tmp_path / f"{name}_experiment.py").write_text(f"{head}def reproduce(setting):\n    {line}\n")
    monkeypatch.syspath_prepend(tmp_path)
    made = {name: Figure(f"{name}_experiment", "what it shows") for name in ("bad", "buggy", "good")}
    for module in (figures, anira.cli.reproduce):
        monkeypatch.setattr(module, "FIGURES", made)


def test_one_failure_does_not_stop_the_others(anira, three):
    status, out, err = anira("reproduce", "all", "--scale", "smoke")
    assert status == 2
    assert "good figures" in out
    assert [line.split()[0] for line in out.splitlines()[-4:-1]] == ["bad", "buggy", "good"]
    assert out.splitlines()[-1] == "all pages: reproduced/smoke/index.html"
    assert out.count("failed") == 2
    assert "bad failed: bad luck" in err
    assert "ZeroDivisionError" in err
    assert err.splitlines()[-1] == "anira: 2 of 3 figures failed: bad, buggy"


def test_an_experiment_that_fails_leaves_nothing_of_an_earlier_call(anira, three, tmp_path):
    """Otherwise its old verdicts would be judged with those of now."""
    out = tmp_path / "reproduced" / "smoke"
    out.mkdir(parents=True)
    old = [out / f"{name}.{ending}" for name in ("bad", "buggy") for ending in ("json", "html")]
    for path in old:
        path.write_text("{}")
    assert anira("reproduce", "all", "--scale", "smoke").status == 2
    assert not any(path.exists() for path in old)


def test_alone_a_failure_is_the_commands(anira, three):
    status, out, err = anira("reproduce", "bad", "--scale", "smoke")
    assert (status, out, err) == (2, "", "anira: bad luck\n")
    with pytest.raises(ZeroDivisionError):
        anira("reproduce", "buggy", "--scale", "smoke")


def test_long_training_wants_the_users_word_and_goes_by_a_sweep(anira, tmp_path, monkeypatch):
    """Outside of the repository there are no published runs: hours of training must not begin by surprise."""
    monkeypatch.chdir(tmp_path)
    swept = []
    monkeypatch.setattr("anira.cli.training_runs.sweep", lambda runs, out, jobs: swept.append((runs, out, jobs)))
    status, out, err = anira("reproduce", "lano", "--scale", "cpu")
    assert (status, out, swept) == (2, "", [])
    assert "lano-anira-e-cpu, lano-anira-o-cpu (about " in err
    assert err.splitlines()[-1].startswith("anira: training what is missing takes about ")
    assert err.splitlines()[-1].endswith("say --yes, or give --runs")
    assert not list(tmp_path.iterdir())

    def stop(name, options, *, alone):
        raise UserError("far enough")

    monkeypatch.setattr("anira.cli.reproduce._reproduce", stop)
    assert anira("reproduce", "lano", "--scale", "cpu", "--yes").status == 2
    ((runs, folder, _),) = swept
    assert [run.config.preset for run in runs] == ["lano-anira-e-cpu", "lano-anira-o-cpu"]
    assert str(folder) == "reproduced/cpu/runs"
