"""The training graph compiles in one piece, backwards too, and computes the same."""

from typing import Any

import pytest
import torch
from tests.models_support import noise_for, random_ids, random_model, small_config

CASES = [("anira-e", {}), ("anira-o", {"freeze": "kv", "injection": "add"}), ("similarity", {})]


@pytest.mark.slow
@pytest.mark.parametrize(("policy", "backbone"), CASES)
def test_a_training_step_has_no_graph_break(policy: str, backbone: dict[str, Any]) -> None:
    config = small_config(policy, max_depth=2, num_prelude_layers=0, num_coda_layers=0, **backbone)
    model, ids = random_model(config).float().train(), random_ids(2, 8)
    arguments = {
        "labels": ids,
        "valid_mask": torch.arange(8).expand(2, -1) < torch.tensor([[8], [6]]),
        "num_answer_tokens": torch.tensor(20),
        "num_valid_tokens": torch.tensor(28),
        "gamma_scale": torch.tensor(0.5),
        "noise": noise_for(model, ids) if model.policy.noise_width else None,
    }
    torch.compiler.reset()
    # This backend takes the graphs forwards and backwards as they are: seconds instead of a minute, and no compiler.
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    results = []
    for run in (model, compiled):
        model.zero_grad()
        loss = run(ids, **arguments).loss
        loss.backward()
        results.append([loss, *(parameter.grad.clone() for parameter in model.parameters())])
    torch.testing.assert_close(*results, rtol=0, atol=1e-5)


@pytest.mark.slow
def test_a_compiled_model_takes_masks_and_draws_its_own_noise_without_compiling_again() -> None:
    """As Trainer calls it: an attention mask whose padding differs from call to call, and no noise."""
    model, ids = (
        random_model(small_config("anira-o", max_depth=2, num_prelude_layers=0)).float().train(),
        random_ids(2, 8),
    )
    torch.compiler.reset()
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    seen, losses = torch._dynamo.utils.counters["stats"], []
    for last in (8, 6, 5):
        mask = (torch.arange(8) < torch.tensor([[8], [last]])).long()
        torch.manual_seed(0)
        losses.append(compiled(ids, attention_mask=mask, labels=ids).loss)
        graphs = seen["unique_graphs"] if last == 8 else graphs
        torch.manual_seed(0)
        torch.testing.assert_close(losses[-1], model(ids, attention_mask=mask, labels=ids).loss, rtol=0, atol=1e-5)
    assert seen["unique_graphs"] == graphs
    assert len({loss.item() for loss in losses}) == 3
