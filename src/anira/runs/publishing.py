"""`anira publish`: a run as a folder that stands alone, or as a model on the Hugging Face hub.

Written is what is named here, and nothing else: links are refused, and files that no manifest lists are not looked at.
What a run notes of the machine it was trained on (platform, date, commit) is left out, and of paths only the last name
stays.
"""

import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from anira.config import UserError, config_hash, from_dict, json_text
from anira.config.files import replacing_folder
from anira.config.folder import inside, subfolders
from anira.config.private import without_paths
from anira.config.sealed import end_line, read_json, write_sealed
from anira.config.strict import run_id, stored_values
from anira.evaluation import RecordFolder
from anira.measure.records.stored import read_stored
from anira.measure.training.metrics import read_metrics
from anira.runs.card import model_card
from anira.runs.loading import HUB, load
from anira.runs.published import RUN
from anira.runs.run import Run
from anira.training.checkpoint import LOOP, choose_checkpoint, listed_files, without_bars, write_manifest
from anira.training.config import TrainConfig
from anira.training.status import run_status

_TOKENIZER: Final = re.compile(r"(tokenizer|special_tokens_map|added_tokens|vocab|merges|chat_template|spiece).*")
_HUB_ID: Final = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*")  # owner/model
_OURS: Final = [f"{RUN}/*", "model*.safetensors", "model.safetensors.index.json"]
"""What an earlier version on the hub may have and a new one may not."""


def publish(
    run: str | Path,
    to: str | Path,
    *,
    step: int | None = None,
    records: bool = False,
    private: bool = False,
    api: Any = None,
) -> str:
    """Publish a run, and return where it is: the folder, or its address on the hub.

    Args:
        run: the folder of a run.
        to: a new folder, or hf://owner/model for the hub. (A plain owner/model is a folder: nothing is ever uploaded by
            mistake.)
        step: which checkpoint; the last one by default.
        records: whether the tables of all evaluations come along, which are most of the size.
        private: on the hub, whether nobody else sees it.
        api: what talks to the hub; by default `huggingface_hub.HfApi()`.
    """
    loaded = load(run, step=step)
    if loaded.path is None or loaded.path != loaded.source:
        raise UserError(f"{run} is not the folder of a run: publish the run that its model comes from")
    name = hub_id(to)
    if name is not None:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "model"
            write_published(loaded, folder, name, records=records)
            return _upload(folder, name, private=private, api=api)
    if private:
        raise UserError(f"private is for the hub, and {to} is a folder: leave it out, or write {HUB}owner/model")
    target = Path(to).expanduser()
    if target.exists():
        raise UserError(f"{target} is there already: remove it first")
    write_published(loaded, target, target.name, records=records)
    return str(target)


def hub_id(to: str | Path) -> str | None:
    """Return the hub id that a place stands for, or None for a folder.

    >>> hub_id("hf://someone/mano-anira-o"), hub_id("someone/mano-anira-o")
    ('someone/mano-anira-o', None)
    """
    if not str(to).startswith(HUB):
        return None
    name = str(to).removeprefix(HUB)
    if not _HUB_ID.fullmatch(name):
        raise UserError(f"{to} is no place on the hub: write {HUB}owner/model")
    return name


def write_published(run: Run, target: Path, place: str, *, records: bool) -> None:
    """Write the folder whole, or not at all; `place` is what the card calls it."""
    path, before = run.path, run.config
    assert path is not None and before is not None
    config = from_dict(TrainConfig, without_paths(stored_values(before)))
    if records and config != before:
        why = "its configuration has paths of this machine, and records know the run by its configuration"
        raise UserError(f"{path}: {why}: leave out --records")
    card = model_card(run, place, records=records)
    with replacing_folder(target) as part:
        (part / "README.md").write_text(card, encoding="utf-8")
        with without_bars():
            run.model.save_pretrained(part)
        _copy_tokenizer(choose_checkpoint(path, config_hash(before), run.step), part)
        for name in ("config.json", "generation_config.json", "tokenizer_config.json"):
            if (part / name).is_file():
                _write(part / name, _without_paths_but_tokens(read_json(part / name)))
        _write(part / LOOP, {"step": run.step, "config_hash": config_hash(config)})
        write_manifest(part)
        _write_run(path, config, part / RUN)
        for one in _evaluations(path) if records else []:
            _copy(one.files(), part / RUN / "records" / one.path.name)


def _without_paths_but_tokens(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration without paths; a token may look like one, and stays as it is."""
    return {name: one if name.endswith(("_token", "_decoder")) else without_paths(one) for name, one in values.items()}


def _write_run(path: Path, config: TrainConfig, folder: Path) -> None:
    """Write configuration and metrics, without what is the machine's."""
    folder.mkdir()
    stored = read_stored(path)
    kept: dict[str, Any] = {name: stored[name] for name in ("versions", "plugins") if name in stored}
    write_sealed(folder / "config.json", {"config": stored_values(config), **kept})
    lines = b"".join(json_text(without_paths(dict(line))).encode() + b"\n" for line in read_metrics(path))
    if run_status(path).state == "finished":
        lines += end_line(lines, run_id(stored_values(config)))
    (folder / "metrics.jsonl").write_bytes(lines)


def _evaluations(path: Path) -> list[RecordFolder]:
    """Return the whole evaluations of a run, those during training aside: their figures are in the metrics."""
    named = [folder for folder in subfolders(inside(path, "records")) if not re.fullmatch(r"step-\d+", folder.name)]
    return [one for one in map(RecordFolder, named) if one.is_complete()]


def _copy_tokenizer(checkpoint: Path, folder: Path) -> None:
    _copy([file for file in listed_files(checkpoint) if _TOKENIZER.fullmatch(file.name)], folder)


def _copy(files: list[Path], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for file in files:
        shutil.copyfile(file, folder / file.name, follow_symlinks=False)


def _write(path: Path, values: Mapping[str, Any]) -> None:
    path.write_text(json_text(values, indent=2) + "\n", encoding="utf-8")


def _upload(folder: Path, name: str, *, private: bool, api: Any) -> str:
    """Bring a folder to the hub in one commit."""
    from huggingface_hub import HfApi

    api = HfApi() if api is None else api
    try:
        api.create_repo(name, repo_type="model", private=private, exist_ok=True)
        if private and not api.model_info(name).private:  # what is there already stays as it is
            raise UserError(f"{name} is on the hub already, and public: choose another name, or leave out --private")
        api.upload_folder(
            repo_id=name, folder_path=folder, commit_message="Published by anira", delete_patterns=list(_OURS)
        )
    except UserError:
        raise
    except Exception as error:  # the classes of a failed connection belong to whatever library makes it
        why = " ".join(str(error).split())[:300]
        raise UserError(f"cannot publish to {name} on the hub: {why}; `hf auth login` logs you in") from error
    return f"https://huggingface.co/{name}"
