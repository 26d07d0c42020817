"""Checkpoints: a whole Hugging Face folder, the optimizer and the loop's state; written atomically, checked when read.

A folder appears under its final name only when everything is in it, with a manifest of sizes and hashes. So an
interrupt, a full disk or a kill at any moment leaves the last good one, and a damaged or foreign one is refused by
name. Reading goes by the manifest alone: every file that it lists must be as it was, and one that it does not list is
never looked at.
"""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import torch
from safetensors.torch import save_file
from transformers.utils import logging

from anira.config import UserError, command, json_text
from anira.config.files import replacing_folder
from anira.config.folder import inside
from anira.config.sealed import check_file, facts_of, read_json, read_sealed, write_sealed
from anira.models import AniraForCausalLM
from anira.tasks import Vocab
from anira.text import TextTokenizer
from anira.training.sharding import gathered
from anira.training.tokenizer import save_tokenizer
from anira.training.weights import fill_optimizer, load_weights, optimizer_tensors

CHECKPOINTS: Final = "checkpoints"
MANIFEST: Final = "manifest.json"
LOOP: Final = "loop.json"
OPTIMIZER: Final = "optimizer.safetensors"
_WEIGHTS: Final = re.compile(r"model(-\d+-of-\d+)?\.safetensors")  # in several files if they are large


def save_checkpoint(
    folder: Path,
    model: AniraForCausalLM,
    optimizer: torch.optim.Optimizer,
    vocab: Vocab | TextTokenizer,
    loop: dict[str, Any],
    *,
    write: bool = True,
) -> None:
    """Write `folder`; whatever was there under this name is replaced at the end only.

    `loop` says at least whose it is: the `step`, and the `config_hash` of the run. All processes of a run take part,
    because each may have no more than a part of the model; one of them writes.
    """
    weights = gathered(model.state_dict(keep_vars=True), keep=write)
    moments = gathered(optimizer_tensors(model, optimizer), keep=write)
    if not write:
        return
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot write {folder}: {error.strerror}") from error
    with replacing_folder(folder) as partial:
        with without_bars():
            model.save_pretrained(partial, state_dict=weights)
        save_tokenizer(partial, vocab)
        save_file(moments, partial / OPTIMIZER)
        (partial / LOOP).write_text(json_text(loop, indent=2) + "\n")
        write_manifest(partial)


def load_checkpoint(
    folder: Path, model: AniraForCausalLM, optimizer: torch.optim.Optimizer, config_hash: str
) -> dict[str, Any]:
    """Fill model and optimizer from a checkpoint of the run with this configuration; return the loop's state."""
    try:
        loop = check_checkpoint(folder, config_hash)
    except UserError as error:
        older = _whole_beside(folder, config_hash)
        offer = f"; step {older} is whole: to go on from there, {command('rm', '-r', folder)} and resume again"
        raise UserError(f"{error}{'' if older is None else offer}") from error
    if OPTIMIZER not in _listed(folder):
        raise UserError(f"{folder} was kept without its optimizer: its model can be used, not trained on")
    load_weights(weight_files(folder), model)
    fill_optimizer(folder / OPTIMIZER, model, optimizer)
    return loop


def choose_checkpoint(run: Path, config_hash: str, step: int | None = None) -> Path:
    """Return a run's checkpoint of a step, the last one by default; for one that is not whole, another is offered."""
    kept = checkpoints(inside(run, CHECKPOINTS))
    folder = kept.get(max(kept, default=0) if step is None else step)
    if folder is None:
        wanted = "" if step is None else f" of step {step}"
        raise UserError(f"{run} has no checkpoint{wanted}; kept: {list(kept) or 'none'}")
    try:
        check_checkpoint(folder, config_hash)
    except UserError as error:
        other = _whole_beside(folder, config_hash)
        raise UserError(f"{error}{'' if other is None else f'; step {other} is whole: --step {other}'}") from error
    return folder


def check_checkpoint(folder: Path, config_hash: str) -> dict[str, Any]:
    """Return the loop's state of a checkpoint that is whole and of the run with this configuration.

    A UserError says what is wrong with any other.
    """
    loop = check_listed(folder, config_hash)
    if loop.get("step") != step_of(folder):
        raise UserError(f"{folder} is damaged: by its {LOOP} it is the checkpoint of step {loop.get('step')}")
    return loop


def check_listed(folder: Path, config_hash: str) -> dict[str, Any]:
    """Do the same for a folder whose name does not say the step."""
    listed = _listed(folder)
    for name, facts in listed.items():
        check_file(folder, name, facts)
    if LOOP not in listed or not any(map(_WEIGHTS.fullmatch, listed)):
        raise UserError(f"{folder} is damaged: its {MANIFEST} must list {LOOP} and weights in safetensors")
    loop = read_json(folder / LOOP)
    if not isinstance(loop, dict) or "config_hash" not in loop:
        raise UserError(f"{folder} is damaged: {LOOP} does not say which run it belongs to")
    if loop["config_hash"] != config_hash:
        raise UserError(
            f"{folder} belongs to another run: its configuration has hash {loop['config_hash']}, not {config_hash}"
        )
    return loop


def write_manifest(folder: Path) -> None:
    """Note the size and the hash of every file in a checkpoint."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name != MANIFEST)
    write_sealed(folder / MANIFEST, {"files": {file.name: facts_of(file) for file in files}})


def weight_files(folder: Path) -> list[Path]:
    """Return the files with the weights of a checkpoint that has been checked."""
    return [folder / name for name in sorted(_listed(folder)) if _WEIGHTS.fullmatch(name)]


def listed_files(folder: Path) -> list[Path]:
    """Return all files of a checkpoint that has been checked, but for its manifest."""
    return [folder / name for name in _listed(folder)]


def _listed(folder: Path) -> dict[str, Any]:
    """Return what the manifest says: file name -> size and hash."""
    try:
        listed = read_sealed(inside(folder, MANIFEST)).get("files")
    except FileNotFoundError:
        raise UserError(f"{folder} is not a checkpoint: it has no {MANIFEST}") from None
    if not isinstance(listed, dict):
        raise UserError(f"{folder} is not a checkpoint: its {MANIFEST} lists no files")
    return listed


def _whole_beside(folder: Path, config_hash: str) -> int | None:
    """Return the last step of the same run, apart from the one in this folder, of which there is a whole checkpoint."""
    for step, other in sorted(checkpoints(folder.parent).items(), reverse=True):
        try:
            if other.name != folder.name and check_checkpoint(other, config_hash):
                return step
        except UserError:
            continue
    return None


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


def checkpoints(folder: Path) -> dict[int, Path]:
    """Return the checkpoints in a folder by their step, in order; what has another name, as step-20.bak, is none."""
    if not folder.exists():
        return {}
    named = [path for path in folder.iterdir() if re.fullmatch(r"step-(0|[1-9]\d{0,17})", path.name)]
    for path in named:
        if not inside(folder, path.name).is_dir():
            raise UserError(f"{path} is not a checkpoint: it must be a folder")
    return {step_of(path): path for path in sorted(named, key=step_of)}


def latest_checkpoint(run: Path) -> Path | None:
    """Return the checkpoint with the most steps, or None."""
    found = checkpoints(inside(run, CHECKPOINTS))
    return found[max(found)] if found else None


def keep_last(folder: Path, count: int) -> None:
    """Remove all but the newest checkpoints in a folder."""
    for path in list(checkpoints(folder).values())[:-count]:
        shutil.rmtree(path, ignore_errors=True)


def step_of(folder: Path) -> int:
    """Return the step in a checkpoint's name.

    >>> step_of(Path("checkpoints/step-500"))
    500
    """
    return int(folder.name.removeprefix("step-"))
