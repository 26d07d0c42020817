"""anira: transformers that choose, token by token, how many iterations of a shared core to spend."""

from anira.tasks.registry import make_task, register_task

__version__ = "0.1.0"
__all__ = ["__version__", "make_task", "register_task"]
