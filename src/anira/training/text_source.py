"""Text as training data: the stream of tokens cut into rows, the rows into the parts of a step's batch.

stream   <bos> a a a <eos> <bos> b b | b <eos> <bos> c c c c <eos> | ...      rows of 8 tokens
wrapped  a row is one instance: every token sees all before it in its row
documents  a row has an instance per document in it, here of 5 and 3 tokens, then of 2 and 6
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from accelerate.utils import gather_object
from jaxtyping import Int
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from anira.config import UserError
from anira.models import AniraForCausalLM, uniform_noise
from anira.tasks import Vocab
from anira.text import TextConfig, TextTokenizer, TokenStream, load_tokenizer, open_shards
from anira.text.overlap import make_filter
from anira.text.stream import Selection, Taken
from anira.training.config import TrainConfig
from anira.training.data import Batch, check_shares

SHORTEST: Final = 4
"""Fewest tokens of a row: in fewer, with their marks, there may be none that predicts another."""
_LOGITS: Final = 1 << 28  # numbers that an evaluation computes at a time


@dataclass(frozen=True)
class Spans:
    """Instances in rows of tokens: where each begins in the rows laid end to end, and how long it is."""

    starts: Int[np.ndarray, " spans"]
    lengths: Int[np.ndarray, " spans"]

    def take(self, index: NDArray[Any]) -> "Spans":
        """Return some of them."""
        return Spans(self.starts[index], self.lengths[index])

    @property
    def tokens(self) -> Int[np.ndarray, " tokens"]:
        """The places of all their tokens."""
        within = np.arange(self.lengths.sum()) - np.repeat(self.lengths.cumsum() - self.lengths, self.lengths)
        places: Int[np.ndarray, " tokens"] = np.repeat(self.starts, self.lengths) + within
        return places

    @property
    def predicting(self) -> Int[np.ndarray, " answers"]:
        """Which of their tokens predict another one: all but each span's last."""
        last = np.zeros(self.lengths.sum(), dtype=bool)
        last[self.lengths.cumsum() - 1] = True
        return np.flatnonzero(~last)


def spans_of(taken: Taken, length: int, *, documents: bool) -> Spans:
    """Return the instances in rows of `length` tokens: whole rows, or with `documents` what each has of a document."""
    first = np.arange(0, len(taken.ids), length)
    starts = np.union1d(first, np.flatnonzero(taken.starts)) if documents else first
    return Spans(starts, np.diff(starts, append=len(taken.ids)))


def split_spans(spans: Spans, parts: int) -> list[Spans]:
    """Return parts with about as many tokens each and spans of like length, which attention lays out with little waste.

    No span is longer than a part's share of tokens, so none of the parts is empty.
    """
    order = np.argsort(spans.lengths, kind="stable")
    made = _cut(spans.take(order), parts)
    # A part of nothing but single tokens would predict nothing; in the rows' own order there is no such part.
    return made if all(part.lengths.max() > 1 for part in made) else _cut(spans, parts)


def _cut(spans: Spans, parts: int) -> list[Spans]:
    before = spans.lengths.cumsum() - spans.lengths
    part = before * parts // spans.lengths.sum()
    return [spans.take(np.flatnonzero(part == number)) for number in range(parts)]


def check_text(config: TrainConfig) -> None:
    """Raise a UserError if a run on text could not begin: its data, its tokenizer, its rows."""
    text = _text_of(config)
    if config.max_length < SHORTEST:
        raise UserError(f"max_length must be at least {SHORTEST} tokens of text, not {config.max_length}")
    if config.max_offset:
        raise UserError("max_offset shifts the rows of a task: with text it must be 0")
    if not config.held_out and not text.valid:
        raise UserError(
            "there is nothing to validate on: hold out a share of the documents with --held-out, or --valid"
        )
    open_shards(text)
    load_tokenizer(text.tokenizer).check_fits(config.model_config().vocab_size)


class TextSource:
    """Rows of a stream of text."""

    def __init__(self, config: TrainConfig, noise_width: int, *, rank: int = 0, world: int = 1) -> None:
        self.config, self.text, self.noise_width = config, _text_of(config), noise_width
        self.rank, self.world = rank, world
        check_shares(config, world)
        check_text(config)
        self.tokenizer = load_tokenizer(self.text.tokenizer)
        self.vocab: Vocab | TextTokenizer = self.tokenizer
        self.selection = Selection(held_out=config.held_out, overlap=make_filter(self.text))
        self.stream = TokenStream(
            open_shards(self.text),
            self.tokenizer,
            self.selection,
            rank=rank,
            world=world,
            exchange=None if world == 1 else lambda mine: gather_object([mine]),
        )
        self._step, self._taken = 0, Taken(np.zeros(0, np.int32), np.zeros(0, bool))

    def step(self, step: int) -> Iterator[Batch]:
        """Yield this process's parts of a step's rows."""
        size, length = self.config.batch_size, self.config.max_length
        if step != self._step:
            assert step == self._step + 1, f"text goes on with step {self._step + 1}, not {step}"
            self._step, self._taken = step, self.stream.take(size * length)
        spans = self._spans(self._taken)
        count = torch.tensor(float((spans.lengths - 1).sum()))
        # Rows of one process follow each other: which process has which changes nothing but who computes what.
        mine = spans.take(np.flatnonzero(spans.starts // (size // self.world * length) == self.rank))
        for part in split_spans(mine, self.config.accumulation):
            yield self._batch(self._taken, part, count, step)

    def _spans(self, taken: Taken) -> Spans:
        return spans_of(taken, self.config.max_length, documents=self.text.packing == "documents")

    def _batch(self, taken: Taken, spans: Spans, count: Tensor, step: int | None = None) -> Batch:
        """Return spans as one packed row; with a step, with the noise of their rows in it."""
        tokens = spans.tokens
        ids = torch.from_numpy(taken.ids[tokens].astype(np.int64))[None]
        noise = None if step is None or not self.noise_width else self._noise(step, tokens)
        return Batch(
            input_ids=ids,
            labels=ids,
            lengths=torch.from_numpy(spans.lengths.astype(np.int64)),
            longest=int(spans.lengths.max()),
            answers=torch.from_numpy(spans.predicting),
            noise=noise,
            num_answer_tokens=count,
            num_valid_tokens=torch.tensor(float(len(taken.ids))),
        )

    def _noise(self, step: int, tokens: NDArray[Any]) -> Tensor:
        """Return the noise of tokens by their row and column in the step, whoever computes them."""
        size, length = self.config.batch_size, self.config.max_length
        rows, inverse = np.unique(tokens // length, return_inverse=True)
        noise = uniform_noise(
            seed=self.config.seed,
            step=step,
            rows=torch.from_numpy((step - 1) * size + rows),
            positions=torch.arange(length),
            width=self.noise_width,
        )
        return noise[torch.from_numpy(inverse), torch.from_numpy(tokens % length)][None]

    def figures(self) -> dict[str, Any]:
        """Return the epoch, and how many documents were read and left out."""
        counts = {f"left_out_{why.replace(' ', '_')}": n for why, n in self.stream.counts.items() if why != "documents"}
        return {"epoch": self.stream.place.epoch, "documents": self.stream.counts["documents"], **counts}

    def state(self) -> dict[str, Any]:
        """Return the place in the stream."""
        return {"text": self.stream.state()}

    def load_state(self, loop: Mapping[str, Any]) -> None:
        """Go to the place where the run stood."""
        self._step = int(loop["step"])
        if self._step:
            self.stream.load_state(loop.get("text", {}))

    @cached_property
    def held_out(self) -> Taken:
        """The tokens to validate on, as many as the largest evaluation takes: whole rows, or one that is shorter."""
        config, text = self.config, self.text
        selection = Selection(held_out=0.0 if text.valid else config.held_out, want_held_out=True)
        shards = open_shards(replace(text, data=text.valid, subset="") if text.valid else text)
        stream = TokenStream(shards, self.tokenizer, selection)
        most = max(config.eval_count, config.final_count) * config.max_length
        taken = stream.take(most, once=True)
        if len(taken.ids) < SHORTEST:
            raise UserError(
                f"{text.valid or text.data} has no documents to validate on: raise --held-out, or give --valid"
            )
        whole = len(taken.ids) // config.max_length * config.max_length or len(taken.ids)
        return Taken(taken.ids[:whole], taken.starts[:whole])

    def evaluate(self, model: AniraForCausalLM, step: int, count: int, records: Path) -> list[dict[str, Any]]:
        """Return the mean cross-entropy of a token, the share predicted right and the mean depth, in held-out text."""
        training, length = model.training, self.config.max_length
        rows = max(1, _LOGITS // (length * model.config.vocab_size))
        held_out = self.held_out
        tokens = min(count * length, len(held_out.ids))
        model.eval()
        sums = torch.zeros(4, dtype=torch.float64)
        for start in range(0, tokens, rows * length):
            part = slice(start, min(start + rows * length, tokens))
            sums += self._sums(model, Taken(held_out.ids[part], held_out.starts[part]))
        model.train(training)
        total, right, depth, predicted = sums.tolist()
        means = {"loss": total / predicted, "accuracy": right / predicted, "depth_answer": depth / predicted}
        return [{"n": -(-tokens // length), "tokens": tokens, **means}]

    @torch.no_grad()
    def _sums(self, model: AniraForCausalLM, taken: Taken) -> Tensor:
        batch = self._batch(taken, self._spans(taken), torch.tensor(1.0))
        ids, answers = batch.input_ids.to(model.device), batch.answers.to(model.device)
        output = model(ids, lengths=batch.lengths.to(model.device), max_length=batch.longest, logits_to_keep=answers)
        following = ids[0, answers + 1]
        logits = output.logits[0].float()
        return torch.stack(
            [
                cross_entropy(logits, following, reduction="sum").double(),
                (logits.argmax(-1) == following).sum().double(),
                output.exit_depth[0, answers].sum().double(),
                torch.tensor(float(len(answers)), dtype=torch.float64, device=logits.device),
            ]
        ).cpu()


def _text_of(config: TrainConfig) -> TextConfig:
    assert config.text is not None
    return config.text
