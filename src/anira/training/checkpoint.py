"""Checkpoints: a whole Hugging Face folder, the optimizer and the loop's state; written atomically, checked when read.

A folder appears under its final name only when everything is in it, with a manifest of sizes and hashes. So an
interrupt, a full disk or a kill at any moment leaves the last good one, and a damaged or foreign one is refused by
name.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers.utils import logging

from anira.config import UserError, json_text
from anira.models import AniraForCausalLM
from anira.tasks import Vocab
from anira.training.sharding import gathered, spread_like
from anira.training.tokenizer import save_tokenizer

MANIFEST = "manifest.json"


def save_checkpoint(
    folder: Path,
    model: AniraForCausalLM,
    optimizer: torch.optim.Optimizer,
    vocab: Vocab,
    loop: dict[str, Any],
    *,
    write: bool = True,
) -> None:
    """Write `folder`; whatever was there under this name is replaced at the end only.

    All processes of a run take part, because each may have no more than a part of the model; one of them writes.
    """
    weights = gathered(model.state_dict(keep_vars=True), keep=write)
    moments = gathered(_optimizer_tensors(model, optimizer), keep=write)
    if not write:
        return
    partial = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        partial.mkdir(parents=True)
        with without_bars():
            model.save_pretrained(partial, state_dict=weights)
        save_tokenizer(partial, vocab)
        save_file(moments, partial / "optimizer.safetensors")
        (partial / "loop.json").write_text(json_text(loop, indent=2) + "\n")
        write_manifest(partial)
        shutil.rmtree(folder, ignore_errors=True)
        os.replace(partial, folder)  # noqa: PTH105 (the atomic one)
    except Exception as error:
        # safetensors and tokenizers are not written in Python, and a full disk is an error of their own there.
        if isinstance(error, OSError) or "(os error" in str(error):
            raise UserError(f"cannot write {folder}: {error}") from error
        raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def load_checkpoint(
    folder: Path, model: AniraForCausalLM, optimizer: torch.optim.Optimizer, config_hash: str
) -> dict[str, Any]:
    """Fill model and optimizer from a checkpoint of the run with this configuration; return the loop's state."""
    check_checkpoint(folder)
    loop: dict[str, Any] = json.loads((folder / "loop.json").read_text())
    if loop["config_hash"] != config_hash:
        raise UserError(
            f"{folder} belongs to another run: its configuration has hash {loop['config_hash']}, not {config_hash}"
        )
    if not (folder / "optimizer.safetensors").exists():
        raise UserError(f"{folder} was kept without its optimizer: its model can be used, not trained on")
    own = model.state_dict()
    weights = {
        name: spread_like(value, own.get(name, value))
        for name, value in load_file(folder / "model.safetensors").items()
    }
    missing, unexpected = model.load_state_dict(weights, strict=False)
    tied = {"lm_head.weight"} if model.config.tie_word_embeddings else set()
    if set(missing) - tied or unexpected:
        raise UserError(f"{folder} does not fit the model: missing {sorted(missing)}, unexpected {sorted(unexpected)}")
    _fill_optimizer(model, optimizer, load_file(folder / "optimizer.safetensors"))
    return loop


def check_checkpoint(folder: Path) -> None:
    """Raise a UserError with the reason if a checkpoint is not whole."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text())
        expected = {name: (facts["bytes"], facts["sha256"]) for name, facts in manifest.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{folder} is not a checkpoint: {MANIFEST} cannot be read ({error})") from error
    for name, (size, sha256) in expected.items():
        file = folder / name
        if not file.is_file():
            raise UserError(f"{folder} is damaged: {name} is missing")
        if file.stat().st_size != size:
            raise UserError(f"{folder} is damaged: {name} has {file.stat().st_size} bytes, not {size}")
        if _sha256(file) != sha256:
            raise UserError(f"{folder} is damaged: the content of {name} has changed")


@contextmanager
def without_bars() -> Iterator[None]:
    """Let transformers read and write without progress bars of its own: only the command line speaks."""
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def latest_checkpoint(run: Path) -> Path | None:
    """Return the checkpoint with the most steps, or None."""
    found = {step_of(path): path for path in (run / "checkpoints").glob("step-*") if path.is_dir()}
    return found[max(found)] if found else None


def step_of(folder: Path) -> int:
    """Return the step in a checkpoint's name.

    >>> step_of(Path("checkpoints/step-500"))
    500
    """
    return int(folder.name.removeprefix("step-"))


def _optimizer_tensors(model: AniraForCausalLM, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Return the optimizer's state with the parameters' names: numbers would change their meaning with the model."""
    names: dict[Tensor, str] = {parameter: name for name, parameter in model.named_parameters()}
    return {
        f"{names[parameter]}/{key}": value
        for parameter, state in optimizer.state.items()
        for key, value in state.items()
    }


def _fill_optimizer(model: AniraForCausalLM, optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    parameters = dict(model.named_parameters())
    for full, value in tensors.items():
        name, _, key = full.rpartition("/")
        optimizer.state[parameters[name]][key] = spread_like(value, parameters[name])


def write_manifest(folder: Path) -> None:
    """Note the size and the hash of every file in a checkpoint."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    manifest = {
        str(file.relative_to(folder)): {"bytes": file.stat().st_size, "sha256": _sha256(file)} for file in files
    }
    (folder / MANIFEST).write_text(json_text(manifest, indent=2) + "\n")


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
