"""What a sweep is to run: a plan is a TOML file, or what flags say, and stands for a list of runs.

hours = 3                                  # for how long; what is left then goes on with the next call
threads = 1                                # of each run: part of the run, because sums depend on it

[[runs]]
name = "s3"
presets = ["words-anira-e-cpu", "words-anira-o-cpu"]
seeds = "0:4"                              # both ends count, as in --knobs
set = { steps = 4000 }
grid = { "policy.gamma" = [0.03, 0.1] }    # every combination

[[runs]]
presets = ["words-z6-anira-o-cpu"]
after = ["s3"]                             # begins when these are finished
"""

import ast
import itertools
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from anira.config import UserError, check_finite, nearest
from anira.config.ranges import parse_integers
from anira.config.strict import run_id, stored_values
from anira.training import TrainConfig
from anira.training.overrides import compiler, override, pays_to_compile
from anira.training.presets import preset
from anira.training.stages import check_stage

_START = "init_from"
_OWN = {"seed": "seeds", "threads": "threads of the plan"}  # options that a plan has a word of its own for


@dataclass(frozen=True, kw_only=True)
class Group:
    """Runs that belong together: every preset with every seed and every combination of the grid."""

    presets: tuple[str, ...]
    name: str = ""
    seeds: tuple[int, ...] = (0,)
    set: Mapping[str, Any] = field(default_factory=dict)
    """Options that are not the preset's, by the names that `anira train` has for them. An init_from that names a group
    means its run of the same seed."""
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """Options of which every combination of values is run."""
    after: tuple[str, ...] = ()
    """Names of groups that must be finished first."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """All groups, and the limits under which they run."""

    groups: tuple[Group, ...]
    threads: int = 1
    """CPU threads of each run; part of the run, because sums depend on it in the last digit."""
    hours: float | None = None
    """How long the sweep may take; runs that are under way then stop with a checkpoint."""


@dataclass(frozen=True, kw_only=True)
class PlannedRun:
    """One run of a plan."""

    id: str
    """Its folder below the folder of all runs: <preset>/<hash8>-s<seed>."""
    config: TrainConfig
    changes: Mapping[str, Any]
    """In what it is not the preset, the seed aside."""
    after: frozenset[str] = frozenset()
    """Runs that must be finished first."""

    @property
    def label(self) -> str:
        """Name the run for people.

        >>> planned_runs(Plan(groups=(Group(presets=("mano-fixed-smoke",), set={"steps": 9}),)))[0].label
        'mano-fixed-smoke seed 0 steps=9'
        """
        changes = "".join(f" {name}={value}" for name, value in self.changes.items())
        return f"{self.config.preset} seed {self.config.seed}{changes}"


def read_plan(path: Path) -> Plan:
    """Return the plan in a TOML file; whatever it says that has no meaning is an error."""
    try:
        data = tomllib.loads(path.read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"cannot read the plan {path}: {getattr(error, 'strerror', None) or error}") from error
    try:
        return make_plan(data)
    except UserError as error:
        raise UserError(f"{path}: {error}") from error


def make_plan(data: Mapping[str, Any]) -> Plan:
    """Return the plan that plain values stand for.

    >>> make_plan({"runs": [{"presets": ["mano-fixed-cpu"], "seeds": "0:2"}]}).groups[0].seeds
    (0, 1, 2)
    """
    _check_keys(data, ("runs", "threads", "hours"), "a plan")
    found = data.get("runs")
    if not isinstance(found, list) or not found:
        raise UserError('a plan needs [[runs]] with presets = ["..."]')
    plan = Plan(groups=tuple(_group(one) for one in found), threads=data.get("threads", 1), hours=data.get("hours"))
    check_limits(plan)
    return plan


def check_limits(plan: Plan) -> None:
    """Raise a UserError for limits that no run can keep."""
    check_finite(plan.hours, "hours")
    if type(plan.threads) is not int or plan.threads < 1:
        raise UserError(f"threads must be a whole number of at least 1, not {plan.threads!r}")
    if plan.hours is not None and (type(plan.hours) not in (int, float) or plan.hours <= 0):
        raise UserError(f"hours must be a positive number, not {plan.hours!r}")


def parse_seeds(value: object) -> tuple[int, ...]:
    """Return the seeds that a text, a number or a list names.

    >>> parse_seeds("0:2,7"), parse_seeds([3, 4])
    ((0, 1, 2, 7), (3, 4))
    """
    if isinstance(value, str):
        seeds: list[Any] = list(parse_integers(value, "seeds"))
    else:
        seeds = value if isinstance(value, list) else [value]
    if not seeds or any(type(seed) is not int for seed in seeds) or len(set(seeds)) < len(seeds):
        raise UserError(f"seeds must be distinct whole numbers, and at least one: {value!r}")
    return tuple(seeds)


def parse_assignment(text: str) -> tuple[str, list[Any]]:
    """Read NAME=VALUE,VALUE; commas in brackets belong to a value.

    >>> list(map(parse_assignment, ["policy.gamma=.03,.1", "betas=[.9,.98]", "task.group=S3"]))
    [('policy.gamma', [0.03, 0.1]), ('betas', [[0.9, 0.98]]), ('task.group', ['S3'])]
    """
    name, equals, values = text.partition("=")
    if not name or not equals or not values:
        raise UserError(f"options are written as NAME=VALUE or NAME=VALUE,VALUE, not {text!r}")
    return name, [_value(part) for part in re.split(r",(?![^\[]*\])", values)]


def _value(text: str) -> Any:
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def planned_runs(plan: Plan) -> list[PlannedRun]:
    """Return all runs of a plan, each once, in its order; what cannot be run is an error."""
    _check_names(plan.groups)
    made: dict[str, PlannedRun] = {}
    of_group: dict[str, list[PlannedRun]] = {}
    for group in _in_order([_after_first_stage(group, plan.groups) for group in plan.groups]):
        runs = _runs(group, plan.threads, {name: of_group[name] for name in group.after})
        if group.name:
            of_group[group.name] = runs
        for run in runs:
            made.setdefault(run.id, run)
    return list(made.values())


def _runs(group: Group, threads: int, earlier: Mapping[str, Sequence[PlannedRun]]) -> list[PlannedRun]:
    runs = []
    after = frozenset(run.id for some in earlier.values() for run in some)
    for name, values, seed in itertools.product(group.presets, itertools.product(*group.grid.values()), group.seeds):
        changes = {**group.set, **dict(zip(group.grid, values, strict=True))}
        if changes.get(_START) in earlier:
            changes[_START] = _first_stage(changes[_START], earlier[changes[_START]], seed)
        config = override(preset(name, seed=seed), {"threads": threads, **changes})
        check_stage(config)
        if "compile" not in changes:
            pays = pays_to_compile(config.model["policy"]["name"], config.steps)
            config = override(config, {"compile": pays and compiler() is not None})
        runs.append(PlannedRun(id=run_id(stored_values(config)), config=config, changes=changes, after=after))
    return runs


def _after_first_stage(group: Group, groups: Sequence[Group]) -> Group:
    """Return a group that also waits for the one whose runs it starts from, if it names one."""
    start = group.set.get(_START)
    named = start in {other.name for other in groups if other.name}
    return replace(group, after=tuple(dict.fromkeys((*group.after, str(start))))) if named else group


def _first_stage(name: str, runs: Sequence[PlannedRun], seed: int) -> str:
    """Return the run of a group from which a run with this seed starts."""
    found = [run.id for run in runs if run.config.seed == seed]
    if len(found) != 1:
        raise UserError(f"init_from = {name!r} must name a group with one run of seed {seed}, not {len(found)}")
    return found[0]


def _group(data: Any) -> Group:
    if not isinstance(data, Mapping):
        raise UserError(f"[[runs]] must be a table of keys and values, not {data!r}")
    names = ("presets", "name", "seeds", "set", "grid", "after")
    _check_keys(data, names, "[[runs]]")
    lists = {key: data.get(key, []) for key in ("presets", "after")}
    for key, value in lists.items():
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise UserError(f"{key} must be a list of names, not {value!r}")
    tables = {key: data.get(key, {}) for key in ("set", "grid")}
    for key, value in tables.items():
        if not isinstance(value, Mapping):
            raise UserError(f"{key} must be a table of options, not {value!r}")
    if not isinstance(data.get("name", ""), str):
        raise UserError(f"name must be text, not {data['name']!r}")
    return check_group(
        Group(
            presets=tuple(lists["presets"]),
            name=data.get("name", ""),
            seeds=parse_seeds(data.get("seeds", 0)),
            set=_flat(tables["set"]),
            grid=_flat(tables["grid"]),
            after=tuple(lists["after"]),
        )
    )


def check_group(group: Group) -> Group:
    """Return a group if it can be run."""
    if not group.presets:
        raise UserError('[[runs]] needs presets = ["..."]')
    for name in (*group.set, *group.grid):
        if name in _OWN:
            raise UserError(f"{name} is not set here: use {_OWN[name]}")
    for name, values in group.grid.items():
        if name in group.set:
            raise UserError(f"{name} is set and is in the grid: leave one out")
        if not isinstance(values, list | tuple) or not values:
            raise UserError(f"the grid needs a list of values for {name}, not {values!r}")
        if len({repr(value) for value in values}) < len(values):
            raise UserError(f"the grid has a value of {name} twice: {values!r}")
    return group


def _flat(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return options by dotted names: TOML reads policy.gamma = 0.1 as a table in a table.

    >>> _flat({"policy": {"gamma": 0.1}, "steps": 5})
    {'policy.gamma': 0.1, 'steps': 5}
    """
    flat: dict[str, Any] = {}
    for name, value in table.items():
        if isinstance(value, Mapping):
            flat |= {f"{name}.{key}": inner for key, inner in _flat(value).items()}
        else:
            flat[name] = value
    return flat


def _check_keys(data: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for key in data:
        if key not in known:
            raise UserError(f"unknown key {key!r} in {where}: {nearest(key, known)}")


def _check_names(groups: Sequence[Group]) -> None:
    names = [group.name for group in groups if group.name]
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"two groups of runs are called {name!r}")
    for group in groups:
        for name in group.after:
            if name not in names:
                raise UserError(f"after = {name!r} names no group of runs: {nearest(name, names or ['(none)'])}")


def _in_order(groups: Sequence[Group]) -> list[Group]:
    """Return the groups in the plan's order, but each after those that it waits for."""
    ordered: list[Group] = []
    left = list(groups)
    while left:
        done = {group.name for group in ordered}
        ready = next((place for place, group in enumerate(left) if set(group.after) <= done), None)
        if ready is None:
            raise UserError(f"these groups of runs wait for each other: {', '.join(g.name or '?' for g in left)}")
        ordered.append(left.pop(ready))
    return ordered
