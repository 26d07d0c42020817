"""Strict conversion between configuration dataclasses and JSON: nothing is ignored, nothing is guessed.

A difficulty setting that is silently dropped is the worst bug a project like this can have, so an unknown key, a
missing key, a value of the wrong type and a number that is none (NaN, infinity) are all errors that name the key.
"""

import dataclasses
import hashlib
import json
import math
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from anira.config.errors import UserError, nearest
from anira.config.files import write_file

C = TypeVar("C")
T = TypeVar("T")
_LARGEST_FLOAT = 2**1023  # a larger integer may have no float at all


def to_dict(config: Any) -> dict[str, Any]:
    """Return a configuration as plain JSON values: nested dictionaries, lists, numbers, strings.

    >>> @dataclasses.dataclass(frozen=True, kw_only=True)
    ... class Sizes:
    ...     values: tuple[int, ...] = (3, 4)
    >>> to_dict(Sizes())
    {'values': [3, 4]}
    """
    return {field.name: _plain(getattr(config, field.name)) for field in dataclasses.fields(config)}


def later(before: T) -> T:
    """Declare a field that configurations stored earlier do not have: it is missing there, and means `before`."""
    made: T = dataclasses.field(default=before, metadata={"before": before})
    return made


def from_dict(cls: type[C], data: Mapping[str, Any]) -> C:
    """Build a configuration from plain values; the inverse of `to_dict`.

    Every key must be there and no other: a stored configuration says everything, so that a later change of a
    default cannot change what an old file means. Only a field made by `later` may be missing.
    """
    return _build(cls, data, where=cls.__name__)


def json_text(value: Any, *, indent: int | None = None, sort_keys: bool = False) -> str:
    """Return plain values as JSON, which has no NaN and no infinity: what is undefined is None, or left out.

    >>> json_text({"accuracy": 0.5, "depth": None})
    '{"accuracy": 0.5, "depth": null}'
    """
    try:
        return json.dumps(value, indent=indent, sort_keys=sort_keys, allow_nan=False)
    except ValueError:
        check_finite(value, "what is to be written")
        raise


def check_finite(value: Any, where: str) -> None:
    """Raise a UserError that says where in plain values a number is NaN or infinite.

    >>> check_finite({"rates": [0.5, float("inf")]}, "Settings")
    Traceback (most recent call last):
    anira.config.errors.UserError: Settings.rates[1] must be a finite number, not inf
    """
    if isinstance(value, float) and not math.isfinite(value):
        raise UserError(f"{where} must be a finite number, not {value}")
    if isinstance(value, Mapping):
        for key, item in value.items():
            check_finite(item, f"{where}.{key}")
    elif isinstance(value, list | tuple):
        for i, item in enumerate(value):
            check_finite(item, f"{where}[{i}]")


def save(config: Any, path: Path) -> None:
    """Write a configuration as indented JSON."""
    write_file(path, json_text(to_dict(config), indent=2) + "\n")


def load(cls: type[C], path: Path) -> C:
    """Read what `save` wrote; errors name the file."""
    try:
        data = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read {path}: {error}") from error
    try:
        return from_dict(cls, data)
    except UserError as error:
        raise UserError(f"{path}: {error}") from error


def config_hash(config: Any) -> str:
    """Return 8 hexadecimal digits that depend on the values only, not on field order, process or platform.

    The values are those a stored configuration has, where a float field that was given 1 holds 1.0: equal
    configurations have equal hashes, before and after they are saved.
    """
    return values_digest(stored_values(config))[:8]


def values_digest(values: Mapping[str, Any]) -> str:
    """Return the SHA-256 of plain values, whatever the order of their keys."""
    canonical = json.dumps(values, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def stored_values(config: Any) -> dict[str, Any]:
    """Return a configuration as it is stored: plain values, each in the type that its field has.

    A field made by `later` is left out where it says what its absence says, so that stored runs keep their hash.
    """
    values, before = to_dict(from_dict(type(config), to_dict(config))), _before(type(config))
    return {name: value for name, value in values.items() if name not in before or value != before[name]}


def run_id(values: Mapping[str, Any]) -> str:
    """Name a run by its configuration as it is stored: <preset>/<hash8>-s<seed>.

    >>> run_id({"preset": "mano-fixed-cpu", "seed": 3})
    'mano-fixed-cpu/6c1a0649-s3'
    """
    return f"{values.get('preset')}/{values_digest(values)[:8]}-s{values.get('seed')}"


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return to_dict(value)
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    return value


def _build(cls: type[C], data: object, *, where: str) -> C:
    if not isinstance(data, Mapping):
        raise UserError(f"{where} must be a table of keys and values, not {data!r}")
    hints = get_type_hints(cls)
    names = [field.name for field in dataclasses.fields(cls)]  # type: ignore[arg-type]
    for key in data:
        if key not in names:
            raise UserError(f"unknown key {key!r} in {where}: {nearest(key, names)}")
    before = _before(cls)
    for name in names:
        if name not in data and name not in before:
            raise UserError(f"missing key {name!r} in {where}: {nearest(name, data) if data else 'it is empty'}")
    data = {**before, **data}
    return cls(**{name: _convert(hints[name], data[name], where=f"{where}.{name}") for name in names})


def _before(cls: Any) -> dict[str, Any]:
    """Return what the fields that `later` made meant before they were there."""
    return {field.name: field.metadata["before"] for field in dataclasses.fields(cls) if "before" in field.metadata}


def _convert(hint: Any, value: Any, *, where: str) -> Any:
    """Check `value` against the annotation `hint` and give it its Python form (lists become tuples)."""
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _convert_union(args, value, where=where)
    if origin is Literal:
        if value not in args:
            raise UserError(f"{where} must be one of {', '.join(map(str, args))}, not {value!r}")
        return value
    if origin is tuple:
        return _convert_tuple(args, value, where=where)
    if origin is dict and not isinstance(value, Mapping):
        raise UserError(f"{where} must be a table of keys and values, not {value!r}")
    if origin is dict or hint is Any:
        check_finite(value, where)
        return value
    if dataclasses.is_dataclass(hint):
        return _build(hint, value, where=where)  # type: ignore[arg-type]
    return _convert_scalar(hint, value, where=where)


def _convert_union(args: tuple[Any, ...], value: Any, *, where: str) -> Any:
    if value is None and type(None) in args:
        return None
    choices = [arg for arg in args if arg is not type(None)]
    if len(choices) == 1:
        return _convert(choices[0], value, where=where)
    for choice in choices:
        try:
            return _convert(choice, value, where=where)
        except UserError:
            continue
    raise UserError(f"{where} cannot be {value!r}")


def _convert_tuple(args: tuple[Any, ...], value: Any, *, where: str) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise UserError(f"{where} must be a list, not {value!r}")
    if len(args) == 2 and args[1] is Ellipsis:
        args = (args[0],) * len(value)
    if len(args) != len(value):
        raise UserError(f"{where} must have {len(args)} items, not {len(value)}")
    return tuple(
        _convert(arg, item, where=f"{where}[{i}]") for i, (arg, item) in enumerate(zip(args, value, strict=True))
    )


def _convert_scalar(hint: type, value: Any, *, where: str) -> Any:
    # bool is a subclass of int in Python, and JSON writes 1.0 as 1: both need a word of their own.
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value) if abs(value) < _LARGEST_FLOAT else math.inf
    if not isinstance(value, hint) or (isinstance(value, bool) and hint is not bool):
        raise UserError(f"{where} must be {hint.__name__}, not {value!r}")
    check_finite(value, where)
    return value
