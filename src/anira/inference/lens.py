"""The logit lens: what a model would say if its tokens stopped after each iteration.

Stopped after iteration d, every token reads out the state that it has then. Iterations up to d are those of the real
run, because none of them reads a later state. So coda and head, and a policy's own way to read out, are all in it.
"""

from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from anira.config import UserError
from anira.models import AniraForCausalLM, AniraOutput
from anira.models.wrapped import policy_in_use


class Lens(NamedTuple):
    """What the model says after each iteration. Beyond the iterations that a token executed, its state is frozen."""

    logits: Float[Tensor, "depth batch time vocab"]
    executed: Int[Tensor, "batch time"]
    """Iterations that each token executes if nobody stops it."""


@torch.no_grad()
def logit_lens(model: AniraForCausalLM, input_ids: Int[Tensor, "batch time"], **options: Any) -> Lens:
    """Return the logits after 1, 2, ... iterations; `options` are those of a call that choose depths, as `select`.

    >>> from anira.models import AniraConfig
    >>> config = AniraConfig(vocab_size=9, hidden_size=16, intermediate_size=32, num_attention_heads=2, max_depth=4)
    >>> model, ids = AniraForCausalLM(config).eval(), torch.tensor([[1, 2, 3]])
    >>> lens = logit_lens(model, ids)
    >>> lens.logits.shape, torch.allclose(lens.logits[-1], model(ids, active=True).logits, atol=1e-6)
    (torch.Size([4, 1, 3, 9]), True)
    """
    if not can_stop(model):
        raise UserError(
            "this model has no logit lens, because its tokens cannot stop early: its policy skips single iterations, "
            "or each iteration has layers of its own"
        )
    output: AniraOutput = model(input_ids, active=True, **options)
    executed = output.executed
    assert executed is not None
    depths = range(1, model.config.max_depth + 1)
    after = [model(input_ids, exit_depth=executed.clamp(max=depth), active=True).logits for depth in depths]
    return Lens(torch.stack(after), executed)


def can_stop(model: AniraForCausalLM) -> bool:
    """Say whether every token can stop after any iteration."""
    return policy_in_use(model.policy).timing != "route" and model.config.shared_core
