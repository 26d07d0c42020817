"""freeze = "first": all iterations share the keys and values of the first, in every execution, and keep one slot."""

import pytest
import torch
from tests.models_support import random_ids, random_model, small_config
from torch.nn.functional import scaled_dot_product_attention
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

from anira.config import UserError
from anira.models import AniraConfig, AniraForCausalLM
from anira.models.policies import policy_class
from anira.testing import check_policy
from anira.testing import policies as kit

POLICIES = [("anira-o", {}), ("mor-expert", {"keys": "all"})]


@pytest.mark.parametrize(("name", "options"), POLICIES, ids=str)
def test_all_executions_agree(monkeypatch, name, options):
    monkeypatch.setattr(kit, "SEEDS", (0,))
    monkeypatch.setattr(kit, "BACKBONES", ({"freeze": "first"}, {"freeze": "first", "num_core_layers": 2}))
    monkeypatch.setattr(kit, "compiles", lambda model: "")
    report = check_policy(policy_class(name), options)
    assert report.ok, str(report)


def heads(x, projection, count):
    return projection(x).unflatten(-1, (count, -1)).transpose(1, 2)


@torch.no_grad()
def test_a_core_written_out():
    """Two iterations of one layer, by hand: the second one's queries over the first one's keys and values."""
    config = small_config("fixed", freeze="first", max_depth=2, num_prelude_layers=0, num_coda_layers=0)
    model, ids = random_model(config), random_ids(2, 7)
    layer, count = model.model.core[0], config.num_attention_heads
    h = model.model.embed_tokens(ids)
    cos, sin = model.model.rope(h, torch.arange(7)[None])
    first = None
    for _ in range(2):
        x, attention = layer.input_layernorm(h), layer.self_attn
        q, k, v = (heads(x, getattr(attention, f"{name}_proj"), count) for name in "qkv")
        q, k = apply_rotary_pos_emb(q, k, cos, sin)
        first = first or (k, v)
        out = scaled_dot_product_attention(q, *first, is_causal=True).transpose(1, 2).flatten(-2)
        h = h + attention.o_proj(out)
        h = h + layer.mlp(layer.post_attention_layernorm(h))
    torch.testing.assert_close(model(ids).logits, model.lm_head(model.model.norm(h)), rtol=0, atol=1e-12)


@torch.no_grad()
def test_a_token_keeps_one_slot_however_deep_it_goes():
    model, ids = random_model(small_config("anira-o", freeze="first", max_depth=4)), random_ids(2, 7)
    output = model(ids, use_cache=True)
    assert output.executed.max() > 1
    assert output.past_key_values.num_slots == ids.numel()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"policy": "mixture-of-depths"}, "runs the first iteration of every token, not 'mixture-of-depths'"),
        ({"policy": "fixed", "shared_core": False}, "needs a shared core"),
    ],
)
def test_what_has_no_first_keys_is_refused(changes, message):
    with pytest.raises(UserError, match=message):
        AniraConfig(freeze="first", **changes)


def test_hidden_tokens_and_shared_keys_do_not_go_together():
    with pytest.raises(UserError, match="set the policy's keys to 'all'"):
        AniraForCausalLM(AniraConfig(freeze="first", policy="mor-token"))
