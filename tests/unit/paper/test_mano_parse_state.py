"""The page of MANO's question tokens from tiny runs, end to end."""

import json

import polars as pl
import pytest
from tests.training_support import train_tiny

from anira.config import UserError
from anira.paper.mano_parse_state.make import NAME, PAPER, reproduce
from anira.paper.setting import Setting


def small(name, out, changes):
    return train_tiny(out, name, steps=2, final_count=12, **changes)


def test_the_files_are_made_from_records_alone(tmp_path):
    told = []
    setting = Setting(scale="smoke", out=tmp_path, runs=tmp_path / "runs", train=small, tell=told.append)
    first = reproduce(setting)
    assert [path.name for path in first.files] == [
        f"{NAME}.json",
        *(f"{NAME}{part}.csv" for part in ("", "-model", "-contrasts", "-explained")),
        f"{NAME}.html",
    ]
    assert [run.preset for run in first.runs] == ["mano-anira-e-smoke", "mano-anira-o-smoke"]
    before = [path.read_bytes() for path in first.files[1:5]]
    for path in (tmp_path / "runs").glob("*/*/checkpoints/*/model.safetensors"):
        path.unlink()
    again = reproduce(setting)
    assert [path.read_bytes() for path in again.files[1:5]] == before
    assert sum("finished run" in line for line in told) == 2

    found = json.loads(again.files[0].read_text())
    assert (found["experiment"], found["scale"], found["paper_r2"]) == (NAME, "smoke", 0.63)
    claims = again.claims["reads-while-solving"]
    assert len(claims) == len(found["claims"]["reads-while-solving"]) == 8
    assert {claim.verdict.word for claim in claims} <= {"not testable", "inconclusive"}
    model = pl.read_csv(again.files[2])
    assert len(model) == 2 * 2 * len(PAPER)
    assert "The piecewise model" in again.text


def test_a_run_of_another_task_is_refused(tmp_path):
    path = train_tiny(tmp_path / "other", "brevo-anira-e-smoke", steps=2)
    for variant in ("anira-e", "anira-o"):
        (tmp_path / "runs" / f"mano-{variant}-smoke").mkdir(parents=True)
    path.rename(tmp_path / "runs" / "mano-anira-e-smoke" / path.name)
    with pytest.raises(UserError, match="of task 'brevo', not of mano"):
        reproduce(Setting(scale="smoke", out=tmp_path, runs=tmp_path / "runs", train=small))
