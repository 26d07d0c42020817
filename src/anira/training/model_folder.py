"""Start from a model's folder: `anira convert` and `anira retrofit` make such folders, checkpoints of ours are some."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import torch
from huggingface_hub.errors import StrictDataclassError
from safetensors import SafetensorError, safe_open

from anira.config import UserError
from anira.config.folder import inside
from anira.models import AniraConfig, AniraForCausalLM
from anira.text import load_tokenizer
from anira.training.config import SHAPE, TrainConfig

_OF_PRESET: Final = ("policy", "max_depth")
"""What a preset says about a model whatever the folder says."""
_TOKENIZER: Final = ("tokenizer.json", "tokenizer_config.json")


def is_model_folder(path: Path) -> bool:
    """Say whether a folder holds a model of ours, and is not that of a run."""
    return _stored(path).get("model_type") == AniraConfig.model_type


def adopt_model(config: TrainConfig, changed: Mapping[str, Any]) -> TrainConfig:
    """Return a run on text whose model has the shape of the folder that it starts from, and its tokenizer's tokens.

    `changed` are options of the model that the user has given.
    """
    assert config.text is not None
    text, model, start = config.text, dict(config.model), Path(config.init_from)
    if config.init_from and not is_model_folder(start):
        raise UserError(f"{start} is not the folder of a model: anira convert and anira retrofit make such folders")
    if config.init_from:
        shape = _shape(start)
        model = {name: getattr(shape, name) for name in SHAPE} | {name: config.model[name] for name in _OF_PRESET}
        if not text.tokenizer and any((start / name).is_file() for name in _TOKENIZER):
            text = replace(text, tokenizer=config.init_from)
    tokenizer = load_tokenizer(text.tokenizer)
    if not config.init_from:
        model["vocab_size"] = tokenizer.size
    # The released configurations have the ids of another tokenizer, so what reads the text decides.
    model |= {"bos_token_id": tokenizer.bos, "eos_token_id": tokenizer.eos, "pad_token_id": tokenizer.pad}
    tokenizer.check_fits(model["vocab_size"])
    return replace(config, text=text, model={**model, **changed}).resolved()


def load_model_folder(path: Path, model: AniraForCausalLM) -> None:
    """Give a model the weights in a folder, whose backbone must be the same; of the policy those that fit.

    Tensors are read one after the other, so that little more than the model itself is in memory.
    """
    own, missing = model.state_dict(), set()
    missing = {name for name in own if not name.startswith("policy.")}
    if model.config.tie_word_embeddings:
        missing.discard("lm_head.weight")
    for name, value in _tensors(path):
        fits = name in own and own[name].shape == value.shape
        if not fits and not name.startswith("policy."):
            wanted = f"must be {list(own[name].shape)}" if name in own else "is no tensor of the model"
            raise UserError(f"{path} does not fit the model: {name}, {list(value.shape)}, {wanted}")
        if fits:
            with torch.no_grad():
                own[name].copy_(value)
            missing.discard(name)
    if missing:
        raise UserError(f"{path} does not fit the model: it has no tensor {min(missing)}")


def _tensors(path: Path) -> Iterator[tuple[str, torch.Tensor]]:
    files = sorted(file.name for file in path.glob("model*.safetensors"))
    if not files:
        raise UserError(f"{path} has no weights: there is no model.safetensors in it")
    for file in files:
        try:
            with safe_open(inside(path, file), "pt") as stream:
                for name in stream.keys():  # noqa: SIM118 (it is no mapping)
                    yield name, stream.get_tensor(name)
        except (SafetensorError, OSError) as error:
            raise UserError(f"cannot read {path / file}: {error}") from error


def _shape(path: Path) -> AniraConfig:
    try:
        shape: AniraConfig = AniraConfig.from_dict(_stored(path))
    except (UserError, StrictDataclassError, TypeError, ValueError) as error:
        raise UserError(f"{path}/config.json is not that of a model: {' '.join(str(error).split())}") from error
    return shape


def _stored(path: Path) -> dict[str, Any]:
    """Return what config.json says, or nothing where there is none."""
    try:
        found = json.loads((path / "config.json").read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
