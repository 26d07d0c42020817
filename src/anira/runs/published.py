"""The folder that `anira publish` writes: a model that stands alone, and beside it the run that it comes from.

README.md  config.json  model.safetensors  tokenizer.json  ...     what transformers loads
loop.json  manifest.json                                           of which run and step; size and hash of each file
run/config.json  run/metrics.jsonl  run/records/...                the run, as `anira analyze` and `report` read it
"""

from pathlib import Path
from typing import Final

from anira.config import UserError
from anira.config.folder import inside
from anira.training.checkpoint import LOOP, MANIFEST, check_listed

RUN: Final = "run"


def is_published(folder: Path) -> bool:
    """Say whether a folder has the parts of a published run."""
    return (folder / MANIFEST).is_file() and (folder / RUN / "config.json").is_file()


def check_published(folder: Path, config_hash: str) -> int:
    """Return the step of a published model whose files are all as they were written, and are of this run."""
    inside(folder, RUN)
    loop = check_listed(folder, config_hash)
    step = loop.get("step")
    if type(step) is not int:
        raise UserError(f"{folder} is damaged: {LOOP} does not say which step it is of")
    return step
