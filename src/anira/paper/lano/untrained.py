"""The depths that models give to strings before any training (measure/untrained.py says what they are for)."""

from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
import torch

from anira.evaluation.predict import Array
from anira.measure.records.loading import load_evaluation
from anira.measure.untrained import UNTRAINED
from anira.models import AniraForCausalLM
from anira.training import TrainConfig

MODELS: Final = 5
"""How many are initialised, with the seeds from 0."""
_BATCH: Final = 256


def untrained_depths(config: TrainConfig, strings: Path, models: int = MODELS) -> pl.DataFrame:
    """Return the expected depth of every token of some strings in freshly initialised models of a run's configuration.

    One row per position, as in the records of the strings, and one column per model.
    """
    columns = ("instance_id", "position", "input_id")
    tokens = load_evaluation(strings).tokens.select(columns).sort("instance_id", "position").collect()
    row, position = (tokens["instance_id"].rank("dense") - 1).to_numpy(), tokens["position"].to_numpy()
    # What stands beyond a string's end is never looked at.
    ids = np.zeros((row.max() + 1, position.max() + 1), dtype=np.int64)
    ids[row, position] = tokens["input_id"].to_numpy()
    depths = {f"{UNTRAINED}{seed}": _depths(_initial(config, seed), ids)[row, position] for seed in range(models)}
    return tokens.select("instance_id", "position").with_columns(pl.Series(name, one) for name, one in depths.items())


def _initial(config: TrainConfig, seed: int) -> AniraForCausalLM:
    """Return a model as training would begin with it."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = AniraForCausalLM(config.make_model_config(config.make_task()))
    model.eval()
    return model


@torch.no_grad()
def _depths(model: AniraForCausalLM, ids: Array) -> Array:
    parts = [model(part).expected_depth for part in torch.from_numpy(ids).split(_BATCH)]
    return torch.cat(parts).float().numpy()
