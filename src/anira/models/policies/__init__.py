"""Compute policies: what sets depth. One file a policy; `base.py` is the interface."""

from anira.models.policies.anira_e import AniraE
from anira.models.policies.anira_o import AniraO
from anira.models.policies.base import (
    Allocation,
    ComputePolicy,
    Context,
    Readout,
    Route,
    State,
    TaskLoss,
    passthrough,
)
from anira.models.policies.fixed import Fixed, Forced
from anira.models.policies.registry import policy_class, register_policy, resolve_policy

__all__ = [
    "Allocation",
    "AniraE",
    "AniraO",
    "ComputePolicy",
    "Context",
    "Fixed",
    "Forced",
    "Readout",
    "Route",
    "State",
    "TaskLoss",
    "passthrough",
    "policy_class",
    "register_policy",
    "resolve_policy",
]
