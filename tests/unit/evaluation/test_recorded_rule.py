"""A rule and its threshold are recorded as used, also where the policy's own default was taken."""

import torch
from tests.training_support import tiny_config

from anira.evaluation import EvaluationConfig, Subject, evaluate
from anira.measure.records.loading import load_evaluation
from anira.models import AniraForCausalLM


def test_a_default_threshold_is_in_the_folder_and_in_the_records(tmp_path):
    config = tiny_config("words-calm-smoke")
    task = config.make_task()
    torch.manual_seed(0)
    model = AniraForCausalLM(config.make_model_config(task))
    subject = Subject(run_id="toy/0", step=0, variant="calm", seed=0)
    evaluate(model, task, EvaluationConfig(knobs=(2,), count=4), subject, tmp_path / "final")
    found = load_evaluation(tmp_path / "final")
    rule = model.policy.rule(None, None)
    assert rule.threshold is not None
    assert (found.asked["select"], found.asked["threshold"]) == rule
    assert found.instances.collect()["threshold"].unique().to_list() == [rule.threshold]
