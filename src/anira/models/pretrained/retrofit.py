"""Cut a stock decoder (Llama, Qwen, Mistral, SmolLM) into prelude, core and coda, and loop the core.

With no layer left out, no injection and one iteration the result is the original to the last bit; what training then
has to heal is the loop, the injection's adapter, and whatever was left out.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import torch
from jaxtyping import Float
from torch import Tensor
from transformers import AutoConfig
from transformers.core_model_loading import WeightRenaming, WeightTransform

from anira.config import UserError, nearest
from anira.models.configuration import AniraConfig
from anira.models.modeling import AniraForCausalLM
from anira.models.pretrained.folder import local_folder, read_json, tensor_shapes
from anira.models.pretrained.loading import load_converted
from anira.models.pretrained.tokens import token_ids

_FAMILIES: Final[dict[str, dict[str, Any]]] = {
    "llama": {},
    "mistral": {"attention_bias": False, "mlp_bias": False},
    "qwen2": {"attention_bias": "qkv", "mlp_bias": False},
    "qwen3": {"qk_norm": True, "mlp_bias": False},
}
"""model_type -> what its layers have beside Llama's, where its configuration does not say so."""

_SAME: Final = (
    "vocab_size",
    "hidden_size",
    "intermediate_size",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "hidden_act",
    "max_position_embeddings",
    "initializer_range",
    "rms_norm_eps",
    "rope_parameters",
    "attention_bias",
    "attention_dropout",
    "mlp_bias",
    "tie_word_embeddings",
)


@dataclass(frozen=True)
class Cut:
    """Which layers of the original become which part; what lies between is left out.

    >>> Cut(range(0, 4), range(6, 12), range(12, 16)).left_out(16)
    [4, 5]
    """

    prelude: range
    core: range
    coda: range

    def check(self, num_layers: int) -> None:
        """Refuse parts that are not in order, or not there."""
        kept = self.layers()
        if not self.core:
            raise UserError("the core needs at least one layer")
        if any(before >= after for before, after in pairwise(kept)):
            raise UserError(f"prelude, core and coda must be different layers in this order, not {self}")
        if kept[0] < 0 or kept[-1] >= num_layers:
            raise UserError(f"the model has layers 0 to {num_layers - 1}, not {kept[-1] if kept[0] >= 0 else kept[0]}")

    def layers(self) -> list[int]:
        """Return the layers that are kept, in their order."""
        return [*self.prelude, *self.core, *self.coda]

    def left_out(self, num_layers: int) -> list[int]:
        """Return the layers that are not kept."""
        return sorted(set(range(num_layers)) - set(self.layers()))

    def __str__(self) -> str:
        return ", ".join(f"{part.start}:{part.stop}" for part in (self.prelude, self.core, self.coda))


def retrofit(
    path_or_hub_id: str | Path,
    cut: Cut,
    *,
    max_depth: int = 8,
    policy: str | Mapping[str, Any] = "anira-o",
    injection: str = "concat-linear",
    dtype: torch.dtype | None = None,
) -> AniraForCausalLM:
    """Return a stock decoder with a looped core, a fresh policy, and a fresh adapter if the injection has one.

    Without injection the core starts from the prelude's output, else from zero. An adapter begins as the sum of state
    and prelude output, so that one iteration is the original's in either case. (The authors of Recurrent-Llama start
    it at random.)
    """
    folder = local_folder(path_or_hub_id)
    original = read_json(folder / "config.json")
    fields = _translate(folder, original)
    num_layers = fields.pop("num_hidden_layers")
    cut.check(num_layers)
    config = AniraConfig(
        **fields,
        **token_ids(folder, original),
        num_prelude_layers=len(cut.prelude),
        num_core_layers=len(cut.core),
        num_coda_layers=len(cut.coda),
        max_depth=max_depth,
        policy=policy,
        injection=injection,
        initial_state="prelude" if injection == "none" else "zero",
        rms_norm="stock",
        origin=_origin(path_or_hub_id, original, cut, num_layers),
    )
    shapes = tensor_shapes(folder)
    dropped = {name for name in shapes if _layer_of(name) in cut.left_out(num_layers)}
    tied = {"lm_head.weight"} if config.tie_word_embeddings else set()
    fresh = ("policy.", "model.adapter.")
    model = load_converted(folder, config, _transforms(cut), shapes, ignored=dropped | tied, fresh=fresh, dtype=dtype)
    if model.model.adapter is not None:
        _start_as_sum(model.model.adapter.weight)
    return model


@torch.no_grad()
def _start_as_sum(weight: Float[Tensor, "dim both"]) -> None:
    """Let the adapter begin as state plus prelude output: the first iteration, from state zero, is then undisturbed."""
    eye = torch.eye(len(weight), dtype=weight.dtype, device=weight.device)
    weight.copy_(torch.cat([eye, eye], dim=1))


def _origin(name: str | Path, original: dict[str, Any], cut: Cut, num_layers: int) -> dict[str, Any]:
    """Return what is recorded of where the layers came from."""
    parts = {part: list(getattr(cut, part)) for part in ("prelude", "core", "coda")}
    return {
        "family": original["model_type"],
        "model": str(original.get("_name_or_path") or Path(name).name),
        "layers": {**parts, "left_out": cut.left_out(num_layers)},
    }


def _translate(folder: Path, original: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of `AniraConfig` that the original's configuration decides, and its number of layers."""
    model_type = str(original.get("model_type"))
    if model_type not in _FAMILIES:
        raise UserError(f"model_type {model_type!r} cannot be cut: {nearest(model_type, _FAMILIES)}")
    try:
        config = AutoConfig.from_pretrained(folder, local_files_only=True)
    except Exception as error:  # whatever a strict configuration raises for values that it does not take
        raise UserError(f"{folder / 'config.json'} is not one of {model_type}: {error}") from None
    if getattr(config, "sliding_window", None) is not None and getattr(config, "use_sliding_window", True):
        raise UserError(f"{folder} attends within a sliding window of {config.sliding_window}, which is not supported")
    fields = {key: getattr(config, key) for key in _SAME if hasattr(config, key)}
    return {**fields, **_FAMILIES[model_type], "num_hidden_layers": config.num_hidden_layers}


def _transforms(cut: Cut) -> list[WeightTransform]:
    """Return the new names of layers; all other names are the same."""
    parts = (("prelude", cut.prelude), ("core", cut.core), ("coda", cut.coda))
    return [
        WeightRenaming(rf"^model\.layers\.{layer}\.", rf"^model\.{name}\.{place}\.")
        for name, layers in parts
        for place, layer in enumerate(layers)
    ]


def _layer_of(name: str) -> int | None:
    """Return which layer a tensor of the original belongs to.

    >>> _layer_of("model.layers.4.mlp.up_proj.weight")
    4
    """
    parts = name.split(".")
    return int(parts[2]) if parts[:2] == ["model", "layers"] and parts[2].isdigit() else None
