"""What models say to strings before any training: the depths of the parallel pass, string by string."""

import numpy as np
import polars as pl
import torch
from tests.training_support import train_tiny

from anira.evaluation import SentencesConfig, evaluate_sentences
from anira.models import AniraForCausalLM
from anira.paper.lano.untrained import untrained_depths
from anira.training.evaluating import subject_of
from anira.training.run import load_run


def test_every_token_has_the_depth_of_a_model_as_training_begins_with_it(tmp_path):
    task = {"start_symbol": 10, "packed_length": 64}
    run = train_tiny(tmp_path, "lano-anira-e-smoke", steps=2, max_length=64, task_config=task)
    config, model, step = load_run(run, None)
    strings = tmp_path / "strings"
    wanted = SentencesConfig(count=7, longest=20)
    evaluate_sentences(model, config.make_task(), wanted, subject_of(config, step), strings)
    (path,) = strings.glob("tokens-*.parquet")
    tokens = pl.read_parquet(path)

    state = torch.random.get_rng_state()
    found = untrained_depths(config, strings, models=2)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert found.columns == ["instance_id", "position", "untrained_0", "untrained_1"]
    assert found.select("instance_id", "position").equals(tokens.select("instance_id", "position"))
    assert not found["untrained_0"].equals(found["untrained_1"])

    torch.manual_seed(1)
    fresh = AniraForCausalLM(config.make_model_config(config.make_task())).eval()
    for (i,), part in tokens.partition_by("instance_id", as_dict=True).items():
        with torch.no_grad():
            depth = fresh(torch.tensor([part["input_id"].to_list()])).expected_depth[0]
        np.testing.assert_allclose(found.filter(instance_id=i)["untrained_1"], depth, rtol=1e-4)
    assert untrained_depths(config, strings, models=2).equals(found)
