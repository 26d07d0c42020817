"""A checkpoint of others as files: found on this machine or fetched from the hub, and looked at before it is loaded."""

import json
import shutil
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, Final

from safetensors import SafetensorError, safe_open
from torch import Tensor

from anira.config import UserError
from anira.config.files import replacing_folder

_FILES: Final = ("*.safetensors", "*.json", "*.txt", "*.model", "*.jinja")
"""What is fetched: weights, configuration, tokenizer; never code, never pickles."""
_RUN_FILES: Final = ("*.jsonl", "*.parquet")
_TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja")


def local_folder(path_or_hub_id: str | Path, *, with_run: bool = False) -> Path:
    """Return the folder itself, or a copy from the Hugging Face hub if there is no such folder.

    With `with_run` the copy has the metrics and records of a published run too; it is a folder of files, where the
    hub's own cache has links.
    """
    path = Path(path_or_hub_id)
    if path.is_dir():
        return path
    name = str(path_or_hub_id)
    if path.exists() or name.startswith((".", "/", "~")) or name.count("/") != 1:
        raise UserError(f"there is no folder {name!r}, and it is not a name on the hub (owner/model)")
    from huggingface_hub import snapshot_download
    from huggingface_hub.constants import HF_HOME
    from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, RepositoryNotFoundError
    from huggingface_hub.errors import LocalEntryNotFoundError as NotReached

    try:
        if with_run:
            place = Path(HF_HOME) / "anira" / name.replace("/", "--")
            return Path(snapshot_download(name, allow_patterns=[*_FILES, *_RUN_FILES], local_dir=place))
        return Path(snapshot_download(name, allow_patterns=list(_FILES)))
    except GatedRepoError:
        raise UserError(f"{name} is gated: ask for access on its page, then `hf auth login`") from None
    except RepositoryNotFoundError:
        raise UserError(f"the hub has no model {name!r}, or it is private: `hf auth login`") from None
    except (NotReached, HfHubHTTPError, OSError) as error:
        raise UserError(
            f"there is no folder {name!r}, and the hub cannot be reached ({type(error).__name__})"
        ) from None


def save_beside_tokenizer(save: Callable[[Path], None], out: Path, source: Path) -> None:
    """Fill a new folder with a whole model and the tokenizer of where it came from, or leave nothing."""
    with replacing_folder(out) as part:
        save(part)
        for name in _TOKENIZER:
            if (source / name).is_file():
                shutil.copyfile(source / name, part / name)


def read_json(path: Path) -> dict[str, Any]:
    """Return a JSON file that holds a table."""
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{path.parent} has no {path.name}: not a saved model") from None
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path} cannot be read: {error}") from None
    if not isinstance(table, dict):
        raise UserError(f"{path} is not a table")
    return table


def tensor_shapes(folder: Path) -> dict[str, tuple[int, ...]]:
    """Return name and shape of every tensor in the folder's safetensors, from their headers alone."""
    shapes: dict[str, tuple[int, ...]] = {}
    for path in weight_files(folder):
        try:
            with safe_open(path, framework="pt") as file:
                for name in file.keys():  # noqa: SIM118 (not a dictionary)
                    if name in shapes:
                        raise UserError(f"{folder} has the tensor {name!r} twice")
                    shapes[name] = tuple(file.get_slice(name).get_shape())
        except (SafetensorError, OSError) as error:
            raise UserError(f"{path} is damaged: {error}") from None
    return shapes


def tensors(folder: Path, names: Collection[str]) -> dict[str, Tensor]:
    """Return some tensors of the folder's safetensors, those that are there."""
    found = {}
    for path in weight_files(folder) if names else []:
        with safe_open(path, framework="pt") as file:
            found.update({name: file.get_tensor(name) for name in names if name in file.keys()})  # noqa: SIM118
    return found


def weight_files(folder: Path) -> list[Path]:
    """Return the folder's weight files: those that its index names, or the single one."""
    index = folder / "model.safetensors.index.json"
    if not index.exists():
        single = folder / "model.safetensors"
        if not single.is_file():
            raise UserError(f"{folder} has no model.safetensors; weights in other formats are not read")
        return [single]
    places = read_json(index).get("weight_map")
    if not isinstance(places, dict) or not all(isinstance(name, str) for name in places.values()):
        raise UserError(f"{index} does not say which file has which tensor")
    paths = [folder / name for name in sorted(set(places.values()))]
    for path in paths:
        if path.parent != folder or not path.is_file():
            raise UserError(f"{index} names {path.name!r}, which is not a file beside it")
    return paths
