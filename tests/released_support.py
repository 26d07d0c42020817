"""Tiny checkpoints in the layouts of released looped models, with what their original code computes from them."""

from functools import cache
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor

from anira.models import AniraForCausalLM

LOOPED = Path(__file__).parent / "golden" / "data" / "looped"
FAMILIES = ("ouro", "huginn", "recurrent_llama")
RAVEN = FAMILIES[1:]


@cache
def reference(family: str, name: str = "reference") -> dict[str, Tensor]:
    return load_file(LOOPED / family / f"{name}.safetensors")


@cache
def released(family: str, dtype: torch.dtype = torch.float64) -> AniraForCausalLM:
    """Return a model that tests share: they must leave it as it is."""
    return AniraForCausalLM.from_released(LOOPED / family, dtype=dtype)
