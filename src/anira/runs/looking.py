"""Looking into a model: the depth of every token of a text, what it would say after each iteration, what it writes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from anira.config import UserError
from anira.evaluation.answer import graded, read_question
from anira.inference.greedy import Written, write_greedily
from anira.inference.lens import logit_lens
from anira.models import AniraForCausalLM, AniraOutput
from anira.models.exits import at_least_float32
from anira.runs.reading import Prompt, Reader, TaskReader
from anira.runs.tokens import Depths, Generation, Guess, Predictions, Token

WRITTEN = 64
"""Tokens that are written where no task says how long an answer is."""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """How depths are chosen: by the policy's default rule, by another of its rules, or forced."""

    select: str | None = None
    threshold: float | None = None
    exit_depth: int | None = None

    def call(self) -> dict[str, Any]:
        """Return the arguments of the model's call."""
        return {"select": self.select, "threshold": self.threshold, "exit_depth": self.exit_depth}


@torch.no_grad()
def find_depths(model: AniraForCausalLM, reader: Reader, prompt: Prompt, rule: Rule) -> Depths:
    """Return the depth of every token."""
    output: AniraOutput = model(_row(model, prompt.ids), active=True, **rule.call())
    assert output.logits is not None and output.exit_depth is not None
    probs = output.exit_log_probs if rule.exit_depth is None else None
    tokens = _tokens(
        reader,
        prompt,
        depths=output.exit_depth[0].tolist(),
        probs=None if probs is None else probs[0].exp().tolist(),
        predicted=output.logits[0].argmax(-1).tolist(),
    )
    return Depths(tokens, model.config.max_depth)


@torch.no_grad()
def find_predictions(model: AniraForCausalLM, reader: Reader, prompt: Prompt, rule: Rule, top: int) -> Predictions:
    """Return the `top` likeliest next tokens after each iteration that a token executes."""
    if top < 1:
        raise UserError(f"top must be at least 1, not {top}")
    lens = logit_lens(model, _row(model, prompt.ids), **rule.call())
    executed = lens.executed[0].tolist()
    best = at_least_float32(lens.logits[:, 0]).softmax(-1).topk(min(top, lens.logits.shape[-1]))
    after = [
        tuple(_guesses(reader, best.values[d, place], best.indices[d, place]) for d in range(depth))
        for place, depth in enumerate(executed)
    ]
    predicted = [int(best.indices[depth - 1, place, 0]) for place, depth in enumerate(executed)]
    tokens = _tokens(reader, prompt, depths=executed, probs=None, predicted=predicted, after=after)
    return Predictions(tokens, model.config.max_depth)


def write(model: AniraForCausalLM, reader: Reader, text: str, rule: Rule, most: int | None) -> Generation:
    """Write what comes after a text, greedily: as many tokens as the true answer has, or `most`, or up to <eos>."""
    if most is not None and most < 1:
        raise UserError(f"max_new_tokens must be at least 1, not {most}")
    if isinstance(reader, TaskReader) and most is None:
        return _answered(model, reader, text, rule)
    prompt = reader.read(text)
    stop = model.config.eos_token_id
    said = write_greedily(
        model,
        prompt.ids,
        WRITTEN if most is None else most,
        stop=stop if isinstance(stop, int) else None,
        **rule.call(),
    )
    return _generation(model, reader, prompt, said)


def _answered(model: AniraForCausalLM, reader: TaskReader, question: str, rule: Rule) -> Generation:
    """Answer a question of the task, and grade the answer."""
    rows, start = read_question(reader.task, question)
    said = write_greedily(model, rows.ids(0)[:start], len(rows.answer(0)), **rule.call())
    truth = {start - 1 + i: token for i, token in enumerate(rows.answer(0))}
    return _generation(
        model, reader, Prompt(ids=tuple(rows.ids(0)[:start]), truth=truth), said, graded(reader.task, rows, said)
    )


def _generation(
    model: AniraForCausalLM, reader: Reader, prompt: Prompt, said: Written, grade: dict[str, Any] | None = None
) -> Generation:
    start = len(prompt.ids)
    # What follows a token of the prompt is the prompt's next token, and is not asked for.
    predicted = [*prompt.ids[1:], *said.written]
    tokens = _tokens(
        reader,
        Prompt(ids=said.ids, truth=prompt.truth),
        depths=said.exit_depth,
        probs=said.exit_probs,
        predicted=predicted,
        first=start - 1,
    )
    found = grade or {"answer": reader.decode(said.written)}
    return Generation(tokens=tokens, max_depth=model.config.max_depth, mean_depth=said.mean_depth, **found)


def _tokens(
    reader: Reader,
    prompt: Prompt,
    *,
    depths: Sequence[int],
    probs: Sequence[Sequence[float]] | None,
    predicted: Sequence[int],
    after: Sequence[tuple[tuple[Guess, ...], ...]] | None = None,
    first: int | None = None,
) -> tuple[Token, ...]:
    """Return tokens with what is known of each; from `first` on the model was asked for the next one."""
    truth = {place: reader.text(token) for place, token in prompt.truth.items()}
    everywhere = reader.every or not truth
    return tuple(
        Token(
            position=place,
            id=token,
            text=reader.text(token),
            exit_depth=depths[place],
            exit_probs=None if probs is None else tuple(probs[place]),
            predicts=reader.text(predicted[place]),
            truth=truth.get(place),
            asked=(everywhere or place in truth) if first is None else place >= first,
            after=() if after is None else after[place],
        )
        for place, token in enumerate(prompt.ids)
    )


def _guesses(reader: Reader, probs: Tensor, ids: Tensor) -> tuple[Guess, ...]:
    return tuple(Guess(reader.text(token), prob) for token, prob in zip(ids.tolist(), probs.tolist(), strict=True))


def _row(model: AniraForCausalLM, ids: Sequence[int]) -> Tensor:
    return torch.tensor([list(ids)], device=model.device)
