"""Where questions and solved examples come from, beside a folder of the user's: the hub, and lm-evaluation-harness.

The eight examples are gsm8k-cot's. They are read from an installed lm-evaluation-harness instead of being copied: the
prompt then is the harness's own text, under its own licence (MIT), and cannot drift from it.
"""

import importlib.util
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from anira.config import UserError, how_to_install, json_text
from anira.config.sealed import digest, parse_json
from anira.tasks.gsm_symbolic import SPLITS, Problems, Shot, check_splits, make_shot, parse_rows, read_folder
from anira.tasks.gsm_symbolic.published import gathered

NUM_SHOTS: Final = 8
_YAML: Final = Path("tasks") / "gsm8k" / "gsm8k-cot.yaml"
_HUB: Final = re.compile(r"[\w.-]+/[\w.-]+")


def read_problems(data: str, splits: Sequence[str] = SPLITS) -> Problems:
    """Return the questions in a folder, or in a data set that is named as on the hub: apple/GSM-Symbolic."""
    if Path(data).exists() or not _HUB.fullmatch(data):
        return read_folder(Path(data), splits)
    asked = check_splits(splits)
    rows = {name: parse_rows(_hub_rows(data, name), name) for name in dict.fromkeys((*asked, "p2"))}
    digests = {name: digest(json_text([vars(one) for one in found]).encode()) for name, found in rows.items()}
    return gathered(rows, asked, digests)


def _hub_rows(name: str, split: str) -> Iterator[tuple[str, Any]]:
    try:
        import datasets
    except ImportError:
        raise UserError(
            f"{name} is no folder here, and reading it from the hub needs the package datasets: "
            f"{how_to_install('text')}"
        ) from None
    try:
        table = datasets.load_dataset(name, split, split="test")
    except Exception as error:  # what the hub's client raises is many things, and none of them is ours
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise UserError(
            f"cannot load {name} ({split}) from the hub: {reason} (if it is gated, accept its terms there and log in; "
            "without network, give a folder with its files)"
        ) from error
    for i, row in enumerate(table, start=1):
        yield f"{name} ({split}), row {i}", row


def read_shots(path: Path | None = None) -> tuple[Shot, ...]:
    """Return the solved examples of a JSON-lines file with `question` and `target`, or those of gsm8k-cot."""
    if path is None:
        return harness_shots()
    try:
        lines = [line for line in path.read_bytes().splitlines() if line.strip()]
        rows = [parse_json(line) for line in lines]
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise UserError(f"cannot read {path}: not JSON: {error}") from error
    if not rows:
        raise UserError(f"{path} has no examples")
    return tuple(_shot(row, str(path)) for row in rows)


def harness_shots() -> tuple[Shot, ...]:
    """Return the examples of gsm8k-cot from an installed lm-evaluation-harness, which is not imported for it."""
    found = importlib.util.find_spec("lm_eval")
    if found is None or found.origin is None:
        raise UserError(
            "the eight examples of the prompt are read from lm-evaluation-harness, which is not installed: "
            f"{how_to_install('text')}, or give your own with --shots FILE"
        )
    path = Path(found.origin).parent / _YAML
    if not path.is_file():
        raise UserError(f"{path} is missing: install lm_eval 0.4.13, or give the examples with --shots FILE")
    import yaml

    samples = yaml.safe_load(path.read_text()).get("fewshot_config", {}).get("samples", [])
    if len(samples) != NUM_SHOTS:
        raise UserError(f"{path} has {len(samples)} examples, not {NUM_SHOTS}: install lm_eval 0.4.13, or use --shots")
    return tuple(_shot(row, str(path)) for row in samples)


def _shot(row: Any, place: str) -> Shot:
    if not isinstance(row, dict) or not all(isinstance(row.get(name), str) for name in ("question", "target")):
        raise UserError(f"{place}: an example must have question and target")
    try:
        return make_shot(row["question"], row["target"])
    except UserError as error:
        raise UserError(f"{place}: {error}") from None
