"""Load a released model as ours, and save it back in its own layout.

transformers finds conversions of weights by the name of a model's class. So every family has a subclass of our model
for the time of loading, which knows the family's names; what comes out is a plain `AniraForCausalLM`.
"""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, cast

import torch
from transformers import PreTrainedModel
from transformers.conversion_mapping import register_checkpoint_conversion_mapping
from transformers.core_model_loading import WeightTransform, revert_weight_conversion

from anira.config import UserError, json_text, nearest
from anira.config.files import write_file
from anira.models.configuration import AniraConfig
from anira.models.modeling import AniraForCausalLM
from anira.models.pretrained.family import Family, Original, need
from anira.models.pretrained.folder import local_folder, read_json, tensor_shapes, tensors
from anira.models.pretrained.huginn import HUGINN
from anira.models.pretrained.ouro import OURO
from anira.models.pretrained.recurrent_llama import RECURRENT_LLAMA
from anira.models.pretrained.tokens import token_ids

FAMILIES: Final = (OURO, HUGINN, RECURRENT_LLAMA)
"""A family with a mark comes before one of the same model_type without."""

Shapes = Mapping[str, tuple[int, ...]]


def load_released(
    path_or_hub_id: str | Path, *, policy: str | Mapping[str, Any] | None = None, dtype: torch.dtype | None = None
) -> AniraForCausalLM:
    """Return a released looped model (Ouro, Huginn, Recurrent-Llama) from its folder or its name on the hub.

    Args:
        path_or_hub_id: a folder with config.json and safetensors, or owner/model.
        policy: in place of the family's own, which is Ouro's gate, or else `fixed`; weights of a fresh policy start as
            its options say.
        dtype: of the weights; by default the file's.
    """
    folder = local_folder(path_or_hub_id)
    original, shapes = read_json(folder / "config.json"), tensor_shapes(folder)
    family = family_of(original, shapes)
    config = _configuration(folder, original, family, policy)
    model = load_converted(folder, config, family.transforms(config), shapes, ignored=family.ignored, dtype=dtype)
    family.verify(model, tensors(folder, family.ignored))
    return model


def _configuration(
    folder: Path, original: Original, family: Family, policy: str | Mapping[str, Any] | None
) -> AniraConfig:
    try:
        return AniraConfig(
            **family.translate(original),
            **token_ids(folder, original),
            max_depth=need(original, family.depth_key),
            policy=family.policy_options(original, policy),
            origin={"family": family.name, "config": dict(original)},
        )
    except UserError:
        raise
    except Exception as error:  # a value of the wrong type, wherever it is first noticed
        reason = " ".join(str(error).split())
        raise UserError(f"{folder / 'config.json'} is not one of {family.name}: {reason}") from None


def family_of(original: Original, shapes: Shapes) -> Family:
    """Return the family that a configuration and its tensors belong to."""
    model_type = original.get("model_type")
    for family in FAMILIES:
        if family.model_type == model_type and any(family.mark in name for name in shapes):
            return family
    known = sorted({family.model_type for family in FAMILIES})
    raise UserError(
        f"model_type {model_type!r} is none of the released looped models: {nearest(str(model_type), known)}"
    )


def load_converted(
    folder: Path,
    config: AniraConfig,
    transforms: list[WeightTransform],
    shapes: Shapes,
    *,
    ignored: Collection[str] = (),
    fresh: tuple[str, ...] = ("policy.",),
    dtype: torch.dtype | None = None,
) -> AniraForCausalLM:
    """Return a model from weights in another layout, all of whose tensors must be there and be known.

    `ignored`: tensors of the file that are not wanted; `fresh`: beginnings of our names that a file need not have.
    """
    expected = {name: shape for name, shape in _expected(config, transforms).items() if not name.startswith(fresh)}
    _check_tensors(folder, expected, shapes, ignored)
    # What is missing or left over has been looked at: nothing to warn of.
    quiet = {"_keys_to_ignore_on_load_unexpected": [".*"], "_keys_to_ignore_on_load_missing": [".*"]}
    loader: Any = type("AniraFromElsewhere", (AniraForCausalLM,), quiet)
    register_checkpoint_conversion_mapping(loader.__name__, cast(Any, transforms), overwrite=True)
    loaded: Any = loader.from_pretrained(
        folder, config=config, dtype=dtype or "auto", use_safetensors=True, local_files_only=True
    )
    loaded.__class__ = AniraForCausalLM
    loaded._weight_conversions = []  # saved as ours from here on
    model: AniraForCausalLM = loaded
    return model


def save_released(model: AniraForCausalLM, folder: str | Path) -> None:
    """Save a model that came from a released one in that one's own layout."""
    origin = model.config.origin or {}
    family = next((family for family in FAMILIES if family.name == origin.get("family")), None)
    if family is None:
        raise UserError("this model did not come from a released one: it has no other layout to be saved in")
    lost = [name for name in original_names(model, family.transforms(model.config)) if name.startswith("policy.")]
    if lost or family.policy(origin["config"])["name"] != model.config.policy["name"]:
        raise UserError(f"the layout of {family.name} has no place for policy {model.config.policy['name']!r}")
    with _in_layout(model, family.transforms(model.config)):
        PreTrainedModel.save_pretrained(model, folder)  # without our model card
    config = {**origin["config"], family.depth_key: model.config.max_depth}
    write_file(Path(folder) / "config.json", json_text(dict(sorted(config.items())), indent=2) + "\n")


def original_names(model: AniraForCausalLM, transforms: list[WeightTransform]) -> dict[str, torch.Tensor]:
    """Return the weights under the names, and in the shapes, of another layout."""
    state = dict(model.state_dict())
    if model.config.tie_word_embeddings:
        del state["lm_head.weight"]
    with _in_layout(model, transforms):
        renamed: dict[str, torch.Tensor] = revert_weight_conversion(model, state)
    return renamed


@contextmanager
def _in_layout(model: Any, transforms: list[WeightTransform]) -> Iterator[None]:
    """Let transformers take a model for one that was loaded from another layout."""
    model._weight_conversions = transforms
    try:
        yield
    finally:
        model._weight_conversions = []


def _expected(config: AniraConfig, transforms: list[WeightTransform]) -> Shapes:
    """Return the tensors that a file would have, with our names for those that the layout has no name for."""
    with torch.device("meta"):
        empty = AniraForCausalLM(config)
    return {name: tuple(tensor.shape) for name, tensor in original_names(empty, transforms).items()}


def _check_tensors(folder: Path, expected: Shapes, given: Shapes, ignored: Collection[str]) -> None:
    missing = sorted(expected.keys() - given.keys())
    if missing:
        raise UserError(f"{folder} lacks {_some(missing)}")
    extra = sorted(given.keys() - expected.keys() - set(ignored))
    if extra:
        raise UserError(f"{folder} has tensors that such a model does not: {_some(extra)}")
    for name, shape in expected.items():
        if given[name] != shape:
            raise UserError(f"{name} in {folder} has the shape {given[name]}, and config.json asks for {shape}")


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
