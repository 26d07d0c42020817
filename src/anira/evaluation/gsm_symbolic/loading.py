"""A model and its tokenizer from a folder or the hub; what cannot answer questions is refused by name."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

import anira.models  # noqa: F401 (registers our models with the Auto classes)
from anira.config import UserError
from anira.models.precision import Precision, choose_dtype
from anira.models.pretrained.tokens import check_vocabulary


@dataclass(frozen=True)
class Loaded:
    """A model that is ready to write."""

    model: Any
    tokenizer: Any
    name: str


def load_model(source: str, *, device: str | None = None, precision: Precision | None = None) -> Loaded:
    """Load a causal language model, ours or any of transformers', with its tokenizer."""
    place = _device(device)
    dtype = choose_dtype(precision, place)
    tokenizer = _loaded(AutoTokenizer, source, "tokenizer")
    model = _loaded(AutoModelForCausalLM, source, "model", dtype=dtype).to(place).eval()
    check_vocabulary(tokenizer, model.get_input_embeddings().num_embeddings, source)
    return Loaded(model, tokenizer, Path(source).resolve().name if Path(source).is_dir() else source)


def _device(name: str | None) -> torch.device:
    """Return a device that is there: by default a GPU, or else the CPU."""
    try:
        place = torch.device(name or ("cuda" if torch.cuda.is_available() else "cpu"))
    except RuntimeError as error:
        raise UserError(f"{name!r} is no device: {str(error).splitlines()[0]}") from None
    if place.type == "cuda" and (place.index or 0) >= torch.cuda.device_count():
        raise UserError(f"there is no device {name!r} here: leave out --device for the CPU")
    return place


def _loaded(kind: Any, source: str, what: str, **options: Any) -> Any:
    if not Path(source).is_dir() and (Path(source).exists() or source.startswith((".", "/", "~"))):
        raise UserError(f"{source} is no folder of a model")
    try:
        return kind.from_pretrained(source, **options)
    except UserError:
        raise
    except (OSError, ValueError, KeyError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        hint = "" if Path(source).is_dir() else " (without network, give a folder that save_pretrained has written)"
        raise UserError(f"cannot load the {what} {source}: {reason}{hint}") from error
