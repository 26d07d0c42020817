"""A model over the splits of GSM-Symbolic: answers, depths, and their records."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import polars as pl

from anira.config import UserError
from anira.config.sealed import digest
from anira.evaluation.gsm_symbolic.decoding import (
    Ends,
    Written,
    end_ids,
    write_answers,
)
from anira.evaluation.gsm_symbolic.loading import Loaded
from anira.evaluation.gsm_symbolic.tables import TASK, instance_table, token_table
from anira.evaluation.gsm_symbolic.unfinished import Unfinished
from anira.evaluation.port import check_depths, depth_model
from anira.evaluation.predict import Settings
from anira.evaluation.records import RecordFolder
from anira.evaluation.tables import Labels
from anira.tasks.gsm_symbolic import SPLITS, STOP, Problem, Problems, Shot, make_prompt, shots_text

MOST: Final = 512
_STRIDE: Final = 1_000_000
"""Instance ids of a split begin at its knob times this."""


@dataclass(frozen=True, kw_only=True)
class GsmConfig:
    """What to evaluate, and how depth is chosen."""

    limit: int | None = None
    """Questions per split, data set after data set: 100 are one question from each template."""
    batch_size: int = 16
    max_new_tokens: int = MOST
    select: str | None = None
    threshold: float | None = None
    depth: int | None = None
    """Every token is forced to it."""
    seed: int = 0
    """Training seed of the model, for whoever joins several."""

    def __post_init__(self) -> None:
        for name in ("limit", "batch_size", "max_new_tokens", "depth"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UserError(f"--{name.replace('_', '-')} must be at least 1, not {value}")
        if self.depth is not None and (self.select is not None or self.threshold is not None):
            raise UserError("select and threshold mean nothing to forced depths")

    @property
    def settings(self) -> Settings:
        """How depth is chosen."""
        override = "" if self.depth is None else f"depth-{self.depth}"
        return Settings(select=self.select, threshold=self.threshold, override=override)


def at_depth(config: GsmConfig, depth: int) -> GsmConfig:
    """Return the same evaluation with every token forced to a depth."""
    return replace(config, select=None, threshold=None, depth=depth)


def evaluate_gsm_symbolic(
    loaded: Loaded,
    problems: Problems,
    shots: Sequence[Shot],
    config: GsmConfig,
    folder: Path,
    *,
    progress: Callable[[int], None] | None = None,
) -> None:
    """Write the records of the splits that are still missing; `progress` is told of each batch how many it has.

    What an interrupted call has done is kept.
    """
    chosen = {SPLITS.index(name): rows[: config.limit] for name, rows in problems.by_split.items()}
    labels = make_labels(loaded, config)
    asked = _asked(config, labels, problems, shots, max(map(len, chosen.values())))
    records = RecordFolder(folder)
    records.open(asked)
    unfinished = Unfinished(folder, asked)
    prompts = Prompts(loaded, shots, config)
    for rows in chosen.values():
        prompts.check(rows)
    for knob, rows in chosen.items():
        if records.missing([knob]):
            done = unfinished.done(knob)
            _tell(progress, len(done))
            for first, batch in _batches(rows, done, config.batch_size):
                unfinished.write(knob, first, *prompts.tables(batch, labels, knob * _STRIDE + first, problems.shared))
                _tell(progress, len(batch))
            records.write(knob, *unfinished.gather(knob))
        else:
            _tell(progress, len(rows))
    records.close()
    unfinished.forget()


def _tell(progress: Callable[[int], None] | None, count: int) -> None:
    if progress is not None and count:
        progress(count)


def _batches(rows: Sequence[Problem], done: set[int], size: int) -> Iterator[tuple[int, Sequence[Problem]]]:
    """Yield the questions that are not done, neighbours together, each batch with the number of its first.

    >>> [(first, len(batch)) for first, batch in _batches(range(7), {2}, 2)]
    [(0, 2), (3, 2), (5, 2)]
    """
    first = 0
    while first < len(rows):
        last = first
        while last < len(rows) and last - first < size and last not in done:
            last += 1
        if last > first:
            yield first, rows[first:last]
        first = max(last, first + 1)


def make_labels(loaded: Loaded, config: GsmConfig) -> Labels:
    """Return what all records share; depths and rules that the model does not have are refused."""
    model = depth_model(loaded.model)
    check_depths(model, config.depth)
    rule = model.rule(config.select, config.threshold)
    return Labels(
        run_id=loaded.name,
        step=0,
        variant=model.policy,
        seed=config.seed,
        select=rule.select,
        threshold=rule.threshold,
        decode="generated",
        override=config.settings.override,
    )


def _asked(config: GsmConfig, labels: Labels, problems: Problems, shots: Sequence[Shot], count: int) -> dict[str, Any]:
    """Return what evaluation.json says: by it, another request in the same folder is refused. Batches do not matter."""
    return {
        **asdict(labels),
        "task": TASK,
        "knobs": [SPLITS.index(name) for name in problems.by_split],
        "n": count,
        "max_new_tokens": config.max_new_tokens,
        "data": dict(problems.digests),
        "prompt": digest(shots_text(shots).encode()),
    }


class Prompts:
    """Questions as a model reads them, and its answers as records."""

    def __init__(self, loaded: Loaded, shots: Sequence[Shot], config: GsmConfig) -> None:
        self._loaded, self._shots, self._config = loaded, shots, config
        self._head = self._encode(shots_text(shots))
        ids = end_ids(loaded.model, loaded.tokenizer)
        self._ends = Ends(tokenizer=loaded.tokenizer, ids=ids, stops=(STOP,), most=config.max_new_tokens)

    def check(self, rows: Sequence[Problem]) -> None:
        """Refuse questions that do not fit the positions of the model."""
        places = getattr(self._loaded.model.config, "max_position_embeddings", None)
        if places is None:
            return
        longest = max(len(self._encode(make_prompt(self._shots, row.question))) for row in rows)
        if longest + self._config.max_new_tokens > places:
            raise UserError(
                f"the longest prompt has {longest} tokens, and with {self._config.max_new_tokens} new ones it exceeds "
                f"the {places} positions of {self._loaded.name}: lower --max-new-tokens"
            )

    def answers(self, rows: Sequence[Problem]) -> list[Written]:
        """Let the model answer some questions as one batch."""
        model = self._loaded.model
        prompts = [self._encode(make_prompt(self._shots, row.question)) for row in rows]
        return write_answers(depth_model(model).start(self._config.settings), prompts, self._ends, model.device)

    def tables(
        self, rows: Sequence[Problem], labels: Labels, first: int, shared: frozenset[int] | None
    ) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return instance and token records of some questions."""
        written = self.answers(rows)
        heads = [common(one.prompt, self._head) for one in written]
        instances = instance_table(self._loaded.model, rows, written, labels, first=first, heads=heads, shared=shared)
        return instances, token_table(self._loaded.tokenizer, rows, written, labels, first=first, heads=heads)

    def _encode(self, text: str) -> list[int]:
        ids: list[int] = self._loaded.tokenizer(text)["input_ids"]
        return ids


def common(one: Sequence[int], other: Sequence[int]) -> int:
    """Return how many tokens two rows have in common from their beginning on.

    >>> common([1, 5, 6, 7], [1, 5, 8])
    2
    """
    pairs = zip(one, other, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
