"""Keep what is worth showing of a run: enough to look at it and to use its model, not to train it on."""

import re
import shutil
from pathlib import Path

from anira.config import UserError, config_hash
from anira.config.files import replacing_folder
from anira.config.folder import inside, subfolders
from anira.evaluation import RecordFolder
from anira.training.checkpoint import (
    CHECKPOINTS,
    OPTIMIZER,
    choose_checkpoint,
    listed_files,
    weight_files,
    write_manifest,
)
from anira.training.run import RunFolder
from anira.training.weights import halve_weights

LARGEST_WEIGHTS = 2 << 20


def publish_run(
    run: str | Path,
    root: str | Path,
    *,
    keep_periodic: bool = False,
    keep_records: bool = True,
    half_weights: bool = False,
) -> Path:
    """Copy a finished run into `root`: configuration, metrics, records, and its weights if they are small.

    Left out are the optimizer's state, two thirds of a checkpoint, and the records of evaluations during training,
    whose figures are in the metrics; with `keep_periodic` they stay, and figures of depth over training have their
    intervals. Without `keep_records` all records are left out, which are most of the rest: `anira evaluate` makes them
    again. With `half_weights` they are rounded to half precision: enough to read them, and what is made from the copy
    differs from the run by that rounding. Returns the copy, root/<preset>/<hash8>-s<seed>.
    """
    run, root = Path(run), Path(root)
    config = RunFolder(run).read_config()
    records = [RecordFolder(folder) for folder in subfolders(inside(run, "records"))]
    if not any(one.path.name == "final" and one.is_complete() for one in records):
        raise UserError(f"{run} is not a finished run: it has no final records")
    checkpoint = choose_checkpoint(run, config_hash(config))
    target = root / run.parent.name / run.name
    if target.exists():
        raise UserError(f"{target} is there already: remove it first")
    target.parent.mkdir(parents=True, exist_ok=True)
    with replacing_folder(target) as copy:
        _copy([inside(run, name) for name in ("config.json", "metrics.jsonl")], copy)
        for one in records if keep_records else []:
            if keep_periodic or not re.fullmatch(r"step-\d+", one.path.name):
                _copy(one.files(), copy / "records" / one.path.name)
        if sum(file.stat().st_size for file in weight_files(checkpoint)) <= LARGEST_WEIGHTS:
            kept = copy / CHECKPOINTS / checkpoint.name
            _copy([file for file in listed_files(checkpoint) if file.name != OPTIMIZER], kept)
            for file in weight_files(checkpoint) if half_weights else []:
                halve_weights(kept / file.name)
            write_manifest(kept)
    return target


def _copy(files: list[Path], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for file in files:
        shutil.copyfile(file, folder / file.name)
