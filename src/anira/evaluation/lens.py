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
_KEYS: Final = ("instance_id", "position")


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
    answers = tokens.filter(pl.col("instance_id").is_in(found), target_kind="answer").select(*_KEYS, "executed")
    places = zip(np.searchsorted(found, answers["instance_id"]), answers["position"], answers["executed"], strict=True)
    texts = [[task.vocab.tokens[i] for i in after[row, position, :depth]] for row, position, depth in places]
    lens = answers.select(_KEYS).with_columns(pl.Series("lens", texts, dtype=pl.List(pl.String)))
    return tokens.drop("lens").join(lens, on=_KEYS, how="left", maintain_order="left").select(tokens.columns)


def _sample(correct: Array) -> Array:
    """Return which instances have a lens, in ascending order."""
    return np.sort(np.concatenate([np.flatnonzero(correct)[:SAMPLE], np.flatnonzero(~correct)[:SAMPLE]]))
