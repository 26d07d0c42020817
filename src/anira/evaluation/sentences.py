"""Strings that a model writes on its own, from <bos> to <eos>, and their records.

Each token is drawn from the model's distribution as it stands (temperature 1, no token forbidden). String i of a seed
has random numbers of its own, so that neither the batch size nor the number of strings changes it.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch
from torch import Tensor

from anira.config import UserError
from anira.evaluation.evaluate import EvaluationConfig, Subject, make_labels
from anira.evaluation.port import depth_model
from anira.evaluation.predict import Array, Prediction, Settings, predict
from anira.evaluation.records import RecordFolder
from anira.evaluation.tables import Labels, instance_table, token_table
from anira.inference import Stepwise
from anira.models import AniraForCausalLM
from anira.tasks import IGNORE, Rows, Task
from anira.tasks.vocab import BOS, EOS, PAD


@dataclass(frozen=True, kw_only=True)
class SentencesConfig:
    """What to sample."""

    count: int = 2000
    longest: int
    """Tokens after which a string that has not ended is cut, its marks included."""
    seed: int = 0
    batch_size: int = 256

    def __post_init__(self) -> None:
        if min(self.count, self.batch_size) < 1 or self.longest < 2 or self.seed < 0:
            raise UserError("count and batch_size must be at least 1, longest at least 2, and seed not negative")


@torch.no_grad()
def evaluate_sentences(
    model: AniraForCausalLM,
    task: Task,
    config: SentencesConfig,
    subject: Subject,
    folder: str | Path,
    *,
    progress: Callable[[int], None] | None = None,
) -> None:
    """Sample strings and write their records, unless they are there; `progress` is told how many strings are done.

    The records are those of an evaluation of freely written rows at the task's largest knob. The depths are read off
    one pass over the finished strings (tests hold it equal to decoding). `correct` and `lenient_correct` both
    say whether the string is one that the task accepts, `meta_ended` whether it came to its <eos>.
    """
    knob, records = task.knob.maximum, RecordFolder(Path(folder))
    labels = make_labels(depth_model(model), EvaluationConfig(knobs=(knob,), decode="generated"), subject)
    records.open({**asdict(labels), "knobs": [knob], "n": config.count, "sampled": asdict(config)})
    training = model.training
    model.eval()
    if records.missing([knob]):
        parts = []
        for start in range(0, config.count, config.batch_size):
            index = range(start, min(start + config.batch_size, config.count))
            rows = sample_rows(model, task, config, index)
            parts.append(_tables(model, task, rows, labels, start))
            if progress is not None:
                progress(index.stop)
        records.write(knob, *(pl.concat(tables) for tables in zip(*parts, strict=True)))
    records.close()
    model.train(training)


def sample_rows(model: AniraForCausalLM, task: Task, config: SentencesConfig, index: range) -> Rows:
    """Return the strings with these numbers as rows: `<bos> w1 ... wT <eos>`, all but `<bos>` supervised.

    A string also ends where the model writes `<bos>` or `<pad>`, which no sentence contains.
    """
    start, ends = task.vocab.id(BOS), [task.vocab.id(mark) for mark in (BOS, EOS, PAD)]
    uniform = np.stack([np.random.default_rng((config.seed, i)).random(config.longest - 1) for i in index])
    written = _sample(model, start, ends, torch.from_numpy(uniform))
    ids = np.concatenate([np.full((len(index), 1), start), written], axis=1)
    ended = np.isin(written, ends)
    lengths = 1 + np.where(ended.any(axis=1), ended.argmax(axis=1) + 1, written.shape[1])
    valid = np.arange(ids.shape[1]) < lengths[:, None]
    labels = np.where(valid & (np.arange(ids.shape[1]) > 0), ids, IGNORE)
    rows = Rows(np.where(valid, ids, task.vocab.id(PAD)), labels, lengths, np.full(len(index), task.knob.maximum))
    return rows.take(slice(None))


def _sample(model: AniraForCausalLM, start: int, ends: list[int], uniform: Tensor) -> Array:
    """Draw one token a column of `uniform` (strings, tokens), until every string has ended."""
    session, marks = Stepwise(model), torch.tensor(ends)
    token = torch.full((len(uniform), 1), start)
    ended = torch.zeros(len(uniform), dtype=torch.bool)
    written: list[Tensor] = []
    for column in uniform.T:
        sums = session.feed(token.to(model.device)).logits.cpu().double().softmax(-1).cumsum(-1)
        # The token in whose part of [0, 1) the number falls; the last sum is 1 only up to rounding.
        token = torch.searchsorted(sums, column[:, None] * sums[:, -1:], right=True).clamp(max=sums.shape[1] - 1)
        written.append(token)
        ended |= torch.isin(token[:, 0], marks)
        if bool(ended.all()):
            break
    return torch.cat(written, dim=1).numpy()


def _tables(
    model: AniraForCausalLM, task: Task, rows: Rows, labels: Labels, first: int
) -> tuple[pl.DataFrame, pl.DataFrame]:
    prediction = predict(model, rows, Settings())
    instances = instance_table(task, depth_model(model), rows, rows, _as_written(prediction, rows), labels, first, None)
    last = rows.input_ids[np.arange(len(rows)), rows.lengths - 1]
    added: dict[str, Any] = {
        "correct": pl.col("lenient_correct"),
        "meta_ended": pl.Series((last == task.vocab.id(EOS)).astype(np.int64)),
    }
    return instances.with_columns(**added), token_table(task, rows, rows, prediction, labels, first)


def _as_written(prediction: Prediction, rows: Rows) -> Prediction:
    """Return a prediction that says what was written: it is the string that is graded, not the likeliest tokens."""
    return replace(prediction, predicted=np.pad(rows.input_ids[:, 1:], ((0, 0), (0, 1))))
