"""Keep what is worth showing of a run: enough to look at it and to use its model, not to train it on."""

import re
import shutil
from pathlib import Path

from anira.config import UserError
from anira.training.checkpoint import check_checkpoint, latest_checkpoint, write_manifest

LARGEST_WEIGHTS = 2 << 20


def publish_run(run: Path, root: Path, *, keep_periodic: bool = False) -> Path:
    """Copy a finished run into `root`: configuration, metrics, records, and its weights if they are small.

    Left out are the optimizer's state, two thirds of a checkpoint, and the records of evaluations during training,
    whose figures are in the metrics; with `keep_periodic` they stay, and figures of depth over training have their
    intervals. Returns the copy, root/<preset>/<hash8>-s<seed>.
    """
    checkpoint = latest_checkpoint(run)
    if checkpoint is None or not (run / "records" / "final").is_dir():
        raise UserError(f"{run} is not a finished run: it has no final records or no checkpoint")
    check_checkpoint(checkpoint)
    target = root / run.parent.name / run.name
    if target.exists():
        raise UserError(f"{target} is there already: remove it first")
    target.mkdir(parents=True)
    for name in ("config.json", "metrics.jsonl"):
        shutil.copyfile(run / name, target / name)
    shutil.copytree(run / "records", target / "records", ignore=None if keep_periodic else _periodic)
    if (checkpoint / "model.safetensors").stat().st_size <= LARGEST_WEIGHTS:
        kept = target / "checkpoints" / checkpoint.name
        shutil.copytree(checkpoint, kept, ignore=shutil.ignore_patterns("optimizer.safetensors", "manifest.json"))
        for file in kept.iterdir():
            file.chmod(0o644)
        write_manifest(kept)
    return target


def _periodic(folder: str, names: list[str]) -> list[str]:
    """Return those of the names that stand for an evaluation during training, as in step-000500."""
    return [name for name in names if re.fullmatch(r"step-\d+", name)]
