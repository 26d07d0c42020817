"""Which sizes the figure of CLRS goes over, from what it is made, and what its page says."""

import json
from dataclasses import replace

import polars as pl
import pytest
from tests.training_support import train_tiny
from tests.unit.measure.records_support import Plan, write_subtasks

from anira.config import UserError
from anira.paper.clrs.make import evaluated_sizes, measured, reproduce
from anira.paper.clrs.page import SAME, make_page
from anira.paper.setting import Setting
from anira.site import ChartPart, render
from anira.site.tables import page_text
from anira.tasks.clrs import Clrs, ClrsConfig
from anira.tasks.clrs.baselines import Baselines

SIZE = {"count": 8, "beyond": 1.5}


def part(name, **options):
    return Clrs(ClrsConfig(tasks=(name,), **options))


def test_sizes_are_the_seen_ones_those_between_and_some_beyond():
    assert evaluated_sizes(part("minimum", sizes=(3, 6)), 500, **SIZE) == (3, 4, 5, 6, 7, 8, 9)
    assert evaluated_sizes(part("bridges"), 500, **SIZE) == (4, 5, 6, 7)
    assert evaluated_sizes(part("minimum", sizes=(3,)), 500, count=8, beyond=1.0) == (3, 4), "at least one beyond"


def test_rows_beyond_what_the_model_is_built_for_are_not_asked():
    longest = part("minimum").rows(seed=0, stream="eval", start=0, count=8, knob=7).lengths.max()
    assert evaluated_sizes(part("minimum", sizes=(3, 6)), int(longest), **SIZE) == (3, 4, 5, 6, 7)


def test_a_size_that_is_a_label_only_is_asked_once():
    assert evaluated_sizes(part("segments_intersect"), 500, **SIZE) == (4,)


def test_a_run_of_another_task_is_refused(tmp_path):
    path = train_tiny(tmp_path / "runs", "mano-anira-e-smoke", steps=2)
    for variant in ("anira-e", "anira-o"):
        (tmp_path / "runs" / f"clrs-{variant}-smoke").mkdir()
    path.rename(tmp_path / "runs" / "clrs-anira-e-smoke" / path.name)

    def train(name, out, changes):
        return train_tiny(out, name, steps=2, task_config={"tasks": ["minimum"], "sizes": [3]})

    with pytest.raises(UserError, match="is a run of task 'mano', not of clrs"):
        reproduce(Setting(scale="smoke", out=tmp_path, runs=tmp_path / "runs", train=train))


def test_records_and_baselines_are_made_once(tmp_path):
    task = {"tasks": ["minimum", "segments_intersect"], "sizes": [3, 4]}

    def train(name, out, changes):
        return train_tiny(out, name, steps=2, task_config=task)

    told = []
    setting = Setting(scale="smoke", out=tmp_path, runs=tmp_path / "runs", train=train, tell=told.append)
    first = reproduce(setting)
    assert sum(line.endswith(": baselines") for line in told) == 2
    for path in (tmp_path / "runs").glob("*/*/checkpoints/*/model.safetensors"):
        path.unlink()
    before, table = len(told), (tmp_path / "clrs.csv").read_bytes()
    again = reproduce(setting)
    assert [line.split(": ")[-1] for line in told[before:]] == [
        *(f"1 finished run in {tmp_path / 'runs' / run.preset}" for run in first.runs),
        "measuring 2 runs",
    ]
    assert {path.name for path in again.files} == {"clrs.json", "clrs.csv", "clrs-seeds.csv", "clrs.html"}
    assert (tmp_path / "clrs.csv").read_bytes() == table
    found = json.loads((tmp_path / "clrs.json").read_text())
    assert (found["experiment"], found["scale"], len(found["runs"])) == ("clrs", "smoke", 2)
    assert {key: len(claims) for key, claims in found["claims"].items()} == {
        "follows-complexity": 2,
        "no-generalisation": 4,
    }
    rows = pl.read_csv(tmp_path / "clrs.csv")
    cells = rows.filter(quantity="usual_answer", variant="anira-e").select("subtask", "knob").rows()
    assert cells == [("minimum", 3), ("minimum", 4), ("minimum", 5), ("segments_intersect", 3)]
    assert rows.filter(quantity="copied_input").is_empty()
    assert "forced_accuracy" in rows["quantity"]
    assert "segments_intersect" in again.text


def test_baselines_of_a_published_run_lie_beside_it(tmp_path):
    """Its records may be complete without them."""
    task = {"tasks": ["minimum"], "sizes": [3, 4]}

    def train(name, out, changes):
        return train_tiny(out, name, steps=2, task_config=task)

    reproduce(Setting(scale="smoke", out=tmp_path, runs=tmp_path / "results", train=train))
    for path in (tmp_path / "results").rglob("baselines.json"):
        path.unlink()
    published = sorted((tmp_path / "results").rglob("*"))
    where = Setting(
        scale="smoke", out=tmp_path, runs=tmp_path / "runs", published=(tmp_path / "results",), train=lambda *_: 1 / 0
    )
    reproduce(where)
    assert sorted((tmp_path / "results").rglob("*")) == published
    assert len(list((tmp_path / "runs").rglob("records/sizes-n16/baselines.json"))) == 2
    told = []
    reproduce(replace(where, tell=told.append))
    assert not any(line.endswith(": baselines") for line in told)


KNOBS = {"sort": (1, 2, 5), "segments_intersect": (1,)}


def planted(root):
    """Three seeds whose depth rises with the size of what they sort."""
    folders = []
    for seed in range(3):
        plan = Plan(n=40, slope=0.5, noise=0.4, seed=seed, draw=seed)
        folders.append(
            write_subtasks(root / str(seed), {name: replace(plan, knobs=own) for name, own in KNOBS.items()})
        )
    cells = {
        (name, knob): Baselines(majority=0.25, copy=0.125 if name == "sort" else None)
        for name, own in KNOBS.items()
        for knob in own
    }
    return measured(folders, {f"run-s{seed}": cells for seed in range(3)}, left_out="sort <9>", draws=20)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return planted(tmp_path_factory.mktemp("clrs"))


def test_without_forced_depths_need_is_unknown(found):
    (claim,) = found.claims["follows-complexity"]
    assert claim.experiment == "clrs sort anira-o", "a size that is a label is not judged"
    assert claim.verdict.word == "not testable"
    assert claim.verdict.reason.startswith("whether depth is needed is unknown")


def test_the_page_says_all_and_is_escaped(found):
    page = make_page(found)
    assert page.badge.words == "not testable here"
    assert page.answer[0] == "It cannot be judged in CLRS sort ANIRA-O."
    assert page.answer[1].startswith("Accuracy between the seen sizes is unknown; verdicts")
    (label,) = [section for section in page.sections if section.title == "segments_intersect"]
    assert list(label.text) == [SAME]
    assert not any(isinstance(part, ChartPart) for part in label.parts)
    html = render(page)
    assert "sort &lt;9&gt;" in html
    assert "without the algorithm" in html
    assert "sort ANIRA-O" in page_text(page)
