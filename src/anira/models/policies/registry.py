"""Policies by name: ours, those of installed packages (entry point `anira.policies`), those registered at run time."""

import dataclasses
from typing import Any, TypeVar

from anira.config import UserError, from_dict, nearest
from anira.config.installed import installed
from anira.config.strict import stored_values
from anira.models.policies.act import Act
from anira.models.policies.anira_e import AniraE
from anira.models.policies.anira_o import AniraO
from anira.models.policies.base import ComputePolicy
from anira.models.policies.calm import Calm
from anira.models.policies.confidence import Confidence
from anira.models.policies.depth_adaptive import DepthAdaptive
from anira.models.policies.fixed import Fixed
from anira.models.policies.huginn import Huginn
from anira.models.policies.mixture_of_depths import MixtureOfDepths
from anira.models.policies.mor_expert import MorExpert
from anira.models.policies.mor_token import MorToken
from anira.models.policies.nulls import DeepSupervised, Position, Random, TokenType
from anira.models.policies.oracle_head import OracleHead
from anira.models.policies.ouro import Ouro
from anira.models.policies.pondernet import PonderNet
from anira.models.policies.think_at_hard import ThinkAtHard
from anira.models.policies.universal import Universal

P = TypeVar("P", bound=type[ComputePolicy])
_policies: dict[str, type[ComputePolicy]] = {
    cls.name: cls
    for cls in (
        Act,
        AniraE,
        AniraO,
        Calm,
        Confidence,
        DeepSupervised,
        DepthAdaptive,
        Fixed,
        Huginn,
        MixtureOfDepths,
        MorExpert,
        MorToken,
        OracleHead,
        Ouro,
        PonderNet,
        Position,
        Random,
        ThinkAtHard,
        TokenType,
        Universal,
    )
}


def register_policy(cls: P) -> P:
    """Make a policy known by its `name`; also a class decorator."""
    cls.check_class()
    known = _policies.get(cls.name)
    if known is not None and known.__qualname__ != cls.__qualname__:
        raise UserError(f"a policy named {cls.name!r} is already registered; choose another name")
    _policies[cls.name] = cls
    return cls


def policy_class(name: str) -> type[ComputePolicy]:
    """Return the class of a policy; an unknown name is the user's error."""
    if name not in _policies:
        for point in installed("anira.policies").select(name=name):
            register_policy(point.load())
    if name not in _policies:
        hint = nearest(name, _policies)
        raise UserError(f"unknown policy {name!r}: {hint} (a policy from outside must be imported first: --plugin)")
    return _policies[name]


def policy_names() -> list[str]:
    """Return the names of all policies that are known: ours, installed ones, and those registered at run time."""
    return sorted({*_policies, *installed("anira.policies").names})


def resolve_policy(options: Any) -> dict[str, Any]:
    """Return a policy's options complete and checked, as the model's configuration stores them.

    >>> resolve_policy("fixed")
    {'name': 'fixed'}
    """
    if isinstance(options, str):
        options = {"name": options}
    if not isinstance(options, dict) or not isinstance(options.get("name"), str):
        raise UserError(f"policy must be a name or a table with one, as in {{'name': 'anira-e'}}, not {options!r}")
    name = options["name"]
    cls = policy_class(name).Options
    defaults = {field.name: field.default for field in dataclasses.fields(cls)}
    given = {key: value for key, value in options.items() if key != "name"}
    return {"name": name, **stored_values(from_dict(cls, {**defaults, **given}))}
