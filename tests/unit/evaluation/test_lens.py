"""The logit lens: exact where tokens could have stopped, for a few instances, and nowhere else."""

import polars as pl
import pytest
import torch
from tests.unit.evaluation.evaluation_support import TASKS, evaluated, forward, model_for

from anira.evaluation.lens import SAMPLE


@pytest.mark.parametrize("policy", ["anira-o", "anira-e", "fixed", "similarity"])
@pytest.mark.parametrize("task", ["mano", "brevo"])
def test_the_lens_is_what_the_model_says_when_it_is_stopped(tmp_path, task, policy):
    task = TASKS[task]
    model = model_for(task, policy)
    _, tokens = evaluated(model, task, tmp_path / "e")
    shown = tokens.filter(pl.col("lens").is_not_null().any().over("instance_id"))
    for _, row in list(shown.group_by("instance_id", maintain_order=True))[:3]:
        ids, depths = row["input_id"].to_list(), torch.tensor([row["executed"].to_list()])
        forced = [depths.clamp(max=d) for d in range(1, model.config.max_depth + 1)]
        said = [forward(model, ids, exit_depth=one).logits[0].argmax(-1) for one in forced]
        for token in row.filter(target_kind="answer").iter_rows(named=True):
            ids = [int(one[token["position"]]) for one in said[: token["executed"]]]
            assert token["lens"] == [task.vocab.tokens[i] for i in ids]
            assert token["lens"][-1] == task.vocab.tokens[token["predicted_id"]]


def test_right_and_wrong_instances_have_it_and_only_their_answers(tmp_path):
    task = TASKS["mano"]
    instances, tokens = evaluated(model_for(task), task, tmp_path / "e", count=60)
    have = tokens.drop_nulls("lens")
    assert have["target_kind"].unique().to_list() == ["answer"]
    found = instances.filter(pl.col("instance_id").is_in(have["instance_id"]))
    counts = instances.group_by("knob", "correct").len().with_columns(pl.col("len").clip(0, SAMPLE))
    assert found.group_by("knob", "correct").len().sort("knob", "correct").equals(counts.sort("knob", "correct"))


@pytest.mark.parametrize(("policy", "asked"), [("anira-o", {"override": "depth-2"}), ("gates", {})])
def test_forced_depths_and_skipped_iterations_have_none(tmp_path, policy, asked):
    task = TASKS["mano"]
    _, tokens = evaluated(model_for(task, policy), task, tmp_path / "e", **asked)
    assert tokens["lens"].null_count() == len(tokens)
