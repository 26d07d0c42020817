"""Which knobs are evaluated beyond training, and from what the figure is made."""

import shutil
from dataclasses import replace

import polars as pl
import pytest
from tests.measure_support import Planted, write_run
from tests.training_support import train_tiny

from anira.config import UserError
from anira.paper.extrapolation.make import BEYOND, evaluated_knobs, measured, reproduce
from anira.paper.extrapolation.page import limit, make_page
from anira.paper.setting import Setting
from anira.site import render
from anira.tasks import make_task
from anira.tasks.base import Knob


def knob(*seen, maximum=200):
    return Knob(name="L", meaning="", cost="L", seen=seen, minimum=1, maximum=maximum)


def test_knobs_go_from_the_smallest_seen_one_to_beyond_the_largest():
    assert evaluated_knobs(knob(2, 3, 4), 1.5) == (2, 3, 4, 5, 6)
    assert evaluated_knobs(knob(2, 3, 4, maximum=5), 1.5) == (2, 3, 4, 5)
    assert evaluated_knobs(knob(2, 3, maximum=3), 1.5) == (2, 3), "a task that has nothing beyond"
    assert evaluated_knobs(make_task("mano").knob, BEYOND["paper"]) == tuple(range(3, 25))


def test_four_variants_are_evaluated_beyond_training_once(tmp_path):
    def train(name, out, changes):
        return train_tiny(out, name, steps=2, eval_every=2, **changes)

    told = []
    setting = Setting(scale="smoke", out=tmp_path, runs=tmp_path / "runs", train=train, tell=told.append)
    first = reproduce(setting)
    variants = ["anira-e", "anira-o", "fixed", "unshared"]
    assert [run.preset for run in first.runs] == [f"mano-{variant}-smoke" for variant in variants]
    names = {f"extrapolation{end}" for end in (".json", ".csv", "-seeds.csv", ".html")}
    assert {path.name for path in first.files} == names
    table = pl.read_csv(tmp_path / "extrapolation.csv")
    accuracy = table.filter(variant="unshared", quantity="accuracy").drop_nulls("knob")
    splits = [*((size, "seen") for size in (1, 2, 3)), *((size, "extrapolation") for size in (4, 5, 6))]
    assert accuracy.select("knob", "split").rows() == splits
    assert accuracy["n"].unique().to_list() == [16]
    assert [claim.experiment for claim in first.claims["no-generalisation"]] == ["mano anira-e", "mano anira-o"]
    against = [claim.experiment for claim in first.claims["o-degrades-gracefully"]]
    assert against == ["mano anira-o against anira-e", "mano anira-o against fixed"]
    assert "These are smoke runs" in first.text

    for path in (tmp_path / "runs").glob("*/*/checkpoints/*/model.safetensors"):
        path.unlink()  # records are enough
    before = (tmp_path / "extrapolation.csv").read_bytes()
    reproduce(setting)
    assert sum("evaluating" in line for line in told) == 4
    assert (tmp_path / "extrapolation.csv").read_bytes() == before

    path = next((tmp_path / "runs" / "mano-fixed-smoke").iterdir())
    shutil.rmtree(path)
    shutil.copytree(train_tiny(tmp_path / "others", "brevo-fixed-smoke", steps=2), path)
    with pytest.raises(UserError, match="is a run of task 'brevo', not of mano"):
        reproduce(setting)


def planted(root):
    """Three seeds of two variants, all right to knob 2; beyond it ANIRA-E fails half of the time, ANIRA-O a quarter."""
    for variant, failing in {"anira-e": 2, "anira-o": 1}.items():

        def required(knob, number, failing=failing):
            return 9 if knob > 2 and number % 4 < failing else 1

        for seed in range(3):
            run = Planted(own=lambda knob, number: 3, required=required, variant=variant, seed=seed, trained=2)
            write_run(root, run, ("",))
    return measured(sorted(root.glob("*/*/records/final")), "K: a <number>", draws=50)


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    return planted(tmp_path_factory.mktemp("three"))


def test_the_page_answers_from_planted_records_and_is_escaped(three):
    page = make_page(three)
    assert page.badge.words == "supported: 2 of 2 settings support it"
    assert page.answer == [
        "Accuracy drops where training ends in TOY ANIRA-E and TOY ANIRA-O.",
        "Beyond training ANIRA-O keeps more accuracy: TOY ANIRA-O against ANIRA-E.",
    ]
    assert limit(three) == 2
    html = render(page)
    assert "K: a \\u003cnumber>" in html
    for part in ("Accuracy at the edge", "ANIRA-O less ANIRA-E", "Depth against the knob"):
        assert part in html


def test_without_a_pair_a_sentence_says_so(three):
    alone = measured_without(three, "anira-e")
    sections = {section.title: section for section in make_page(alone).sections}
    (section,) = [one for title, one in sections.items() if "beside the others" in title]
    assert section.text == ["No run shares its seed and its instances with a run of ANIRA-O."]
    assert not section.parts


def measured_without(found, rival):
    kept = pl.col("subset") != rival
    return replace(
        found,
        runs=found.runs.filter(kept),
        seeds=found.seeds.filter(kept),
        claims={**found.claims, "o-degrades-gracefully": []},
    )
