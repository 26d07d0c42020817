"""anira: transformers that choose, token by token, how many iterations of a shared core to spend.

    run = anira.load("results/mano-anira-o-cpu/02c76274-s1")
    run.depths("+ 1 * 2 3")

What needs torch is imported when it is first used, so `import anira` takes a moment.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from anira.tasks.registry import make_task, register_task

if TYPE_CHECKING:
    from anira.models import register_policy
    from anira.runs import Run, load, train

__version__ = "0.2.0"
__all__ = ["Run", "__version__", "load", "make_task", "register_policy", "register_task", "train"]

_LATER = {"Run": "anira.runs", "load": "anira.runs", "register_policy": "anira.models", "train": "anira.runs"}
"""Name -> the module that has it, which is imported when the name is first asked for."""


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'anira' has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
