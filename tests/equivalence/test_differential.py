"""The model against an independent, naive implementation of the paper's equations, on drawn configurations.

Fifty draws run by default. `ANIRA_DIFFERENTIAL=3000` runs that many, `ANIRA_DIFFERENTIAL=2711:2712` only draw 2711.
"""

import os
from collections.abc import Callable
from typing import Any

import pytest
import torch
from tests.equivalence.drawn_cases import Draw, drawn, drawn_model
from tests.equivalence.naive import NaiveModel, Token
from tests.equivalence.naive_decisions import Ask, cross_entropy, kl_to_prior
from torch import Tensor

from anira.models import AniraForCausalLM, AniraOutput

SEEDS = range(*map(int, os.environ.get("ANIRA_DIFFERENTIAL", "50").split(":")))
CLOSE = {"rtol": 1e-9, "atol": 1e-9}

Tokens = dict[tuple[int, int], Token]
"""What the naive implementation makes of the tokens, by row and column; padding has no entry."""


def naive_tokens(naive: NaiveModel, draw: Draw, ask: Callable[[int, int], Ask]) -> Tokens:
    """Run the rows one by one, without their padding; `ask` gets a row and a column."""
    tokens: Tokens = {}
    for row, valid in enumerate(draw.valid):
        columns = [column for column, token in enumerate(valid) if token]
        positions = [draw.position_step * i for i in range(len(columns))]
        ids, asks = [draw.rows[row][column] for column in columns], [ask(row, column) for column in columns]
        made = naive.row(ids, positions, asks)
        tokens |= {(row, column): token for column, token in zip(columns, made, strict=True)}
    return tokens


def naive_losses(draw: Draw, tokens: Tokens, counts: dict[str, Any]) -> dict[str, Tensor]:
    """Return the parts of the loss: the mean cross-entropy of the answers, and gamma times the mean KL."""
    answers = [
        cross_entropy(tokens[row, column - 1].logits, label)
        for row, labels in enumerate(draw.labels)
        for column, label in enumerate(labels)
        if column > 0 and label != -100
    ]
    losses = {"ce": sum(answers) / counts.get("num_answer_tokens", len(answers))}
    probs = [token.decision.probs for token in tokens.values()]
    if probs[0] is not None:
        policy = draw.config["policy"]
        kl = sum(kl_to_prior(q, policy["base"]) for q in probs) / counts.get("num_valid_tokens", len(probs))
        losses["compute"] = policy["gamma"] * counts.get("gamma_scale", 1.0) * kl
    return losses


def hold_tokens_equal(out: AniraOutput, tokens: Tokens, start: int = 0) -> None:
    """Compare logits, depths and distributions of the tokens that a call has computed, from column `start` on."""
    time = out.exit_depth.shape[1]
    here = {place: token for place, token in tokens.items() if 0 <= place[1] - start < time}
    if not here:
        return
    places = [row for row, _ in here], [column - start for _, column in here]
    decisions = [token.decision for token in here.values()]
    torch.testing.assert_close(out.logits[places], torch.stack([token.logits for token in here.values()]), **CLOSE)
    assert out.exit_depth[places].tolist() == [decision.exit_depth for decision in decisions]
    assert out.executed[places].tolist() == [decision.executed for decision in decisions]
    if decisions[0].probs is None:
        assert out.exit_log_probs is None
        return
    probs = torch.stack([torch.stack(decision.probs) for decision in decisions])
    torch.testing.assert_close(out.exit_log_probs[places], probs.log(), **CLOSE)
    mean = (probs * torch.arange(1, probs.shape[1] + 1)).sum(-1)
    torch.testing.assert_close(out.expected_depth[places], mean, **CLOSE)


def hold_losses_equal(out: AniraOutput, expected: dict[str, Tensor]) -> None:
    assert out.losses.keys() == expected.keys()
    for name, part in expected.items():
        torch.testing.assert_close(out.losses[name], part, **CLOSE)
    torch.testing.assert_close(out.loss, sum(expected.values()), **CLOSE)


def check_parallel(draw: Draw, model: AniraForCausalLM, naive: NaiveModel) -> None:
    """Hold the parallel graph equal where rules choose the depth, or where it is forced."""
    with torch.no_grad():
        labels = torch.tensor(draw.labels)
        out = model(torch.tensor(draw.rows), labels=labels, **draw.padding(), **draw.call(draw.settings))
        tokens = naive_tokens(naive, draw, lambda row, column: draw.ask(draw.settings, row, column))
        expected = naive_losses(draw, tokens, {})
    hold_tokens_equal(out, tokens)
    hold_losses_equal(out, expected)


def check_cached(draw: Draw, model: AniraForCausalLM, naive: NaiveModel) -> None:
    """Hold calls against a cache equal to one uninterrupted computation, and count the cache's slots."""
    settings = [draw.settings | offer for size, offer in draw.chunks for _ in range(size)]  # of each column
    cache, start = None, 0
    with torch.no_grad():
        tokens = naive_tokens(naive, draw, lambda row, column: draw.ask(settings[column], row, column))
        for size, _ in draw.chunks:
            stop = start + size
            call = draw.padding(start, stop) | draw.call(settings[start], start, stop)
            ids = torch.tensor(draw.rows)[:, start:stop]
            out = model(ids, past_key_values=cache, use_cache=True, output_exit_probs=True, **call)
            hold_tokens_equal(out, tokens, start)
            cache, start = out.past_key_values, stop
    most = max([draw.max_depth, *(setting.get("max_depth", 0) for setting in settings)])
    executed = [token.decision.executed for token in tokens.values()]
    one_more = int(model.config.freeze == "state")  # the exit state, unless no iteration is left to read it
    assert cache.num_slots == sum(min(depth + one_more, most) for depth in executed)


def check_training(draw: Draw, model: AniraForCausalLM, naive: NaiveModel) -> None:
    """Hold the training graph equal: sampled depths, losses, and the gradient of every parameter."""
    labels, noise = torch.tensor(draw.labels), None if draw.noise is None else torch.tensor(draw.noise)
    out = model.train()(
        torch.tensor(draw.rows), labels=labels, noise=noise, **draw.padding(), **draw.call(draw.training)
    )
    tokens = naive_tokens(naive, draw, lambda row, column: draw.ask(draw.training, row, column, sampled=True))
    losses = naive_losses(draw, tokens, draw.training)
    hold_tokens_equal(out, tokens)
    hold_losses_equal(out, losses)
    out.loss.backward()
    sum(losses.values()).backward()
    for name, parameter in model.named_parameters():
        ours, theirs = (torch.zeros_like(x) if x.grad is None else x.grad for x in (parameter, naive.weights[name]))
        torch.testing.assert_close(ours, theirs, **CLOSE, msg=lambda text, name=name: f"gradient of {name}: {text}")


@pytest.mark.parametrize("seed", SEEDS)
def test_the_model_is_what_the_equations_say(seed: int) -> None:
    draw = drawn(seed)
    model = drawn_model(draw)
    naive = NaiveModel(model.config, dict(model.named_parameters()))
    try:
        check_parallel(draw, model, naive)
        check_cached(draw, model, naive)
        check_training(draw, model, naive)
    except Exception as error:
        error.add_note(f"ANIRA_DIFFERENTIAL={seed}:{seed + 1} runs it again: {draw}")
        raise
