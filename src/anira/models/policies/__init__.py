"""Compute policies: what sets depth. One file per policy; `base.py` is the interface."""

from anira.models.policies.anira_e import AniraE
from anira.models.policies.anira_o import AniraO
from anira.models.policies.base import (
    Allocation,
    ComputePolicy,
    Context,
    Readout,
    Route,
    State,
    passthrough,
)
from anira.models.policies.decider import Decider
from anira.models.policies.fixed import Fixed
from anira.models.policies.registry import policy_class, policy_names, register_policy, resolve_policy
from anira.models.policies.rules import DISTRIBUTION_RULES, ChosenRule, Rules, ThresholdRange
from anira.models.policies.task_loss import TaskLoss

__all__ = [
    "DISTRIBUTION_RULES",
    "Allocation",
    "AniraE",
    "AniraO",
    "ChosenRule",
    "ComputePolicy",
    "Context",
    "Decider",
    "Fixed",
    "Readout",
    "Route",
    "Rules",
    "State",
    "TaskLoss",
    "ThresholdRange",
    "passthrough",
    "policy_class",
    "policy_names",
    "register_policy",
    "resolve_policy",
]
