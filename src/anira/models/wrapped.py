"""Parts of a model that another library has put a wrapper around."""

from typing import Any

from torch import nn

from anira.models.policies import ComputePolicy


def policy_in_use(policy: nn.Module) -> ComputePolicy:
    """Return the policy, or the copy of it that PEFT trains in its place (`modules_to_save`).

    PEFT's wrapper hands on every attribute but those that it has itself, and it has an `update`.
    """
    while not isinstance(policy, ComputePolicy):
        wrapper: Any = policy
        trained = wrapper.original_module
        for adapter in wrapper.active_adapters if not wrapper.disable_adapters else ():
            if adapter in wrapper.modules_to_save:  # a ModuleDict has no `get`
                trained = wrapper.modules_to_save[adapter]
        policy = trained
    return policy
