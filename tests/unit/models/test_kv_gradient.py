"""freeze = "kv": the gradient of a decision goes through the core's keys and values, too."""

import pytest
import torch
from tests.models_support import MAX_DEPTH, random_ids, random_model, small_config
from torch import Tensor

from anira.models.backbone import Backbone
from anira.models.execution import run_parallel
from anira.models.policies import Context, Route
from anira.models.policies.fixed import Fixed, FixedState

IDS = random_ids(2, 7)


class Weighted(Fixed):
    """Given activities, one leaf per iteration and token, whose gradient can be looked at."""

    def __init__(self, exit_depth: Tensor, weights: Tensor) -> None:
        torch.nn.Module.__init__(self)
        self.exit_depth, self.weights = exit_depth, weights

    def begin(self, h0: Tensor, ctx: Context) -> FixedState:
        return FixedState(self.exit_depth)

    def route(self, depth: int, h: Tensor, state: FixedState) -> Route:
        return Route(state.exit_depth >= depth, None if depth == 1 else self.weights[depth - 1])


def last_state(body: Backbone, policy: Weighted) -> Tensor:
    """Return a number that depends on the last token's last state only."""
    x = body.embed_tokens(IDS)
    positions = torch.arange(IDS.shape[1])[None].expand_as(IDS)
    context = Context(
        valid=torch.ones_like(IDS, dtype=torch.bool), positions=positions, rows=positions, max_depth=MAX_DEPTH
    )
    core = run_parallel(body, policy, x, context, None, body.rope(x, positions))
    return core.h[:, -1].sin().sum()


@pytest.mark.parametrize("layers", [1, 2])
def test_activities_of_earlier_tokens_have_the_gradient_of_the_relaxed_graph(layers: int) -> None:
    """Finite differences of the graph in which activities are real numbers, at the zeros and ones of the sample."""
    body = random_model(small_config("fixed", freeze="kv", num_core_layers=layers)).model
    depths = torch.randint(1, MAX_DEPTH + 1, IDS.shape, generator=torch.Generator().manual_seed(1))
    depths[:, -1] = MAX_DEPTH
    hard = (depths >= torch.arange(1, MAX_DEPTH + 1)[:, None, None]).double()
    weights = hard.clone().requires_grad_()
    last_state(body, Weighted(depths, weights)).backward()
    early = depths[0, 0] + 1
    for place in [(1, 0, 2), (2, 0, 0), (int(early) - 1, 0, 0), (MAX_DEPTH - 1, 1, 3), (3, 1, 5)]:
        values = []
        for nudge in (1e-5, -1e-5):
            moved = hard.clone()
            moved[place] += nudge
            values.append(last_state(body, Weighted(depths, moved)).item())
        slope = (values[0] - values[1]) / 2e-5
        assert weights.grad[place].item() == pytest.approx(slope, rel=1e-4, abs=1e-8)
    assert (weights.grad[1:, :, :-1] != 0).any()


@pytest.mark.parametrize(("freeze", "layers"), [("state", 1), ("kv", 1), ("kv", 2)])
@pytest.mark.parametrize("depth", [1, 2])
def test_tokens_that_others_only_read_are_told_what_more_depth_is_worth(freeze: str, layers: int, depth: int) -> None:
    """Without a coda, question tokens reach the answer through the core's keys and values alone.

    Choosing those by a mere `where` would leave them a gradient of exactly 0.
    """
    body = random_model(small_config("fixed", freeze=freeze, num_core_layers=layers)).model
    depths = torch.full_like(IDS, depth)
    depths[:, -1] = MAX_DEPTH
    hard = (depths >= torch.arange(1, MAX_DEPTH + 1)[:, None, None]).double()
    weights = hard.requires_grad_()
    last_state(body, Weighted(depths, weights)).backward()
    # What the first iteration beyond the exit would change is seen from the next iteration on under "state" (which
    # reads states), at once under "kv" (which reads that iteration's own keys and values).
    next_one = weights.grad[depth, :, :-1]
    assert (next_one.abs() > 1e-6).all()
