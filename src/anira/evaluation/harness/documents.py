"""GSM-Symbolic as the harness reads it: documents with their prompt, and the authors' rule for right answers."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from anira.config import UserError
from anira.evaluation.gsm_symbolic.sources import read_problems, read_shots
from anira.tasks.gsm_symbolic import is_right, make_prompt


def load(*, split: str, data: str = "", shots: str = "", **metadata: Any) -> dict[str, Any]:
    """Return the documents of a split; `data` and `shots` come from --metadata, whose other keys are not ours."""
    import datasets

    if not data:
        raise UserError('the GSM-Symbolic tasks need a folder: give --data DIR, or --metadata \'{"data": "DIR"}\'')
    examples = read_shots(Path(shots) if shots else None)
    rows = [
        {
            "id": one.id,
            "instance": one.instance,
            "template": one.template,
            "question": one.question,
            "prompt": make_prompt(examples, one.question),
            "gold": one.gold,
        }
        for one in read_problems(data, [split]).by_split[split]
    ]
    return {"test": datasets.Dataset.from_list(rows)}


def grade(document: Mapping[str, Any], results: Sequence[str]) -> dict[str, float]:
    """Return 1 for a right answer, by the rule of `anira gsm-symbolic`."""
    return {"exact_match": float(is_right(results[0], document["gold"]))}
