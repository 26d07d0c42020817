"""While tests run, every function of the package that declares shapes checks them: jaxtyping with beartype.

jaxtyping has such a hook too. This one leaves alone what has no shapes (mypy checks it, and our own messages to users
come first), checks arguments once, steps aside where torch compiles, and checks calls that look alike only once: so the
suite stays fast.
"""

import ast
import sys
from collections.abc import Callable
from functools import wraps
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import Any

import numpy as np
import torch
from beartype import BeartypeConf, beartype
from beartype.door import is_bearable
from beartype.roar import BeartypeDecorHintException
from jaxtyping import jaxtyped
from torch import Tensor

RULES = BeartypeConf(is_pep484_tower=True)  # an int is a float, as mypy has it


def install(package: str) -> None:
    """Check what is imported of a package from now on."""
    assert package not in sys.modules, f"{package} was imported before its types could be checked"
    sys.meta_path.insert(0, _Finder(package))


class _Finder(PathFinder):
    def __init__(self, package: str) -> None:
        self.package = package

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name.partition(".")[0] != self.package:
            return None
        spec = super().find_spec(name, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(name, spec.loader.path)
        return spec


class _Loader(SourceFileLoader):
    def get_code(self, name: str) -> Any:
        source = self.get_data(self.path)
        if b"jaxtyping" not in source:
            return super().get_code(name)  # which may come from the cache of bytecode
        tree = _Decorate().visit(ast.parse(source))
        return compile(ast.fix_missing_locations(tree), self.path, "exec", dont_inherit=True)

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["__checked__"] = checked
        super().exec_module(module)


class _Decorate(ast.NodeTransformer):
    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        node.decorator_list.append(_name_at(node))  # the innermost: other decorators hide annotations
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        self.generic_visit(node)
        if "dataclass" in ast.unparse(node.decorator_list):
            node.decorator_list.insert(0, _name_at(node))  # the outermost: `dataclass` makes what is to be checked
        return node


def _name_at(node: ast.stmt) -> ast.expr:
    return ast.copy_location(ast.Name("__checked__", ast.Load()), node)


def checked(thing: Any) -> Any:
    """Return a function that checks its arguments and its result, or a dataclass that checks its fields."""
    if isinstance(thing, type):
        if not issubclass(thing, dict):  # Hugging Face's outputs are also made of a whole dictionary
            thing.__init__ = checked(thing.__init__)
        return thing
    if "jaxtyping" not in str(thing.__annotations__):
        return thing
    thing.__annotations__ = {name: _checkable(hint) for name, hint in thing.__annotations__.items()}
    made: list[Any] = []  # a result that is there already and only to be checked

    @wraps(thing)
    def given(*args: Any, **options: Any) -> Any:
        return made.pop() if made else thing(*args, **options)

    checking = _in_one_scope(beartype(given, conf=RULES))
    seen: dict[Any, set[Any]] = {}  # look of the arguments -> looks of results that were found right

    @wraps(thing)
    def either(*args: Any, **options: Any) -> Any:
        if torch.compiler.is_compiling():
            return thing(*args, **options)
        arguments = (*map(_look, args), *options, *map(_look, options.values()))
        if arguments not in seen:
            result = checking(*args, **options)
            seen[arguments] = {_look(result)}
            return result
        result = thing(*args, **options)
        look = _look(result)
        if look not in seen[arguments]:
            made.append(result)
            checking(*args, **options)
            seen[arguments].add(look)
        return result

    return either


def _look(thing: Any) -> Any:
    """Return all of a value that a check can see, as something to look up."""
    kind = type(thing)
    how = _HOW.get(kind) or _HOW.setdefault(kind, _how(kind))
    return how(kind, thing)


def _how(kind: type) -> Callable[[type, Any], Any]:
    """Return the function that looks at things of one type: choosing it takes longer than looking."""
    if kind is str:
        return lambda kind, thing: (kind, thing)
    if issubclass(kind, Tensor):
        return lambda kind, thing: (kind, thing.dtype, thing.shape)
    if issubclass(kind, np.ndarray):  # torch.compile looks into closures, and does not know numpy's types
        return lambda kind, thing: ("array", thing.dtype.str, thing.shape)
    if issubclass(kind, tuple | list):
        return lambda kind, thing: (kind, *map(_look, thing))
    if issubclass(kind, dict):
        return lambda kind, thing: (kind, *thing, *map(_look, thing.values()))
    return lambda kind, thing: kind


_HOW: dict[type, Callable[[type, Any], Any]] = {}


def _in_one_scope(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function in whose arguments and result an axis of one name has one size."""

    def scoped(*args: Any, **options: Any) -> Any:
        with jaxtyped("context"):
            return function(*args, **options)

    return scoped


def _checkable(hint: Any) -> Any:
    """Return a hint if beartype can check it: not `Self` outside a class, nor every protocol."""
    try:
        if not isinstance(hint, str):  # a name that is defined later; beartype looks it up when it is needed
            is_bearable(None, hint, conf=RULES)
    except BeartypeDecorHintException:
        return object
    return hint
