"""`anira.load`: a run, a published run, or a model alone, from a folder or from the hub; as a `Run`."""

from pathlib import Path
from typing import Any, Final

import torch
from huggingface_hub.errors import StrictDataclassError
from safetensors import SafetensorError
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from anira.config import UserError, config_hash
from anira.models import AniraForCausalLM
from anira.models.pretrained import load_released
from anira.models.pretrained.folder import local_folder, read_json
from anira.runs.published import RUN, check_published, is_published
from anira.runs.reading import Reader, TaskReader, TextReader
from anira.runs.run import Run
from anira.training.checkpoint import choose_checkpoint, without_bars
from anira.training.config import TrainConfig
from anira.training.model_folder import is_model_folder
from anira.training.run import RunFolder, load_run
from anira.training.stages import PUBLISHED

HUB: Final = "hf://"
"""How a place on the hub may be written, and must be where it could be taken for a folder."""


def load(path_or_hub_id: str | Path, *, step: int | None = None) -> Run:
    """Load a run, a run that `anira publish` wrote, or a model without a run.

    Args:
        path_or_hub_id: the folder of a run (of one in `results/` its id is enough), a folder that `anira publish`
            wrote, a model's folder (also one of Ouro, Huginn or Recurrent-Llama), or the name of either of the last
            two on the hub: owner/model, or hf://owner/model.
        step: of a run, which checkpoint; the last one by default.
    """
    folder = local_folder(_place(path_or_hub_id), with_run=True)
    if is_published(folder):
        _no_step(step)
        return _load_published(folder)
    if "model_type" in _config(folder):
        _no_step(step)
        return Run(path=None, model=_load_model(folder), reader=TextReader(_load_tokenizer(folder)), source=folder)
    config, model, found = load_run(folder, step)
    return Run(
        path=folder,
        model=model,
        reader=_reader(config, lambda: choose_checkpoint(folder, config_hash(config), found)),
        source=folder,
        config=config,
        step=found,
    )


def _load_published(folder: Path) -> Run:
    config = RunFolder(folder / RUN).read_config()
    step = check_published(folder, config_hash(config))
    return Run(
        path=folder / RUN,
        model=_load_model(folder),
        reader=_reader(config, lambda: folder),
        source=folder,
        config=config,
        step=step,
    )


def _reader(config: TrainConfig, tokenizer: Any) -> Reader:
    """Return what reads text for a run; `tokenizer` returns the folder that has one."""
    if config.text is None:
        return TaskReader(config.make_task())
    loaded = _load_tokenizer(tokenizer())
    return TextReader(loaded, loaded.bos_token_id)


def _load_model(folder: Path) -> AniraForCausalLM:
    """Return the model in a folder: one of ours, or a released looped one."""
    if not is_model_folder(folder):
        with without_bars():
            return _in_use(load_released(folder))
    ours: Any = AniraForCausalLM  # transformers does not say that there may be two results
    try:
        with without_bars(), torch.random.fork_rng(devices=[]):
            model, info = ours.from_pretrained(
                folder, local_files_only=True, use_safetensors=True, output_loading_info=True
            )
    except UserError:
        raise
    except (OSError, ValueError, TypeError, RuntimeError, SafetensorError, StrictDataclassError) as error:
        raise UserError(f"cannot load the model in {folder}: {' '.join(str(error).split())}") from error
    odd = [*info["missing_keys"], *info["unexpected_keys"], *info["mismatched_keys"]]
    if odd:
        raise UserError(
            f"{folder} does not fit its config.json: {odd[0]} is missing, of another shape, or not the model's"
        )
    return _in_use(model)


def _in_use(model: AniraForCausalLM) -> AniraForCausalLM:
    model.eval()
    return model


def _load_tokenizer(folder: Path) -> Any:
    # The Auto class asks transformers for a class of the released model's own, which it does not have.
    kind = AutoTokenizer if is_model_folder(folder) else PreTrainedTokenizerFast
    try:
        return kind.from_pretrained(folder, local_files_only=True)
    except (OSError, ValueError, KeyError) as error:
        raise UserError(f"{folder} holds no tokenizer that can be read: {str(error).splitlines()[0]}") from error


def _config(folder: Path) -> dict[str, Any]:
    """Return what config.json says; where there is none, whoever reads the folder as a run says so."""
    return read_json(folder / "config.json") if (folder / "config.json").is_file() else {}


def _place(path_or_hub_id: str | Path) -> str | Path:
    name = str(path_or_hub_id)
    if name.startswith(HUB):
        return name.removeprefix(HUB)
    if name.startswith("~"):
        return Path(name).expanduser()
    published = PUBLISHED / name
    return published if not Path(name).exists() and published.is_dir() else path_or_hub_id


def _no_step(step: int | None) -> None:
    if step is not None:
        raise UserError("step chooses a checkpoint of a run, and this is a model with one set of weights: leave it out")
