"""Which knobs are evaluated beyond training, and from what the figure is made."""

import json
import shutil

import polars as pl
import pytest
from tests.training_support import train_tiny

from anira.config import UserError
from anira.paper.extrapolation.make import SIZES, Size, evaluated_knobs, reproduce
from anira.paper.setting import Setting
from anira.tasks import make_task
from anira.tasks.base import Knob


def knob(*seen, maximum=200):
    return Knob(name="L", meaning="", cost="L", seen=seen, minimum=1, maximum=maximum)


def test_knobs_go_from_the_smallest_seen_one_to_beyond_the_largest():
    assert evaluated_knobs(knob(2, 3, 4), Size(8, 1.5)) == (2, 3, 4, 5, 6)
    assert evaluated_knobs(knob(2, 3, 4, maximum=5), Size(8, 1.5)) == (2, 3, 4, 5)
    assert evaluated_knobs(knob(2, 3, maximum=3), Size(8, 1.5)) == (2, 3), "a task that has nothing beyond"
    assert evaluated_knobs(make_task("mano").knob, SIZES["paper"]) == tuple(range(3, 25))


def test_four_variants_are_evaluated_beyond_training_once(tmp_path):
    def train(name, out, changes):
        return train_tiny(out, name, steps=2, eval_every=2, **changes)

    told = []
    setting = Setting(scale="smoke", out=tmp_path, runs=tmp_path / "runs", train=train, tell=told.append)
    first = reproduce(setting)
    assert [run.preset.split("-", 1)[1] for run in first.runs] == [
        f"{variant}-smoke" for variant in ("anira-e", "anira-o", "fixed", "unshared")
    ]
    assert [path.name for path in first.files] == [
        "extrapolation.json",
        "extrapolation.csv",
        "extrapolation-alignment.csv",
        "extrapolation-pairs.csv",
        "extrapolation.html",
    ]
    table = pl.read_csv(first.files[1])
    assert table.filter(variant="unshared").select("knob", "split").rows() == [
        *((size, "seen") for size in (1, 2, 3)),
        *((size, "extrapolation") for size in (4, 5, 6)),
    ]
    assert table["instances"].unique().to_list() == [16]
    adaptive = [claim.experiment.split(",")[0] for claim in first.claims["no-generalisation"]]
    assert adaptive == ["mano anira-e", "mano anira-o"]
    assert len(first.claims["o-degrades-gracefully"]) == 2
    found = json.loads(first.files[0].read_text())
    assert [one["variants"] for one in found["pairs"]] == [["anira-o", "anira-e"], ["anira-o", "fixed"]]

    for path in (tmp_path / "runs").glob("*/*/checkpoints/*/model.safetensors"):
        path.unlink()  # records are enough
    before = [path.read_bytes() for path in first.files[1:]]
    again = reproduce(setting)
    assert sum("evaluating" in line for line in told) == 4
    assert again.files[1].read_bytes() == before[0]

    path = next((tmp_path / "runs" / "mano-fixed-smoke").iterdir())
    shutil.rmtree(path)
    shutil.copytree(train_tiny(tmp_path / "others", "brevo-fixed-smoke", steps=2), path)
    with pytest.raises(UserError, match="is a run of task 'brevo', not of mano"):
        reproduce(setting)
