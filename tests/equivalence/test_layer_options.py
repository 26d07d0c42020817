"""Norms, biases and scales of the released families: every way to run the model agrees, whichever are combined."""

from typing import Any

import pytest
import torch
from tests.models_support import TOLERANCE, random_ids, random_model, small_config
from torch import Tensor

from anira.models import AniraForCausalLM

OPTIONS: dict[str, dict[str, Any]] = {
    "branch-fed-back": {"block_norm": "branch", "core_norm": "fed-back", "num_prelude_layers": 0, "num_coda_layers": 0},
    "sum-coda": {"block_norm": "sum", "core_norm": "coda", "attention_bias": "qk", "embedding_scale": 4.0},
    "fed-back-with-coda": {"core_norm": "fed-back", "injection": "concat-linear", "initial_state": "random"},
    "qk-norm": {"qk_norm": True, "attention_bias": "qkv", "rms_norm": "stock", "head_dim": 12},
}


def varied_model(ids: Tensor, **options: Any) -> AniraForCausalLM:
    """Return a model with tokens of several depths, and norms and biases that could not be left out unnoticed."""
    for seed in range(9):
        model = random_model(small_config("anira-o", **options), seed)
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for parameter in model.model.parameters():
                if parameter.dim() == 1:
                    parameter.normal_(1.0, 0.3, generator=generator)
            if len(model(ids).exit_depth.unique()) > 1:
                return model
    raise AssertionError("no seed has tokens of different depth")


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("num_core_layers", [1, 2])
def test_all_executions_agree(name: str, num_core_layers: int) -> None:
    ids = random_ids(3, 8)
    model = varied_model(ids, num_core_layers=num_core_layers, **OPTIONS[name])
    with torch.no_grad():
        whole = model(ids)
        active = model(ids, active=True)
        lengths = torch.tensor([8, 8, 8])
        packed = model(ids.reshape(1, -1), lengths=lengths, max_length=8)
        past, parts = None, []
        for start, stop in ((0, 3), (3, 4), (4, 8)):
            out = model(ids[:, start:stop], past_key_values=past, use_cache=True)
            past = out.past_key_values
            parts.append(out.logits)
    for logits in (active.logits, packed.logits.view_as(whole.logits), torch.cat(parts, 1)):
        torch.testing.assert_close(logits, whole.logits, rtol=0, atol=TOLERANCE)
    assert torch.equal(active.exit_depth, whole.exit_depth)


def test_kept_positions_of_a_packed_row_read_the_same_coda() -> None:
    model = random_model(small_config("anira-o", num_core_layers=2, **OPTIONS["sum-coda"]))
    ids, kept = random_ids(1, 9), torch.tensor([2, 3, 8])
    with torch.no_grad():
        whole = model(ids, lengths=torch.tensor([4, 5]), max_length=5).logits[:, kept]
        part = model(ids, lengths=torch.tensor([4, 5]), max_length=5, logits_to_keep=kept).logits
    torch.testing.assert_close(part, whole, rtol=0, atol=TOLERANCE)
