"""Tasks with a complexity knob: generator, reference solver, and the solver's state at every token. numpy only."""

from anira.tasks.base import BLOCK, IGNORE, STREAMS, BlockTask, Grade, Instance, Knob, Probe, Rows, Task
from anira.tasks.registry import make_task, register_task, task_class, task_names
from anira.tasks.vocab import CharVocab, Vocab

__all__ = [
    "BLOCK",
    "IGNORE",
    "STREAMS",
    "BlockTask",
    "CharVocab",
    "Grade",
    "Instance",
    "Knob",
    "Probe",
    "Rows",
    "Task",
    "Vocab",
    "make_task",
    "register_task",
    "task_class",
    "task_names",
]
