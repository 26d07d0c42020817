"""Give published runs of before the check-sums the check-sums of now: python results/seal.py RUN ...

What a run says stays as it is, byte for byte: weights, tables, and the lines of its metrics. Added are check-sums: to
config.json and evaluation.json (with the list of tables), in place of the old manifest.json of a checkpoint, whose
hashes are compared first, and as a last line of metrics.jsonl.
"""

import json
import sys
from pathlib import Path

from anira.config.sealed import SEAL, end_line, facts_of, write_sealed
from anira.config.strict import run_id
from anira.training.checkpoint import MANIFEST, write_manifest


def seal(run: Path) -> None:
    """Seal one run; a run that is sealed already stays as it is."""
    stored = json.loads((run / "config.json").read_text())
    if SEAL in stored:
        return
    for manifest in run.glob(f"checkpoints/step-*/{MANIFEST}"):
        files = json.loads(manifest.read_text())
        assert all(facts_of(manifest.parent / name) == facts for name, facts in files.items()), manifest
        assert set(files) == {path.name for path in manifest.parent.iterdir()} - {MANIFEST}, manifest
        write_manifest(manifest.parent)
    for asked in run.glob("records/*/evaluation.json"):
        files = {path.name: facts_of(path) for path in sorted(asked.parent.glob("*.parquet"))}
        write_sealed(asked, {**json.loads(asked.read_text()), "files": files})
    metrics = run / "metrics.jsonl"
    metrics.write_bytes(metrics.read_bytes() + end_line(metrics.read_bytes(), run_id(stored["config"])))
    write_sealed(run / "config.json", stored)


for name in sys.argv[1:]:
    seal(Path(name))
