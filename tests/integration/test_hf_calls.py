"""What a stock model answers to a call, ours answers too, or refuses by name."""

import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.models_support import Case, assert_same, random_ids, random_model, small_config, spread_case
from transformers import AutoModelForCausalLM, AutoTokenizer, pipeline
from transformers.utils import logging as hf_logging

from anira.config import UserError
from anira.models import AniraConfig, AniraForCausalLM, DepthCache
from anira.tasks import make_task
from anira.training.tokenizer import save_tokenizer

hf_logging.disable_progress_bar()
IDS = random_ids(2, 9)
POLICIES = ["anira-e", "anira-o", "fixed", "gates"]


@pytest.mark.parametrize("use_cache", [False, True])
@pytest.mark.parametrize("policy", POLICIES)
def test_embeddings_stand_for_tokens(policy: str, use_cache: bool) -> None:
    model = random_model(small_config(policy))
    embedded = model.get_input_embeddings()(IDS)
    one, other = (model(**given, use_cache=use_cache) for given in ({"input_ids": IDS}, {"inputs_embeds": embedded}))
    assert_same(one, other)
    given = {"max_new_tokens": 5, "do_sample": False}
    text = model.generate(IDS, **given)[:, 9:]
    assert torch.equal(model.generate(inputs_embeds=embedded, **given), text)


@pytest.mark.parametrize("use_cache", [False, True])
def test_hidden_states_are_prelude_iterations_and_what_the_head_reads(use_cache: bool) -> None:
    case = spread_case(small_config("anira-e"))
    model = case.model
    out = case.parallel(output_hidden_states=True, output_iteration_states=True, use_cache=use_cache)
    assert len(out.hidden_states) == 1 + model.config.max_depth + 1
    assert torch.equal(out.hidden_states[0], out.iteration_states[0])  # this model starts from the prelude's output
    torch.testing.assert_close(out.hidden_states[1:-1], out.iteration_states[1:])
    torch.testing.assert_close(model.lm_head(out.hidden_states[-1]), out.logits)
    model.config.output_hidden_states = True
    assert case.parallel(use_cache=use_cache).hidden_states is not None


def test_generate_hands_out_hidden_states() -> None:
    model = random_model(small_config("anira-o"))
    out = model.generate(IDS, max_new_tokens=3, return_dict_in_generate=True, output_hidden_states=True)
    assert len(out.hidden_states) == 3
    assert len(out.hidden_states[0]) == 2 + model.config.max_depth


@pytest.mark.parametrize("use_cache", [False, True])
def test_logits_of_chosen_positions(use_cache: bool) -> None:
    model, chosen = random_model(small_config("anira-o")), torch.tensor([6, 2])
    kept = model(IDS, logits_to_keep=chosen, use_cache=use_cache).logits
    torch.testing.assert_close(kept, model(IDS).logits[:, chosen], rtol=0, atol=1e-9)


def test_tuples_begin_as_those_of_stock_models() -> None:
    model = random_model(small_config("anira-e"))
    out = model(IDS, labels=IDS)
    loss, logits, *_ = model(IDS, labels=IDS, return_dict=False)
    assert torch.equal(loss, out.loss) and torch.equal(logits, out.logits)
    logits, cache, *_ = model(IDS, use_cache=True, return_dict=False)
    torch.testing.assert_close(logits, out.logits, rtol=0, atol=1e-9)
    assert isinstance(cache, DepthCache)


@pytest.mark.parametrize("name", ["eager", "flash_attention_2", "flex_attention", {"": "eager"}])
def test_other_implementations_of_attention_are_refused_wherever_they_are_named(name: Any, tmp_path: Path) -> None:
    model = random_model(small_config("anira-e"))
    before = model(IDS).logits
    with pytest.raises(UserError, match="attn_implementation='sdpa' only"):
        model.set_attn_implementation(name)
    model.set_attn_implementation("sdpa")
    if name == "eager":
        with pytest.raises(UserError, match="attn_implementation='sdpa' only, not 'eager'"):
            AniraForCausalLM._from_config(small_config("anira-e"), attn_implementation=name)
        model.config._attn_implementation = name  # no method of ours is asked; layers have a configuration of their own
        assert torch.equal(model(IDS).logits, before)


def test_continuous_batching_is_refused() -> None:
    model = random_model(small_config("anira-e"))
    for call in (model.generate_batch, model.init_continuous_batching, model.continuous_batching_context_manager):
        with pytest.raises(UserError, match="continuous batching of transformers is not supported"):
            call([[1, 2]])


@pytest.mark.parametrize("policy", POLICIES)
def test_a_given_past_is_used_whatever_use_cache_says(policy: str) -> None:
    model = random_model(small_config(policy))
    whole = model(IDS).logits
    cache = model(IDS[:, :5], use_cache=True).past_key_values
    rest = model(IDS[:, 5:], past_key_values=cache, use_cache=False).logits
    torch.testing.assert_close(rest, whole[:, 5:], rtol=0, atol=1e-9)


@pytest.mark.parametrize("policy", POLICIES)
def test_prompts_padded_on_the_right_give_the_same_text_with_and_without_a_cache(policy: str) -> None:
    model, mask = random_model(small_config(policy)), torch.ones_like(IDS)
    mask[0, 6:] = 0
    texts = [
        model.generate(IDS, attention_mask=mask, max_new_tokens=6, do_sample=False, use_cache=use)
        for use in (True, False)
    ]
    assert torch.equal(*texts)


@pytest.mark.parametrize("policy", ["anira-e", "anira-o", "gates"])
@pytest.mark.parametrize("cached", [False, True])
def test_padding_has_depth_zero(policy: str, cached: bool) -> None:
    case = spread_case(small_config(policy), padded=True)
    out = case.parallel(use_cache=cached, output_exit_probs=True)
    for values in (out.exit_depth, out.executed, out.expected_depth):
        assert values is None or (values[~case.valid] == 0).all()
    known = case.model(case.ids, valid_mask=case.valid)
    assert (known.exit_depth[~case.valid] == 0).all()


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("place", ["prelude", "core", "coda"])
def test_a_call_that_fails_can_be_repeated_with_the_same_cache(policy: str, place: str) -> None:
    model = random_model(small_config(policy, num_prelude_layers=1))
    expected = Case(model, IDS).cached([4, 5])
    cache = model(IDS[:, :4], use_cache=True).past_key_values
    calls = []

    def fail(module: Any, args: Any, output: Any) -> None:
        calls.append(1)
        if len(calls) == (2 if place == "core" and policy != "gates" else 1):
            raise KeyboardInterrupt

    hook = getattr(model.model, place)[0].register_forward_hook(fail)
    with pytest.raises(KeyboardInterrupt):
        model(IDS[:, 4:], past_key_values=cache, max_depth=5)
    hook.remove()
    assert cache.get_seq_length() == 4
    again = model(IDS[:, 4:], past_key_values=cache)
    torch.testing.assert_close(again.logits, expected.logits[:, 4:], rtol=0, atol=1e-12)
    assert cache.num_slots == expected.past_key_values.num_slots


@pytest.mark.parametrize("policy", POLICIES)
def test_a_cache_outlives_inference_mode(policy: str) -> None:
    model = random_model(small_config(policy))
    whole = model(IDS).logits
    with torch.inference_mode():
        cache = model(IDS[:, :4], use_cache=True).past_key_values
        cache.crop(-1)
    middle = model(IDS[:, 3:5], past_key_values=cache).logits
    with torch.inference_mode():
        last = model(IDS[:, 5:], past_key_values=cache).logits
    torch.testing.assert_close(torch.cat([middle, last], dim=1), whole[:, 3:], rtol=0, atol=1e-9)


def test_impossible_input_is_named() -> None:
    model = random_model(small_config("anira-e"))
    with pytest.raises(UserError, match=r"no token in a batch of shape \(0, 3\)"):
        model(torch.zeros(0, 3, dtype=torch.long))
    with pytest.raises(UserError, match=r"no token in a batch of shape \(2, 0\)"):
        model(torch.zeros(2, 0, dtype=torch.long))
    for wrong in (-1, 20):
        with pytest.raises(UserError, match=f"input_ids must lie between 0 and 19, not between {wrong} and {wrong}"):
            model(torch.full((1, 3), wrong))


@pytest.mark.parametrize("arguments", [{}, {"use_cache": True}, {"select": "mean"}])
@pytest.mark.parametrize("policy", ["anira-e", "anira-o"])
def test_weights_that_are_no_numbers_have_no_depth(policy: str, arguments: dict[str, Any]) -> None:
    model = random_model(small_config(policy))
    model.model.core[0].mlp.up_proj.weight.data[3, 5] = torch.nan
    model.policy.decider.out.bias.data[0] = torch.nan
    with pytest.raises(UserError, match="decider's output is not a number: the model's weights hold NaN"):
        model(IDS, **arguments)


def test_a_saved_model_says_how_to_load_it(tmp_path: Path) -> None:
    """A process that imports nothing of ours does not know the model; the card has the line that it lacks."""
    random_model(small_config("anira-o")).save_pretrained(tmp_path)
    card = (tmp_path / "README.md").read_text()
    (code,) = card.split("```python\n")[1:]
    code = code.split("```")[0].replace("THIS FOLDER", str(tmp_path))
    words = [sys.executable, "-c", code + "print(type(model).__name__)"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "AniraForCausalLM", done.stderr
    (tmp_path / "README.md").write_text("mine")
    random_model(small_config("anira-o")).save_pretrained(tmp_path)
    assert (tmp_path / "README.md").read_text() == "mine"


def test_a_folder_with_its_own_code_loads_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AniraForCausalLM, "_auto_class", "AutoModelForCausalLM")
    monkeypatch.setattr(AniraConfig, "_auto_class", "AutoConfig")
    model = random_model(small_config("anira-o"))
    model.save_pretrained(tmp_path)
    assert (tmp_path / "modeling.py").exists()
    assert "auto_map" in json.loads((tmp_path / "config.json").read_text())
    for loaded in (AniraForCausalLM.from_pretrained(tmp_path), AutoModelForCausalLM.from_pretrained(tmp_path)):
        assert torch.equal(loaded(IDS).logits, model(IDS).logits)


def test_a_text_generation_pipeline_pads_on_the_left(tmp_path: Path) -> None:
    """Batched and alone: the rows of a padded batch continue as they would by themselves."""
    task = make_task("mano")
    model = random_model(small_config("anira-o", vocab_size=len(task.vocab.tokens))).float()
    model.save_pretrained(tmp_path)
    save_tokenizer(tmp_path, task.vocab)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    assert tokenizer.padding_side == "left"
    writer = pipeline("text-generation", model=AutoModelForCausalLM.from_pretrained(tmp_path), tokenizer=tokenizer)
    questions = ["+ 1 3 <ans>", "+ + 2 5 3 <ans>"]
    options = {"max_new_tokens": 3, "do_sample": False}
    together = writer(questions, batch_size=2, **options)
    alone = [writer(question, **options) for question in questions]
    assert together == alone


def test_the_parameters_of_forward_are_named() -> None:
    """Trainer keeps the columns of a data set, and generate the arguments, that forward has by name."""
    names = inspect.signature(AniraForCausalLM.forward).parameters
    assert {"noise", "valid_mask", "exit_depth", "select", "threshold", "max_depth", "num_items_in_batch"} <= set(names)
    assert not any(parameter.kind is parameter.VAR_KEYWORD for parameter in names.values())
