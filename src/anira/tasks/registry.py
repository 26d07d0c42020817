"""Tasks by name: ours, those of installed packages (entry point `anira.tasks`), and those registered at run time."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, TypeVar

from anira.config import UserError, from_dict, nearest, to_dict
from anira.config.installed import installed
from anira.tasks.base import BlockTask

T = TypeVar("T", bound=type[BlockTask])

# Modules, not classes: listing the names must not import every task.
_BUILTIN = {
    "mano": "anira.tasks.mano:Mano",
    "brevo": "anira.tasks.brevo:Brevo",
    "depo": "anira.tasks.depo:Depo",
    "lano": "anira.tasks.lano:Lano",
    "clrs": "anira.tasks.clrs:Clrs",
    "words": "anira.tasks.words:Words",
    "wordmath": "anira.tasks.wordmath:Wordmath",
}
_registered: dict[str, type[BlockTask]] = {}


def register_task(cls: T) -> T:
    """Make a task known by its `name`; also a class decorator.

    The class is taken as it is: `anira sample NAME`, `anira export NAME` and every later command then find it.
    """
    known = _registered.get(cls.name)
    if cls.name in _BUILTIN or (known is not None and known.__qualname__ != cls.__qualname__):
        raise UserError(f"a task named {cls.name!r} is already registered; choose another name")
    _registered[cls.name] = cls
    return cls


def task_names() -> list[str]:
    """Return the names of all tasks, ours first."""
    extra = {*_registered, *installed("anira.tasks").names}
    return [*_BUILTIN, *sorted(extra - set(_BUILTIN))]


def task_class(name: str) -> type[BlockTask]:
    """Return the class of a task; an unknown name is the user's error."""
    if name in _registered:
        return _registered[name]
    if name in _BUILTIN:
        module, _, attribute = _BUILTIN[name].partition(":")
        cls: type[BlockTask] = getattr(import_module(module), attribute)
        return cls
    for point in installed("anira.tasks").select(name=name):
        loaded: type[BlockTask] = point.load()
        return loaded
    hint = nearest(name, task_names())
    raise UserError(f"unknown task {name!r}: {hint} (a task from outside must be imported first: --plugin)")


def make_task(name: str, config: Any = None) -> BlockTask:
    """Build a task from its config, from a dictionary of some of its options, or with its defaults.

    >>> make_task("mano").knob.seen[:3], make_task("mano", {"min_size": 1, "max_size": 3}).knob.seen
    ((3, 4, 5), (1, 2, 3))
    """
    cls = task_class(name)
    if isinstance(config, Mapping):
        config = from_dict(cls.Config, {**to_dict(cls.Config()), **config})
    return cls(config)
