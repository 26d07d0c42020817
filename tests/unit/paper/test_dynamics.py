"""From which runs the figures of training dynamics are made, and into which files."""

import polars as pl
import pytest
from tests.training_support import train_tiny
from tests.unit.measure.dynamics_support import Training, write_training

from anira.config import UserError
from anira.paper.dynamics.make import measured, reproduce, used_runs
from anira.paper.dynamics.page import answer, badge, learned_cell, make_page
from anira.paper.setting import Setting
from anira.site import render
from anira.site.tables import page_text


def no_training(name, out, changes):
    raise AssertionError("a finished run is there")


def setting(root, train=no_training):
    return Setting(scale="smoke", out=root / "out", runs=root / "runs", train=train)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The experiment without any run, one of MANO's warmed up aside; and what was trained for it."""
    root = tmp_path_factory.mktemp("dynamics")
    train_tiny(root / "runs", "mano-anira-e-smoke", gamma_warmup_steps=4, seed=1)
    trained = []

    def train(name, out, changes):
        trained.append((name, dict(changes)))
        return train_tiny(out, name, **changes)

    return root, reproduce(setting(root, train)), trained


def test_every_run_is_trained_and_shown_once(made):
    root, outcome, trained = made
    assert trained == [
        ("mano-anira-e-smoke", {"gamma_warmup_steps": 0}),
        ("mano-anira-o-smoke", {"gamma_warmup_steps": 0}),
        ("brevo-anira-e-smoke", {}),
        ("brevo-anira-o-smoke", {}),
    ]
    assert [run.preset for run in outcome.runs] == [name for name, _ in trained]
    assert [run.preset for run in used_runs(setting(root))] == [name for name, _ in trained]


def test_all_files_are_made_and_say_what_is_missing(made):
    _, outcome, _ = made
    assert {path.name for path in outcome.files} == {
        "dynamics.json",
        "dynamics.csv",
        "dynamics-seeds.csv",
        "dynamics.html",
    }
    table = pl.read_csv(outcome.files[1], infer_schema_length=None)
    reasons = set(table.filter(quantity="depth_rise")["reason"])
    assert reasons == {"too few logged batches: 4, and 18 are needed"}
    first = table.filter(pl.col("run_id") == table["run_id"][0], pl.col("knob").is_not_null(), quantity="depth")
    assert first["step"].unique().sort().to_list() == [3, 6, 8]
    assert first["low"].null_count() == 0, "records during training give intervals to depth"
    assert {key: len(claims) for key, claims in outcome.claims.items()} == {"easy-to-hard": 4, "two-phases": 4}
    assert "These are smoke runs" in outcome.text


def test_a_run_of_another_task_is_refused(made, tmp_path):
    root, _, _ = made
    for preset in ("mano-anira-o-smoke", "brevo-anira-e-smoke", "brevo-anira-o-smoke"):
        (tmp_path / "runs" / preset).mkdir(parents=True)
        (source,) = [path for path in (root / "runs" / preset).iterdir() if path.name.endswith("-s0")]
        (tmp_path / "runs" / preset / source.name).symlink_to(source)
    (tmp_path / "runs" / "mano-anira-e-smoke").mkdir()
    (brevo,) = (root / "runs" / "brevo-anira-e-smoke").iterdir()
    (tmp_path / "runs" / "mano-anira-e-smoke" / "zzzzzzzz-s5").symlink_to(brevo)
    with pytest.raises(UserError, match="is a run of task 'brevo', not of mano"):
        reproduce(setting(tmp_path))


def plant(root):
    """Three seeds with a constant gamma, and one run that was warmed up and did not learn its largest size."""
    trainings = [Training(seed=seed) for seed in range(3)]
    trainings.append(Training(warm_up=300, learned={1: 150.0, 2: 450.0, 3: 5000.0}))
    folders = [write_training(root / str(i), one) for i, one in enumerate(trainings)]
    return measured(folders, {"mano": "L: <operators>"}, draws=50)


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    return plant(tmp_path_factory.mktemp("planted"))


def test_the_page_answers_first(planted):
    assert badge(planted).words == "easy to hard: supported; two phases: supported"
    assert answer(planted)[0] == "Smaller sizes are learned first in MANO ANIRA-O."
    assert "Two phases cannot be judged in MANO ANIRA-O, \u03b3 warmed up." in answer(planted)


def test_the_page_is_whole_and_escaped(planted):
    page = make_page(planted)
    html = render(page)
    assert "L: \\u003coperators>" in html and "<operators>" not in html
    titles = [section.title for section in page.sections]
    sizes = ["MANO ANIRA-O: size by size", "MANO ANIRA-O, \u03b3 warmed up: size by size"]
    assert titles == ["MANO", *sizes]
    assert "not learned" in page_text(page)


def test_a_run_without_metrics_has_tables_and_no_chart(tmp_path):
    folder = write_training(tmp_path, Training())
    (folder / "metrics.jsonl").unlink()
    page = make_page(measured([folder], {"mano": "L: operators"}, draws=50))
    assert page.lead is None
    html = render(page)
    assert "data-chart" not in html
    assert "too few logged batches: 0, and 18 are needed" in html


@pytest.mark.parametrize(
    ("value", "low", "high", "text"),
    [
        (500, 500, 500, ("by 500", "[500, 500]")),
        (6500, 4000, None, ("6,500", "[4,000, not learned]")),
        (None, None, None, ("not learned", "")),
    ],
)
def test_when_a_size_was_learned_in_words(value, low, high, text):
    row = {"quantity": "learned_step", "value": value, "low": low, "high": high, "reason": ""}
    cell = learned_cell(row, 500)
    assert (cell.text, cell.small) == text
