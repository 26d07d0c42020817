"""The models that are timed: ours with depths forced through the real decider, and stock Llama of the same size."""

from typing import Any

import torch
from torch import Tensor
from transformers import LlamaConfig, LlamaForCausalLM

from anira.models import AniraConfig, AniraForCausalLM
from anira.models.policies import AniraE, AniraO

HIDDEN, FEED_FORWARD, HEADS, MAX_DEPTH, VOCAB = 512, 2048, 8, 6, 64
STOCK_LAYERS = (2, 4, 6, 8)
DEPTHS = (1, 2, 3, 4, 5)
"""Depths that lines are fitted to; after the last one, 6, comes no decision, and no exit state is kept."""


def anira_model(policy: str, hidden: int | None = None) -> AniraForCausalLM:
    """Return a model of the paper's larger size, or of another width, in evaluation mode."""
    hidden = HIDDEN if hidden is None else hidden
    return _seeded(
        AniraConfig(
            vocab_size=VOCAB,
            hidden_size=hidden,
            intermediate_size=FEED_FORWARD * hidden // HIDDEN,
            num_attention_heads=HEADS,
            max_depth=MAX_DEPTH,
            policy={"name": policy},
        )
    )


def _seeded(config: AniraConfig) -> AniraForCausalLM:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)  # the same weights in every run: depths of a mixture depend on them
        model: AniraForCausalLM = AniraForCausalLM(config).eval()
    return model


def stock_model(num_layers: int, hidden: int | None = None) -> LlamaForCausalLM:
    """Return Hugging Face's own Llama of the same width."""
    hidden = HIDDEN if hidden is None else hidden
    config: Any = LlamaConfig(
        vocab_size=VOCAB,
        hidden_size=hidden,
        intermediate_size=FEED_FORWARD * hidden // HIDDEN,
        num_attention_heads=HEADS,
        num_hidden_layers=num_layers,
        max_position_embeddings=8192,
    )
    model: LlamaForCausalLM = LlamaForCausalLM(config).eval()
    return model


def random_ids(rows: int, time: int) -> Tensor:
    """Return tokens from a stream of their own."""
    return torch.randint(VOCAB, (rows, time), generator=torch.Generator().manual_seed(0))


@torch.no_grad()
def force_depth(model: AniraForCausalLM, depth: int) -> None:
    """Make every token exit at `depth`, by the bias of the decider's last layer; the decider still computes everything.

    ANIRA-O has one bias for all decisions: the median is `depth` where a constant hazard a satisfies
    (1 - a)^(depth - 1/2) = 1/2, and the last depth is reached by never halting.
    """
    policy = model.policy
    assert isinstance(policy, AniraE | AniraO)
    out = policy.decider.out
    out.weight.zero_()
    if isinstance(policy, AniraE):
        out.bias.fill_(0.0)
        out.bias[depth - 1] = 20.0
    else:
        hazard = 1 - 0.5 ** (1 / (depth - 0.5))
        out.bias.fill_(-20.0 if depth == model.config.max_depth else torch.logit(torch.tensor(hazard)))


@torch.no_grad()
def force_mixture(model: AniraForCausalLM, ids: Tensor, *, mean: float, last: int) -> None:
    """Make the `last` tokens of each row exit at mixed depths with this mean, those before them at similar ones.

    The last layer gets random weights that spread the tokens; then its bias is searched for the mean.
    """
    policy = model.policy
    assert isinstance(policy, AniraE | AniraO)
    out = policy.decider.out
    out.weight.normal_(0.0, 1.5, generator=torch.Generator().manual_seed(1))
    ramp = torch.arange(model.config.max_depth) if isinstance(policy, AniraE) else torch.ones(1)
    low, high = -20.0, 20.0
    for _ in range(25):
        middle = (low + high) / 2
        out.bias.copy_(-middle * ramp if isinstance(policy, AniraE) else middle * ramp)
        depth = model(ids).exit_depth[:, -last:].float().mean()
        low, high = (middle, high) if depth > mean else (low, middle)
