"""Configurations come back from disk exactly as they were, or not at all."""

import json
import math
import subprocess
import sys
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anira.config import UserError, config_hash, from_dict, json_text, load, nearest, save, to_dict
from anira.tasks.depo import DepoConfig
from anira.tasks.mano import ManoConfig


@dataclass(frozen=True, kw_only=True)
class Inner:
    rate: float = 0.5
    names: tuple[str, ...] = ("a",)


@dataclass(frozen=True, kw_only=True)
class Outer:
    count: int = 3
    flag: bool = False
    text: str = "x"
    law: Literal["reference", "uniform"] = "reference"
    pair: tuple[int, float] = (1, 2.0)
    limit: int | None = None
    either: int | str = 0
    inner: Inner = Inner()
    maybe: Inner | None = None
    many: tuple[Inner, ...] = ()
    extra: dict[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class Reordered:
    """The fields of Inner, the other way round."""

    names: tuple[str, ...] = ("a",)
    rate: float = 0.5


@dataclass(frozen=True, kw_only=True)
class Positive:
    value: int

    def __post_init__(self) -> None:
        if self.value <= 0:
            raise UserError(f"value must be above 0, not {self.value}")


words = st.text(max_size=5)
numbers = st.floats(allow_nan=False, allow_infinity=False).map(
    lambda number: number + 0.0
)  # -0.0 is equal to 0.0 but not written so
inners = st.builds(Inner, rate=numbers, names=st.lists(words).map(tuple))
outers = st.builds(
    Outer,
    count=st.integers(),
    flag=st.booleans(),
    text=words,
    law=st.sampled_from(["reference", "uniform"]),
    pair=st.tuples(st.integers(), numbers),
    limit=st.none() | st.integers(),
    either=st.integers() | words,
    inner=inners,
    maybe=st.none() | inners,
    many=st.lists(inners, max_size=2).map(tuple),
    extra=st.none() | st.dictionaries(words, st.integers() | words, max_size=2),
)


@settings(deadline=None)
@given(outers)
def test_a_saved_configuration_loads_as_it_was(tmp_path_factory: pytest.TempPathFactory, config: Outer) -> None:
    path = tmp_path_factory.mktemp("config") / "config.json"
    save(config, path)
    assert load(Outer, path) == config
    assert config_hash(load(Outer, path)) == config_hash(config)
    assert from_dict(Outer, json.loads(json.dumps(to_dict(config)))) == config


@pytest.mark.parametrize("config", [ManoConfig(), DepoConfig(), DepoConfig(eval_sizes=(7, 9), size_law="uniform")])
def test_task_configurations_survive_the_disk(tmp_path: Path, config: ManoConfig | DepoConfig) -> None:
    save(config, tmp_path / "config.json")
    assert load(type(config), tmp_path / "config.json") == config


def changed(path: str, value: object) -> dict[str, Any]:
    """Return the default configuration as a dictionary with one value, named by its dotted path, set to another."""
    data = to_dict(Outer())
    *parents, last = path.split(".")
    table = data
    for name in parents:
        table = table[name]
    table[last] = value
    return data


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("count", True, "Outer.count must be int, not True"),
        ("count", "3", "Outer.count must be int, not '3'"),
        ("count", 3.0, "Outer.count must be int, not 3.0"),
        ("count", None, "Outer.count must be int, not None"),
        ("flag", 1, "Outer.flag must be bool, not 1"),
        ("text", 1, "Outer.text must be str, not 1"),
        ("law", "uniforn", "Outer.law must be one of reference, uniform, not 'uniforn'"),
        ("law", [], "Outer.law must be one of"),
        ("pair", [1], "Outer.pair must have 2 items, not 1"),
        ("pair", 1, "Outer.pair must be a list, not 1"),
        ("pair", ["a", 1.0], r"Outer.pair\[0\] must be int, not 'a'"),
        ("limit", "1", "Outer.limit must be int, not '1'"),
        ("either", 0.5, "Outer.either cannot be 0.5"),
        ("inner", 3, "Outer.inner must be a table of keys and values, not 3"),
        ("inner.rate", True, "Outer.inner.rate must be float, not True"),
        ("inner.rate", "fast", "Outer.inner.rate must be float, not 'fast'"),
        ("inner.rate", math.nan, "Outer.inner.rate must be a finite number, not nan"),
        ("inner.rate", math.inf, "Outer.inner.rate must be a finite number, not inf"),
        ("inner.rate", -(10**400), "Outer.inner.rate must be a finite number, not inf"),
        ("pair", [1, -math.inf], r"Outer.pair\[1\] must be a finite number, not -inf"),
        ("extra", {"a": [{"b": math.nan}]}, r"Outer.extra.a\[0\].b must be a finite number, not nan"),
        ("inner.names", "abc", "Outer.inner.names must be a list, not 'abc'"),
        ("inner.names", ["a", 1], r"Outer.inner.names\[1\] must be str, not 1"),
        ("inner.namez", ["a"], "unknown key 'namez' in Outer.inner: did you mean 'names'"),
        ("maybe", {"rate": 1.0}, "missing key 'names' in Outer.maybe"),
        ("many", [{}], r"missing key 'rate' in Outer.many\[0\]: it is empty"),
        ("coumt", 3, "unknown key 'coumt' in Outer: did you mean 'count'"),
        ("zzz", 3, "unknown key 'zzz' in Outer: known: count, "),
    ],
)
def test_what_does_not_fit_is_refused(path: str, value: object, message: str) -> None:
    with pytest.raises(UserError, match=message):
        from_dict(Outer, changed(path, value))


@pytest.mark.parametrize("field", [field.name for field in fields(Outer)])
def test_every_key_must_be_there(field: str) -> None:
    data = to_dict(Outer())
    del data[field]
    with pytest.raises(UserError, match=f"missing key '{field}' in Outer"):
        from_dict(Outer, data)


def test_a_whole_number_is_a_float() -> None:
    config = from_dict(Outer, changed("inner.rate", 2))
    assert config.inner.rate == 2.0
    assert isinstance(config.inner.rate, float)


def test_values_get_their_python_form() -> None:
    config = from_dict(Outer, changed("maybe", {"rate": 1, "names": ["p", "q"]}))
    assert config.maybe == Inner(rate=1.0, names=("p", "q"))
    assert isinstance(config.maybe.names, tuple)


def test_checks_of_the_configuration_itself_are_run() -> None:
    with pytest.raises(UserError, match="above 0"):
        from_dict(Positive, {"value": 0})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"value": 0}', "config.json: value must be above 0"),
        ('{"valuex": 1}', "config.json: unknown key 'valuex' in Positive: did you mean 'value'"),
        ("[1]", "config.json: Positive must be a table"),
        ('{"value": ', "cannot read .*config.json"),
        (None, "cannot read .*config.json"),
    ],
)
def test_errors_name_the_file(tmp_path: Path, text: str | None, message: str) -> None:
    path = tmp_path / "config.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(UserError, match=message):
        load(Positive, path)


def test_hash_does_not_depend_on_the_order_of_fields() -> None:
    assert config_hash(Inner(rate=0.25)) == config_hash(Reordered(rate=0.25))


def test_hash_of_equal_configurations_is_equal() -> None:
    assert Inner(rate=1) == Inner(rate=1.0)
    assert config_hash(Inner(rate=1)) == config_hash(Inner(rate=1.0))


@settings(deadline=None)
@given(outers, outers)
def test_hash_differs_where_values_differ(one: Outer, other: Outer) -> None:
    assert (config_hash(one) == config_hash(other)) == (to_dict(one) == to_dict(other))


@pytest.mark.parametrize(
    "change", [{"modulus": 29}, {"operators": ("-", "+", "*")}, {"synonyms": True}, {"max_size": 17}]
)
def test_hash_sees_every_option(change: dict) -> None:
    assert config_hash(replace(ManoConfig(), **change)) != config_hash(ManoConfig())


def test_hash_never_changes() -> None:
    # Run folders are named by it.
    assert config_hash(Inner(rate=2, names=("a", "b"))) == "e25de5a2"


def test_hash_is_the_same_in_another_process() -> None:
    program = "from anira.config import *; from anira.tasks.mano import *; print(config_hash(ManoConfig()))"
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True).stdout
    assert output.strip() == config_hash(ManoConfig())


def test_what_is_written_is_json() -> None:
    assert json.loads(json_text({"a": [0.1, None, "x"]})) == {"a": [0.1, None, "x"]}
    assert json_text({"b": 1, "a": 2}, sort_keys=True) == '{"a": 2, "b": 1}'
    with pytest.raises(UserError, match=r"figures\[1\] must be a finite number, not nan"):
        json_text({"figures": [0.5, math.nan]})


def test_nearest_lists_what_is_known_if_nothing_is_near() -> None:
    assert nearest("modulo", ["modulus", "operators"]) == "did you mean 'modulus'?"
    assert nearest("x", ["mano", "brevo"]) == "known: brevo, mano"
