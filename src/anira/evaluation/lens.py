"""The logit lens (`anira.inference.logit_lens`) in records: what a model would say about a few answers."""

from typing import Final

import numpy as np
import polars as pl

from anira.evaluation.port import AniraModel, DepthModel
from anira.evaluation.predict import Array, Prediction, predict_stopped
from anira.inference.lens import can_stop
from anira.tasks import Rows, Task

SAMPLE: Final = 6
"""Right instances of a knob that have a lens, and wrong ones: as many as a page shows."""


def with_lens(
    tokens: pl.DataFrame, instances: pl.DataFrame, model: DepthModel, task: Task, rows: Rows, said: Prediction
) -> pl.DataFrame:
    """Return the tokens of a knob with `lens` at the answers of some instances, one text for each executed iteration.

    A model that is not ours has no lens, nor has one whose policy skips single iterations, or whose iterations are
    layers of their own.
    """
    if not isinstance(model, AniraModel) or not can_stop(model.model):
        return tokens
    index = _sample(instances["correct"].to_numpy())
    few = rows.take(index)
    after = predict_stopped(model.model, few, said.executed[index])
    found = instances["instance_id"].to_numpy()[index]
    answer = (tokens["target_kind"] == "answer").to_numpy() & np.isin(tokens["instance_id"].to_numpy(), found)
    asked = tokens.select("instance_id", "position", "executed")[np.flatnonzero(answer)]
    texts = (
        [task.vocab.tokens[i] for i in after[np.searchsorted(found, instance), position, :depth]]
        for instance, position, depth in asked.iter_rows()
    )
    lens = [next(texts) if here else None for here in answer]
    return tokens.with_columns(pl.Series("lens", lens, dtype=pl.List(pl.String)))


def _sample(correct: Array) -> Array:
    """Return which instances have a lens, in ascending order."""
    return np.sort(np.concatenate([np.flatnonzero(correct)[:SAMPLE], np.flatnonzero(~correct)[:SAMPLE]]))
