"""A completion as a client asks for it: OpenAI's fields, and ours for depth. What is not known is refused by name.

{"prompt": "+ 1 2 <ans>", "max_tokens": 8, "select": "quantile", "threshold": 0.9}
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from anira.config import nearest
from anira.config.sealed import parse_json
from anira.serving.errors import Refused

Prompt = str | list[int]

_MOST_STOPS, _LONGEST_STOP = 16, 256
_LARGEST: Final = (1 << 63) - 1  # what a tensor's integers hold


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a client wants; None is what it has left open."""

    prompts: list[Prompt]
    model: str | None = None
    max_tokens: int | None = None
    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int | None = None
    seed: int = 0
    stop: tuple[str, ...] = ()
    stream: bool = False
    select: str | None = None
    threshold: float | None = None
    exit_depth: int | None = None

    @property
    def has_rule(self) -> bool:
        """Whether it says how depth is chosen."""
        return (self.select, self.threshold, self.exit_depth) != (None, None, None)


def read_asked(body: bytes) -> Asked:
    """Return what a request's JSON asks for, or refuse it by the name of what is wrong.

    >>> read_asked(b'{"prompt": [1, 2], "max_tokens": 3}').prompts
    [[1, 2]]
    >>> read_asked(b'{"prompt": "a", "max_token": 3}')
    Traceback (most recent call last):
    anira.serving.errors.Refused: unknown field 'max_token': did you mean 'max_tokens'?
    """
    try:
        values = parse_json(body)
    except ValueError as error:
        raise Refused(400, f"the body is not JSON: {error}", code="invalid_json") from None
    if not isinstance(values, dict):
        raise Refused(400, "the body must be a JSON object", code="invalid_json")
    for name in values:
        if name not in _FIELDS:
            raise Refused(400, f"unknown field {name[:80]!r}: {nearest(name[:80], _FIELDS)}", param=name[:80])
    if values.get("prompt") is None:
        raise _wrong("prompt", "is missing")
    given = {name: read(name, values[name]) for name, read in _FIELDS.items() if values.get(name) is not None}
    for name in _FIXED:
        given.pop(name, None)
    return Asked(prompts=given.pop("prompt"), **given)


def _wrong(name: str, problem: str) -> Refused:
    return Refused(400, f"{name} {problem}", param=name)


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _integer(low: int, high: int = _LARGEST) -> Callable[[str, Any], int]:
    def read(name: str, value: Any) -> int:
        if not _is_integer(value):
            raise _wrong(name, f"must be a whole number, not {_shown(value)}")
        if not low <= value <= high:
            bound = f"at least {low}" if value < low else f"at most {high}"
            raise _wrong(name, f"must be {bound}, not {_shown(value)}")
        return int(value)

    return read


def _number(name: str, value: Any) -> float:
    # 1e999 is JSON, and Python reads it as infinity; a whole number may be too large for a float.
    if not (_is_integer(value) or isinstance(value, float)) or abs(value) > 1e9 or not math.isfinite(value):
        raise _wrong(name, f"must be a finite number, not {_shown(value)}")
    return float(value)


def _temperature(name: str, value: Any) -> float:
    number = _number(name, value)
    if number != 0 and not 1e-3 <= number <= 100:  # logits are divided by it
        raise _wrong(name, f"must be 0, or lie between 0.001 and 100, not {_shown(value)}")
    return number


def _share(name: str, value: Any) -> float:
    number = _number(name, value)
    if not 0 < number <= 1:
        raise _wrong(name, f"must be more than 0 and at most 1, not {_shown(value)}")
    return number


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise _wrong(name, f"must be a string, not {_shown(value)}")
    return value


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise _wrong(name, f"must be true or false, not {_shown(value)}")
    return value


def _only(wanted: Any, reason: str) -> Callable[[str, Any], Any]:
    def read(name: str, value: Any) -> Any:
        if value is not wanted and (isinstance(value, bool) or value != wanted):
            raise _wrong(name, reason)
        return value

    return read


def _stops(name: str, value: Any) -> tuple[str, ...]:
    stops = [value] if isinstance(value, str) else value
    if not isinstance(stops, list) or not all(isinstance(stop, str) and stop for stop in stops):
        raise _wrong(name, f"must be a string that is not empty, or a list of such, not {_shown(value)}")
    if len(stops) > _MOST_STOPS or any(len(stop) > _LONGEST_STOP for stop in stops):
        raise _wrong(name, f"must be at most {_MOST_STOPS} strings of at most {_LONGEST_STOP} characters")
    return tuple(stops)


def _prompts(name: str, value: Any) -> list[Prompt]:
    """Return one prompt or several: a string, token ids, or a list of either."""
    many = isinstance(value, list) and any(isinstance(one, str | list) for one in value)
    prompts = value if many else [value]
    for prompt in prompts:
        if isinstance(prompt, list) and not all(map(_is_integer, prompt)):
            raise _wrong(name, "has a list of tokens with something in it that is not a whole number")
        if not isinstance(prompt, str | list):
            raise _wrong(name, f"must be a string, a list of token ids, or a list of those, not {_shown(prompt)}")
        if not prompt:
            raise _wrong(name, "must not be empty")
    return list(prompts)


def _shown(value: Any) -> str:
    """Return a value for a message; large ones by their kind."""
    kinds = {dict: "an object", list: "a list", bool: "true or false", str: "a string", int: "a number"}
    text = str(value).lower() if isinstance(value, bool) else repr(value) if not _is_large(value) else ""
    return text if text and len(text) <= 40 else kinds.get(type(value), "that")


def _is_large(value: Any) -> bool:
    return isinstance(value, dict | list) or (isinstance(value, int) and value.bit_length() > 100)


_FIELDS: Final[Mapping[str, Callable[[str, Any], Any]]] = {
    "prompt": _prompts,
    "model": _text,
    "max_tokens": _integer(1),
    "temperature": _temperature,
    "top_p": _share,
    "top_k": _integer(1),
    "seed": _integer(0),
    "stop": _stops,
    "stream": _flag,
    "select": _text,
    "threshold": _number,
    "exit_depth": _integer(1),
    "n": _only(1, "must be 1: ask again with another seed for another answer"),
    "echo": _only(False, "must be false: the answer does not repeat the prompt"),
}
"""Name -> how its value is read."""
_FIXED: Final = ("n", "echo")
"""Fields of OpenAI's that have one value here."""
