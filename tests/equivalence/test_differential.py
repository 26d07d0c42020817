"""The model against an independent, naive implementation of the paper's equations, on drawn configurations.

Fifty draws run by default. `ANIRA_DIFFERENTIAL=3000` runs that many, `ANIRA_DIFFERENTIAL=2711:2712` only draw 2711.
"""

import os
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
import torch
from tests.equivalence.drawn_cases import RULES, Chunks, Draw, Inference, drawn, drawn_model
from tests.equivalence.naive import NaiveModel, Token
from tests.equivalence.naive_decisions import Ask, cross_entropy, kl_to_prior
from torch import Tensor

from anira.models import AniraConfig, AniraForCausalLM, AniraOutput

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


@torch.no_grad()
def check_inference(draw: Draw, calls: Inference, model: AniraForCausalLM, naive: NaiveModel) -> None:
    """Hold the parallel graph equal where a rule chooses the depth or it is forced, then calls against a cache."""
    labels, settings = torch.tensor(draw.labels), calls.settings
    out = model(torch.tensor(draw.rows), labels=labels, **draw.padding(), **draw.call(settings))
    tokens = naive_tokens(naive, draw, lambda row, column: draw.ask(settings, row, column))
    hold_tokens_equal(out, tokens)
    hold_losses_equal(out, naive_losses(draw, tokens, {}))
    own = [settings | offer for size, offer in calls.chunks for _ in range(size)]  # of each column
    if any(offer for _, offer in calls.chunks):
        tokens = naive_tokens(naive, draw, lambda row, column: draw.ask(own[column], row, column))
    check_cached(draw, calls.chunks, model, tokens, own)


@torch.no_grad()
def check_cached(
    draw: Draw,
    chunks: Chunks,
    model: AniraForCausalLM,
    tokens: Tokens,
    settings: list[dict[str, Any]],
    noise: Tensor | None = None,
) -> None:
    """Make calls against a cache, compare what each returns, and count the slots at the end."""
    ids, cache, start = torch.tensor(draw.rows), None, 0
    for size, _ in chunks:
        stop = start + size
        call = draw.padding(start, stop) | draw.call(settings[start], start, stop)
        call["noise"] = None if noise is None else noise[:, start:stop]
        out = model(ids[:, start:stop], past_key_values=cache, use_cache=True, output_exit_probs=True, **call)
        hold_tokens_equal(out, tokens, start)
        cache, start = out.past_key_values, stop
    most = max([draw.max_depth, *(setting.get("max_depth", 0) for setting in settings)])
    # One more for the exit state, unless no iteration is left to read it. Without sharing, none ever is.
    one_more = int(model.config.freeze == "state" and model.config.shared_core)
    assert cache.num_slots == sum(min(token.decision.executed + one_more, most) for token in tokens.values())


def check_sampled(draw: Draw, model: AniraForCausalLM, naive: NaiveModel) -> None:
    """Hold the training graph equal (sampled depths, losses, every gradient), then sampling against a cache."""
    labels, noise = torch.tensor(draw.labels), None if draw.noise is None else torch.tensor(draw.noise)
    call = draw.padding() | draw.call(draw.training | draw.counts)
    out = model.train()(torch.tensor(draw.rows), labels=labels, noise=noise, **call)
    tokens = naive_tokens(naive, draw, lambda row, column: draw.ask(draw.training, row, column, sampled=True))
    losses = naive_losses(draw, tokens, draw.counts)
    hold_tokens_equal(out, tokens)
    hold_losses_equal(out, losses)
    out.loss.backward()
    sum(losses.values()).backward()
    for name, parameter in model.named_parameters():
        ours, theirs = (torch.zeros_like(x) if x.grad is None else x.grad for x in (parameter, naive.weights[name]))
        torch.testing.assert_close(ours, theirs, **CLOSE, msg=lambda text, name=name: f"gradient of {name}: {text}")
    check_cached(draw, draw.inferences[0].chunks, model.eval(), tokens, [draw.training] * len(draw.rows[0]), noise)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_model_is_what_the_equations_say(seed: int) -> None:
    draw = drawn(seed)
    model = drawn_model(draw)
    naive = NaiveModel(model.config, dict(model.named_parameters()))
    try:
        for calls in draw.inferences:
            check_inference(draw, calls, model, naive)
        check_sampled(draw, model, naive)
    except Exception as error:
        error.add_note(f"ANIRA_DIFFERENTIAL={seed}:{seed + 1} runs it again: {draw}")
        raise


def traits(draw: Draw) -> set[tuple[Any, ...]]:
    """Return what a draw covers, as pairs of a feature and what it is crossed with."""
    config = AniraConfig(**draw.config)
    policy, grouped = config.policy["name"], config.num_key_value_heads < config.num_attention_heads
    padding = {pair for row in draw.valid for pair in pairwise(row)} - {(True, True), (False, False)}
    covered = {(policy, config.freeze), (policy, config.shared_core), (config.injection, config.initial_state)}
    covered |= {("grouped", grouped), ("depth", config.max_depth), ("tied", config.tie_word_embeddings), *padding}
    for calls in draw.inferences:
        offered = calls.settings.get("max_depth", config.max_depth)
        covered |= {(policy, calls.settings.get("select")), (policy, "forced", "exit_depth" in calls.settings)}
        covered |= {(policy, "fewer", offered < config.max_depth), (policy, "more", offered > config.max_depth)}
        covered |= {("own depths", bool(calls.chunks[0][1])), ("one call", len(calls.chunks) == 1)}
    return covered


def test_the_default_draws_cover_the_options() -> None:
    expected = {(policy, rule) for policy in ("anira-e", "anira-o") for rule in (None, *RULES)}
    expected |= {(policy, freeze) for policy in ("anira-e", "anira-o", "fixed") for freeze in ("state", "kv")}
    expected |= {(policy, "forced", True) for policy in ("anira-e", "anira-o")} | {("fixed", False), ("fixed", True)}
    expected |= {(policy, "fewer", True) for policy in ("anira-e", "anira-o", "fixed")}
    expected |= {("anira-o", "more", True), ("fixed", "more", True), ("none", "prelude")}
    expected |= {(how, state) for how in ("add", "concat-linear") for state in ("prelude", "zero", "random")}
    expected |= {("depth", depth) for depth in range(1, 7)} | {(False, True), (True, False)}
    expected |= {(name, turned) for name in ("grouped", "tied", "own depths", "one call") for turned in (False, True)}
    assert expected <= set().union(*(traits(drawn(seed)) for seed in range(50)))
