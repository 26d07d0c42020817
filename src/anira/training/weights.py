"""Tensors of a checkpoint: exactly those of the model that they are for; nothing is made up where one is missing."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save
from torch import Tensor

from anira.config import UserError, write_file
from anira.models import AniraForCausalLM
from anira.training.sharding import spread_like

_DTYPES: Final = {torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16"}
_MOMENTS: Final = ("exp_avg", "exp_avg_sq", "momentum_buffer")  # of AdamW the first two, of Muon the last

Shape = tuple[tuple[int, ...], str]
"""Sizes and type of a tensor."""


def load_weights(files: Sequence[Path], model: AniraForCausalLM) -> None:
    """Fill a model from the files of its weights, one or several."""
    check_fit(files, model)
    own = model.state_dict()
    for file in files:
        part = {name: spread_like(value, own[name]) for name, value in load_file(file).items()}
        model.load_state_dict(part, strict=False)  # all names have been checked


def check_fit(files: Sequence[Path], model: AniraForCausalLM) -> None:
    """Raise a UserError unless files hold exactly the tensors of a model; no tensor is read, nor need the model be."""
    expected = {name: (tuple(value.shape), _DTYPES[value.dtype]) for name, value in model.state_dict().items()}
    found = {name: shape for file in files for name, shape in _shapes(file).items()}
    tied = {"lm_head.weight"} if model.config.tie_word_embeddings else set()
    folder = files[0].parent
    for name in sorted(expected.keys() - found.keys() - tied):
        raise UserError(f"{folder} does not fit the model: it has no tensor {name}")
    for name, shape in found.items():
        if shape not in (expected.get(name), _halved(expected.get(name))):
            wanted = f"must be {_words(expected[name])}" if name in expected else "is no tensor of the model"
            raise UserError(f"{folder} does not fit the model: {name}, {_words(shape)}, {wanted}")


def _halved(shape: Shape | None) -> Shape | None:
    """Return how a tensor may be stored too, where it is only read: load_state_dict widens it."""
    return (shape[0], "F16") if shape is not None and shape[1] == "F32" else None


def halve_weights(file: Path) -> None:
    """Store the float32 tensors of a file in half precision, each rounded to the nearest number."""
    part = {name: value.half() if value.dtype == torch.float32 else value for name, value in load_file(file).items()}
    write_file(file, save(part, metadata={"format": "pt"}))


def optimizer_tensors(model: AniraForCausalLM, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Return the optimizer's state with the parameters' names: numbers would change their meaning with the model."""
    names: dict[Tensor, str] = {parameter: name for name, parameter in model.named_parameters()}
    return {
        f"{names[parameter]}/{key}": value
        for parameter, state in optimizer.state.items()
        for key, value in state.items()
    }


def fill_optimizer(file: Path, model: AniraForCausalLM, optimizer: torch.optim.Optimizer) -> None:
    """Give an optimizer the state that `optimizer_tensors` named."""
    parameters = dict(model.named_parameters())
    sizes = {f"{name}/{key}": tuple(one.shape) for name, one in parameters.items() for key in _MOMENTS}
    sizes |= {f"{name}/step": () for name in parameters}
    for full, (shape, _) in _shapes(file).items():
        if sizes.get(full) != shape:
            raise UserError(f"{file} does not fit the model: it has no place for {full} of {list(shape)}")
    for full, value in load_file(file).items():
        name, _, key = full.rpartition("/")
        optimizer.state[parameters[name]][key] = spread_like(value, parameters[name])


def _shapes(file: Path) -> dict[str, Shape]:
    try:
        with safe_open(file, "pt") as stream:
            slices = {name: stream.get_slice(name) for name in stream.keys()}  # noqa: SIM118 (it is no mapping)
            return {name: (tuple(part.get_shape()), part.get_dtype()) for name, part in slices.items()}
    except (SafetensorError, OSError) as error:
        raise UserError(f"cannot read {file}: {error}") from error


def _words(shape: Shape) -> str:
    return f"{list(shape[0])} of {shape[1]}"
