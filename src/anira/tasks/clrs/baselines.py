"""How far one gets without the algorithm: the commonest answer, and the input copied. At small sizes that is far."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from anira.config import UserError
from anira.tasks.clrs.algorithms import find_subtask
from anira.tasks.clrs.fields import Style
from anira.tasks.clrs.task import Clrs
from anira.tasks.clrs.text import parse


@dataclass(frozen=True)
class Baselines:
    """Shares of right answers."""

    majority: float
    """Always the answer that is commonest in training rows of the same size."""
    copy: float | None
    """The input, read as an answer; None where no input has the form of one."""


def measure_baselines(task: Clrs, size: int, *, count: int = 1000, seed: int = 0) -> Baselines:
    """Measure both on evaluation rows of one subtask and size."""
    if not task.subtask:
        raise UserError("baselines belong to one subtask: ask for those of each of the task's parts")
    training, rows = (
        task.rows(seed=seed, stream=stream, start=0, count=count, knob=size) for stream in ("train", "eval")
    )
    usual = commonest([task.instance(training, i).answer for i in range(count)])
    instances = [task.instance(rows, i) for i in range(count)]
    copies = [copied_answer(instance.question, task.config.style) for instance in instances]
    right = [copy == instance.answer for copy, instance in zip(copies, instances, strict=True)]
    majority = sum(instance.answer == usual for instance in instances) / count
    return Baselines(majority, None if None in copies else sum(right) / count)


def commonest(answers: Sequence[str]) -> str:
    """Return the answer that occurs most often; of equals the first.

    >>> commonest(["3", "1", "1", "3", "2"])
    '3'
    """
    return Counter(answers).most_common(1)[0][0]


def copied_answer(question: str, style: Style) -> str | None:
    r"""Return the input as an answer: the list not sorted, every edge in the tree, every edge a bridge.

    >>> copied_answer("bridges:\nA: [[0 1], [1 0]]\nis_bridge:\n", "anira")
    '[[0 1], [1 0]]'
    """
    problem = parse(question)
    subtask, value, output = find_subtask(problem.header).name, problem.values[0], problem.algorithm.outputs[0]
    if subtask == "sort":
        return output.write(value, style)
    if subtask in ("bridges", "mst_kruskal"):
        other = -1 if subtask == "bridges" else 0
        return output.write(
            [[0 if u == v else 1 if edge else other for v, edge in enumerate(row)] for u, row in enumerate(value)],
            style,
        )
    return None
