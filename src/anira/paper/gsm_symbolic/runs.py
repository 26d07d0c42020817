"""Which models the table is made of: folders that `anira gsm-symbolic` has filled, and what the paper reports."""

from pathlib import Path
from typing import Final

from anira.config import UserError
from anira.config.folder import subfolders
from anira.measure.records.stored import read_asked
from anira.paper.setting import Setting, UsedRun
from anira.records import ASKED

FOLDER: Final = "gsm-symbolic"
"""Below a folder of runs: one folder per model, with its evaluations in records/."""


REPORTED: Final = {
    "fixed depth 8": ((46.26, 23.54, 5.80), (8.0, 8.0, 8.0)),
    "ANIRA-E": ((45.70, 24.06, 5.80), (6.060, 6.004, 5.982)),
    "ANIRA-O": ((43.68, 23.02, 5.08), (4.108, 4.105, 4.001)),
}
"""The paper's table: accuracy in percent and mean depth over answer tokens, by split. Recurrent-Llama-3.2, fine-tuned
on 5B tokens of Nemotron-CC-Math-v1-4plus; one seed, no intervals."""


def find_models(setting: Setting) -> list[Path]:
    """Return the folders of evaluated models; none at all is an error that says what to run."""
    places = [place / FOLDER for place in (*setting.published, setting.runs)]
    found = [folder for place in places for folder in subfolders(place) if _is_complete(folder)]
    if not found:
        raise UserError(
            f"no model was evaluated on GSM-Symbolic: {places[-1]} has no complete records; run "
            f"anira gsm-symbolic MODEL --data DIR --depth 1:8 --out {places[-1]}/NAME for each model first"
        )
    return found


def used_run(folder: Path) -> UsedRun:
    """Return a model's folder as what the page rests on."""
    return UsedRun(preset=f"{FOLDER}/{folder.name}", folder=folder, found=True, seconds=0.0, differs=())


def _is_complete(folder: Path) -> bool:
    """Say whether a model has an evaluation in which its policy chose, and which is complete."""
    asked = [read_asked(one) for one in subfolders(folder / "records") if (one / ASKED).is_file()]
    return any(one["complete"] and not one.get("override") for one in asked)
