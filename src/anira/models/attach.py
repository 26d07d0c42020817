"""Another policy on a trained model: what it would do, judged on the weights that are there."""

from collections.abc import Mapping
from typing import Any

from anira.config import UserError
from anira.models.configuration import AniraConfig
from anira.models.modeling import AniraForCausalLM
from anira.models.policies import policy_class


def attach_policy(model: AniraForCausalLM, policy: str | Mapping[str, Any]) -> AniraForCausalLM:
    """Give a model a policy that has no weights of its own, such as confidence or huginn, in place of its own.

    The model itself is changed, and returned. A policy that must be trained is refused.

    >>> model = AniraForCausalLM(AniraConfig(hidden_size=16, intermediate_size=32, num_attention_heads=2))
    >>> attach_policy(model, "huginn").policy.rule("kl").threshold
    0.0005
    """
    config = AniraConfig.from_dict({**model.config.to_dict(), "policy": policy})
    attached = policy_class(config.policy["name"])(config)
    if any(True for _ in attached.parameters()):
        raise UserError(
            f"policy {attached.name!r} has weights, which this model does not have: train it from this run, with "
            f"--init-from and --frozen backbone"
        )
    model.config, model.policy = config, attached.to(model.device).train(model.training)
    return model
