"""What a page shows of a token: what the model does with it, and the reference solver's probes beside that."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from anira.runs.tokens import Token
from anira.tasks import BlockTask, Rows


def shown_token(token: Token, probes: Sequence[float | None]) -> dict[str, Any]:
    """Return a token as the page's script reads it; what it does not have is left out."""
    found: dict[str, Any] = {"text": token.text, "position": token.position, "depth": token.exit_depth}
    if token.exit_probs is not None:
        expected = sum(depth * q for depth, q in enumerate(token.exit_probs, 1))
        found |= {"expected": round(expected, 3), "probs": [round(q, 3) for q in token.exit_probs]}
    if any(value is not None for value in probes):
        found["probes"] = list(probes)
    if token.asked:
        # What a model says about the next token of a question was never trained: it would only mislead.
        after = [[[guess.text, round(guess.prob, 3)] for guess in guesses] for guesses in token.after]
        found |= {"predicts": token.predicts, "truth": token.truth, "right": token.predicts == token.truth}
        found |= {"after": after} if after else {}
    return found


class Probes:
    """The probes of a task on a row, each at the position whose depth it is compared with.

    They are known as far as the model wrote what the reference solver did.
    """

    def __init__(self, task: BlockTask, truth: Rows, ids: Sequence[int]) -> None:
        values = task.probes(truth, 0)
        specs = [spec for spec in task.probe_specs if values[spec.name].ndim == 1]
        self.names = [spec.name.replace("_", " ") for spec in specs]
        self._columns = [values[spec.name][1 if spec.anchor == "target" else 0 :] for spec in specs]
        same = np.array(truth.ids(0)[: len(ids)]) == np.array(ids)
        self._known = int(np.cumprod(same).sum())

    def at(self, position: int) -> list[float | None]:
        """Return one value for each name."""
        if position >= self._known:
            return [None] * len(self.names)
        found = [round(float(column[position]), 3) for column in self._columns]
        return [None if np.isnan(value) else value for value in found]
