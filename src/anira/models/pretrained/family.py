"""What a family of released models says of itself."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor
from transformers.core_model_loading import WeightTransform

from anira.config import UserError
from anira.models.configuration import AniraConfig

Original = Mapping[str, Any]
"""A config.json as the family's own code wrote it."""


@dataclass(frozen=True)
class Family:
    """How a family's configuration and tensors become ours; everything is reversible."""

    name: str
    model_type: str
    """What the family's config.json says."""
    translate: Callable[[Original], dict[str, Any]]
    """Return the fields of `AniraConfig`, the policy aside."""
    depth_key: str
    """What the family calls max_depth."""
    transforms: Callable[[AniraConfig], list[WeightTransform]]
    """Return how tensors are renamed, split and reordered, for a model of ours."""
    policy: Callable[[Original], dict[str, Any]] = lambda config: {"name": "fixed"}
    """Return the family's own policy."""
    mark: str = ""
    """Part of a tensor's name that tells the family from another one of the same model_type."""
    ignored: Collection[str] = field(default=())
    """Tensors of the family's files that are no weights."""
    verify: Callable[[Any, Mapping[str, Tensor]], None] = lambda model, ignored: None
    """Compare a loaded model with the ignored tensors of its file."""

    def policy_options(self, config: Original, wanted: str | Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the wanted policy; options of the family's own that are not named stay as the family has them."""
        own = self.policy(config)
        options = {"name": wanted} if isinstance(wanted, str) else dict(wanted or own)
        return {**own, **options} if options.get("name") == own["name"] else options


def need(config: Original, key: str) -> Any:
    """Return a value of the original configuration, or say which is missing."""
    if key not in config:
        raise UserError(f"config.json has no {key!r}, which a model of this family must say")
    return config[key]


def must_be(config: Original, key: str, *known: Any) -> None:
    """Refuse a setting that would change what the model computes, and that is not supported."""
    if config.get(key, known[0]) not in known:
        raise UserError(
            f"{key} = {config[key]!r} in config.json is not supported; known: {', '.join(map(repr, known))}"
        )
