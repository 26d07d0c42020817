"""Keep what is worth showing of a run: enough to look at it and to use its model, not to train it on."""

import shutil
from pathlib import Path

from anira.config import UserError
from anira.training.checkpoint import check_checkpoint, latest_checkpoint, write_manifest

LARGEST_WEIGHTS = 2 << 20


def publish_run(run: Path, root: Path) -> Path:
    """Copy a finished run into `root`: configuration, metrics, final records, and its weights if they are small.

    The checkpoint loses the optimizer's state, two thirds of it. Returns the copy, root/<preset>/<hash8>-s<seed>.
    """
    checkpoint = latest_checkpoint(run)
    if checkpoint is None or not (run / "records" / "final").is_dir():
        raise UserError(f"{run} is not a finished run: it has no final records or no checkpoint")
    check_checkpoint(checkpoint)
    target = root / run.parent.name / run.name
    if target.exists():
        raise UserError(f"{target} is there already: remove it first")
    (target / "records").mkdir(parents=True)
    for name in ("config.json", "metrics.jsonl"):
        shutil.copyfile(run / name, target / name)
    shutil.copytree(run / "records" / "final", target / "records" / "final")
    if (checkpoint / "model.safetensors").stat().st_size <= LARGEST_WEIGHTS:
        kept = target / "checkpoints" / checkpoint.name
        shutil.copytree(checkpoint, kept, ignore=shutil.ignore_patterns("optimizer.safetensors", "manifest.json"))
        for file in kept.iterdir():
            file.chmod(0o644)
        write_manifest(kept)
    return target
