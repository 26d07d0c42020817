"""The figure of compute allocation, from tiny runs to its files."""

import json

import polars as pl
import pytest
from tests.training_support import train_tiny

from anira.config import UserError
from anira.paper.allocation import make as allocation
from anira.paper.setting import Setting


def train(name, out, changes):
    return train_tiny(out, name, steps=2, eval_every=2, **changes)


def setting(root):
    return Setting(scale="smoke", out=root, runs=root / "runs", train=train)


def test_all_tasks_and_variants_come_to_one_page(tmp_path):
    outcome = allocation.reproduce(setting(tmp_path))
    names = [f"{task}-{variant}-smoke" for task in ("mano", "brevo", "depo") for variant in ("anira-e", "anira-o")]
    assert [run.preset for run in outcome.runs] == names
    assert [path.name for path in outcome.files] == [
        "allocation.json",
        "allocation.csv",
        "allocation-alignment.csv",
        "allocation-pairs.csv",
        "allocation.html",
    ]
    assert [len(outcome.claims[key]) for key in ("follows-complexity", "o-less-depth")] == [6, 3]
    found = json.loads(outcome.files[0].read_text())
    assert [one["figures"]["labels"]["task"] for one in found["runs"]] == 2 * ["mano"] + 2 * ["brevo"] + 2 * ["depo"]
    assert [one["instances"] for one in found["pairs"]] == [18, 24, 12], "6 instances a knob, the same for both"
    assert set(pl.read_csv(outcome.files[1])["task"]) == {"mano", "brevo", "depo"}
    for title in ("MANO", "BREVO", "DEPO"):
        assert title in outcome.text

    path = next((tmp_path / "runs" / "mano-anira-e-smoke").iterdir())
    path.rename(tmp_path / "runs" / "depo-anira-o-smoke" / path.name)
    with pytest.raises(UserError, match="is a run of task 'mano', not of depo"):
        allocation.reproduce(setting(tmp_path))
