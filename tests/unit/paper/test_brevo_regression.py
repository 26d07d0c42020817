"""The regression of BREVO from runs to files: on runs that learned nothing, and on runs with planted records."""

import json

import polars as pl
import pytest
from tests.sealing_support import seal_run
from tests.training_support import train_tiny
from tests.unit.measure.brevo_support import Graphs, write_graphs

from anira.config import UserError
from anira.paper.brevo_regression.make import reproduce
from anira.paper.setting import Setting

FILES = [
    "brevo-regression.json",
    "brevo-regression.csv",
    "brevo-regression-stages.csv",
    "brevo-regression-fits.csv",
    "brevo-regression.html",
]


def setting_of(folder):
    def train(name, out, changes):
        return train_tiny(out, name, steps=2, **changes)

    return Setting(scale="smoke", out=folder, runs=folder / "runs", train=train)


def plant(run, effects, draw):
    """Put records with a planted law in the place of those that a run wrote."""
    folder = run.folder / "records" / "final"
    asked = json.loads((folder / "evaluation.json").read_text())
    write_graphs(folder, Graphs(variant=asked["variant"], step=asked["step"], effects=effects, draw=draw))
    seal_run(run.folder)


def test_runs_that_learned_nothing_say_so_and_planted_ones_are_found(tmp_path):
    setting = setting_of(tmp_path)
    empty = reproduce(setting)
    assert [path.name for path in empty.files] == FILES
    (claim,) = empty.claims["e-structure-o-state"]
    assert claim.verdict.word == "not testable"
    assert "answered right, and 50 are needed" in empty.text
    assert "NaN" not in empty.files[0].read_text()

    plant(empty.runs[0], {"out_degree_dep": 0.3}, draw=0)
    plant(empty.runs[1], {"dfs_depth": 0.3}, draw=1)
    found = reproduce(setting)
    assert all(run.found for run in found.runs)
    (claim,) = found.claims["e-structure-o-state"]
    assert claim.verdict.reason == "1 seed, and 3 are needed"
    assert claim.estimates[0].direction == 1
    said = json.loads(found.files[0].read_text())
    assert (said["experiment"], said["scale"], len(said["runs"])) == ("brevo-regression", "smoke", 2)
    assert said["paper"]["anira-o"]["coefficients"]["dfs_depth"] == 0.302
    assert said["contrasts"][0]["difference"]["value"] == claim.estimates[0].value
    assert said["claims"]["e-structure-o-state"][0]["verdict"]["word"] == "inconclusive"
    assert len(pl.read_csv(found.files[1])) == 8
    assert "The paper's four features" in found.text


def test_a_run_of_another_task_is_refused(tmp_path):
    path = train_tiny(tmp_path / "runs", "mano-anira-e-smoke", steps=2)
    (tmp_path / "runs" / "brevo-anira-e-smoke").mkdir()
    path.rename(tmp_path / "runs" / "brevo-anira-e-smoke" / path.name)
    with pytest.raises(UserError, match="records of task 'mano', not of brevo"):
        reproduce(setting_of(tmp_path))
