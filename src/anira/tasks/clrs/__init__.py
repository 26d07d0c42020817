"""CLRS-Text: the answers of 30 textbook algorithms in 23 subtasks, written out character by character."""

from anira.tasks.clrs.task import Clrs, ClrsConfig
from anira.tasks.clrs.text import solve
from anira.tasks.clrs.traces import strip_trace

__all__ = ["Clrs", "ClrsConfig", "solve", "strip_trace"]
