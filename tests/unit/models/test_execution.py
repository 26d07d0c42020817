"""The parallel graph against the paper's equations, written out."""

from types import SimpleNamespace

import pytest
import torch
from tests.models_support import Case, small_config, spread_case
from torch import Tensor

from anira.models import AniraOutput
from anira.models.attention import KeptKeyValues


def by_hand(case: Case, out: AniraOutput) -> list[Tensor]:
    """Unroll h(d) = a(d) R(h(d-1)) + (1 - a(d)) h(d-1) with a(d) = 1[d <= d*], given the exit depths."""
    body = case.model.model
    states = [out.iteration_states[0]]
    rope = body.rope(states[0], torch.arange(case.ids.shape[1])[None])
    for depth in range(1, 6):
        x = states[-1]
        for layer in body.core:
            x = layer(x, position_embeddings=rope)
        states.append(torch.where((out.exit_depth >= depth)[..., None], x, states[-1]))
    return states


@pytest.mark.parametrize("policy", ["anira-e", "anira-o", "similarity"])
def test_state_freeze_is_the_passthrough_of_the_paper(policy: str) -> None:
    case = spread_case(small_config(policy))
    out = case.parallel(output_iteration_states=True)
    for state, expected in zip(out.iteration_states, by_hand(case, out), strict=True):
        torch.testing.assert_close(state, expected, rtol=0, atol=1e-12)


def test_passthrough_does_not_freeze_the_keys_of_a_deep_core() -> None:
    """Why a deep core needs freeze = "kv": inner layers of a frozen token go on changing, and others see them."""
    case = spread_case(small_config("anira-e", num_core_layers=2))
    out = case.parallel(output_iteration_states=True)
    assert not torch.allclose(out.iteration_states[-1], by_hand(case, out)[-1], atol=1e-3)


def merged(run: list[bool], fresh: float, before: KeptKeyValues | None, layer_idx: int = 0) -> KeptKeyValues:
    """Let one layer attend in an iteration in which these tokens run, with constant keys, and values 5 larger."""
    kept = KeptKeyValues(torch.tensor([run]), None, before)
    keys = torch.full((1, 2, 3, 4), fresh)
    kept.attend(SimpleNamespace(layer_idx=layer_idx, num_key_value_groups=1), keys, keys, keys + 5, None)
    return kept


def test_kv_freeze_keeps_what_was_computed_last() -> None:
    first = merged([True, True, True], 0.0, None)
    second = merged([True, False, True], 1.0, first)
    keys, values = second.key_values[0]
    assert keys[0, 0, :, 0].tolist() == [1, 0, 1]
    assert values[0, 1, :, 3].tolist() == [6, 5, 6]
    third = merged([False, False, True], 3.0, second)
    assert third.key_values[0][0][0, 0, :, 0].tolist() == [1, 0, 3]
    again = merged([False, False, True], 3.0, second)  # as gradient checkpointing runs it
    assert torch.equal(again.key_values[0][0], third.key_values[0][0])


def test_skipped_iterations_leave_the_state_alone() -> None:
    out = spread_case(small_config("gates")).parallel(output_iteration_states=True)
    changed = torch.stack(
        [(a != b).any(-1) for a, b in zip(out.iteration_states, out.iteration_states[1:], strict=False)]
    )
    assert torch.equal(changed.sum(0), out.executed)
    last = torch.where(changed, torch.arange(1, 6)[:, None, None], 0).amax(0)
    assert torch.equal(last, out.exit_depth)
    assert (out.executed < out.exit_depth).any()
