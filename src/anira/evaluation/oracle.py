"""Oracle depth: the smallest depth that is enough, found by forcing every depth in turn.

What a policy that knew the answers would spend, on the model as it is: allocated depth is not needed depth. Depth d is
enough if the answer is right with all tokens forced to d, and to every greater depth: a lucky guess that is lost again
does not count.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from anira.evaluation.predict import Prediction, Settings, predict
from anira.models import AniraForCausalLM
from anira.tasks import IGNORE, Rows, Task


@dataclass(frozen=True)
class OracleDepths:
    """The smallest depth that is enough, D + 1 where none is."""

    instances: NDArray[np.int64]
    """(instances,): for all answer tokens of a row to be right."""
    tokens: NDArray[np.int64]
    """(instances, time): for the one that this position predicts; 0 where it predicts no answer."""
    max_depth: int

    @property
    def solved(self) -> NDArray[np.bool_]:
        """Which instances are right at the greatest depth, and so have an oracle depth."""
        return self.instances <= self.max_depth


def smallest_sufficient(right: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the smallest depth from which on all is right, D + 1 where there is none; depths are the first axis.

    >>> smallest_sufficient(np.array([[True, False, False], [False, True, True], [True, True, False]]))
    array([3, 2, 4])
    """
    stays = np.logical_and.accumulate(right[::-1], axis=0)
    smallest: NDArray[np.int64] = len(right) + 1 - stays.sum(axis=0, dtype=np.int64)
    return smallest


@torch.no_grad()
def oracle_depths(model: AniraForCausalLM, task: Task, rows: Rows, *, batch_size: int = 256) -> OracleDepths:
    """Force all tokens to each of the model's depths in turn, and return which are enough.

    An answer is right as in evaluations: graded by the task, and read along with the true tokens before it.
    """
    most = model.config.max_depth
    training = model.training
    model.eval()
    said = [_predict(model, rows, depth, batch_size) for depth in range(1, most + 1)]
    model.train(training)
    targets = np.pad(rows.labels[:, 1:], ((0, 0), (0, 1)), constant_values=IGNORE)
    instances = np.array([[_grade(task, rows, i, one) for i in range(len(rows))] for one in said])
    tokens = smallest_sufficient(np.stack([one == targets for one in said]))
    return OracleDepths(smallest_sufficient(instances), np.where(targets == IGNORE, 0, tokens), most)


def _predict(model: AniraForCausalLM, rows: Rows, depth: int, batch_size: int) -> NDArray[np.integer]:
    settings = Settings(override=f"depth-{depth}")
    starts = range(0, len(rows), batch_size)
    parts = [predict(model, rows.take(slice(start, start + batch_size)), settings) for start in starts]
    predicted = Prediction.concat(parts).predicted
    return np.pad(predicted, ((0, 0), (0, rows.input_ids.shape[1] - predicted.shape[1])))


def _grade(task: Task, rows: Rows, i: int, predicted: NDArray[np.integer]) -> bool:
    given = [int(predicted[i, position - 1]) for position in rows.answer_positions(i)]
    return task.grade(rows, i, given).exact
