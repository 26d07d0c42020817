"""Loading released models and saving them back: whatever is not as it should be is refused by name."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.released_support import FAMILIES, LOOPED, reference
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import PreTrainedTokenizerFast

from anira.config import UserError
from anira.models import AniraForCausalLM
from anira.models.pretrained import load_released, save_released


@pytest.fixture(params=FAMILIES)
def family(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def copied(family: str, to: Path) -> Path:
    for name in ("config.json", "model.safetensors"):
        shutil.copy(LOOPED / family / name, to / name)
    return to


def edit_config(folder: Path, **changes: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def edit_tensors(folder: Path, **changes: Any) -> None:
    """Change tensors; None takes one away."""
    path = folder / "model.safetensors"
    tensors = {**load_file(path), **changes}
    save_file({name: tensor for name, tensor in tensors.items() if tensor is not None}, path)


def test_round_trips_are_exact(family: str, tmp_path: Path) -> None:
    model = load_released(LOOPED / family)
    save_released(model, tmp_path / "theirs")
    original = {n: t for n, t in load_file(LOOPED / family / "model.safetensors").items() if n != "freqs_cis"}
    saved = load_file(tmp_path / "theirs" / "model.safetensors")
    assert saved.keys() == original.keys()
    assert all(torch.equal(saved[name], original[name]) for name in saved)
    assert json.loads((tmp_path / "theirs" / "config.json").read_text()) == json.loads(
        (LOOPED / family / "config.json").read_text()
    )
    model.save_pretrained(tmp_path / "ours")
    ours = AniraForCausalLM.from_pretrained(tmp_path / "ours")
    again = load_released(tmp_path / "theirs")
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, ours.state_dict()[name]) and torch.equal(tensor, again.state_dict()[name])
    ids = reference(family)["input_ids"]
    assert torch.equal(ours(ids).logits, model(ids).logits)
    assert type(ours) is type(model) is AniraForCausalLM


def test_missing_extra_and_misshapen_tensors_are_named(family: str, tmp_path: Path) -> None:
    folder = copied(family, tmp_path)
    name = sorted(load_file(folder / "model.safetensors"))[1]
    whole = load_file(folder / "model.safetensors")[name]
    edit_tensors(folder, **{name: None})
    with pytest.raises(UserError, match=f"lacks {name}"):
        load_released(folder)
    edit_tensors(folder, **{name: whole[..., :-1].contiguous()})
    with pytest.raises(UserError, match=f"{name} .* has the shape"):
        load_released(folder)
    edit_tensors(folder, **{name: whole, "adapter.stranger": torch.zeros(2)})
    with pytest.raises(UserError, match=r"tensors that such a model does not: adapter\.stranger"):
        load_released(folder)


def test_another_policy(family: str) -> None:
    """A fresh policy starts as its options say; the backbone is the same."""
    own, other = load_released(LOOPED / family), load_released(LOOPED / family, policy={"name": "anira-o", "bias": 2.0})
    ids = reference(family)["input_ids"]
    assert torch.equal(own(ids, exit_depth=3).logits, other(ids, exit_depth=3).logits)
    assert other.policy.decider.out.bias.tolist() == [2.0]
    with pytest.raises(UserError, match="no place for policy 'anira-o'"):
        save_released(other, "nowhere")


def test_options_of_the_own_policy_keep_its_gate() -> None:
    model = load_released(LOOPED / "ouro", policy={"name": "ouro", "threshold": 0.7}, dtype=torch.float64)
    ref = reference("ouro")
    assert model.config.policy["gate"] == "linear"
    assert torch.equal(model(ref["input_ids"], exits="virtual").exit_depth, ref["exit_steps.threshold0.7"] + 1)


def test_a_model_of_ours_has_no_other_layout(tmp_path: Path) -> None:
    from tests.models_support import random_model, small_config

    with pytest.raises(UserError, match="did not come from a released one"):
        save_released(random_model(small_config()), tmp_path)


@pytest.mark.parametrize(
    ("family", "changes", "message"),
    [
        ("ouro", {"model_type": "uoro"}, "none of the released looped models: .*ouro"),
        ("ouro", {"use_sliding_window": True}, "use_sliding_window = True"),
        ("ouro", {"rope_theta": None}, "is not one of ouro: float"),
        ("huginn", {"injection_type": "gate"}, "injection_type = 'gate'"),
        ("huginn", {"rope_base": 10}, "freqs_cis in the file is not what rope_base"),
        ("huginn", {"n_embd": 64}, "has the shape"),
        ("recurrent_llama", {"init_values": {"std": "wide"}}, "init_values"),
    ],
)
def test_odd_configurations(family: str, changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    edit_config(copied(family, tmp_path), **changes)
    with pytest.raises(UserError, match=message):
        load_released(tmp_path)


def tokenizer(size: int) -> PreTrainedTokenizerFast:
    words = {f"w{i}": i for i in range(size - 2)} | {"<bos>": size - 2, "<eos>": size - 1}
    return PreTrainedTokenizerFast(tokenizer_object=Tokenizer(WordLevel(words)), bos_token="<bos>", eos_token="<eos>")


def test_token_ids_are_the_tokenizer_s(tmp_path: Path) -> None:
    """Recurrent-Llama's configuration has Huginn's."""
    folder = copied("recurrent_llama", tmp_path)
    edit_config(folder, bos_token_id=65504, eos_token_id=65505, pad_token_id=65509)
    assert load_released(folder).config.eos_token_id is None  # no such token
    tokenizer(97).save_pretrained(folder)
    config = load_released(folder).config
    assert (config.bos_token_id, config.eos_token_id, config.pad_token_id) == (95, 96, None)


def test_a_tokenizer_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    tokenizer(98).save_pretrained(copied("ouro", tmp_path))
    with pytest.raises(UserError, match="ids up to 97, but the model only 97 embeddings"):
        load_released(tmp_path)


def test_weights_in_parts(tmp_path: Path) -> None:
    folder = copied("ouro", tmp_path)
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names = sorted(tensors)
    files = {name: f"model-0000{1 + (i > 9)}-of-00002.safetensors" for i, name in enumerate(names)}
    for file in set(files.values()):
        save_file({name: tensors[name] for name in names if files[name] == file}, folder / file)
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {}, "weight_map": files}))
    ids = reference("ouro")["input_ids"]
    assert torch.equal(load_released(folder)(ids).logits, load_released(LOOPED / "ouro")(ids).logits)
    index.write_text(json.dumps({"weight_map": {**files, "x": "../model.safetensors"}}))
    with pytest.raises(UserError, match="not a file beside it"):
        load_released(folder)


def test_places_without_a_model(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no folder"):
        load_released(tmp_path / "nothing")
    with pytest.raises(UserError, match=r"has no config\.json"):
        load_released(tmp_path)
    (tmp_path / "config.json").write_text("[]")
    with pytest.raises(UserError, match="is not a table"):
        load_released(tmp_path)
    copied("ouro", tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"\x00" * 100)
    with pytest.raises(UserError, match="is damaged"):
        load_released(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(UserError, match=r"has no model\.safetensors"):
        load_released(tmp_path)


def test_the_hub_out_of_reach_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(UserError, match="the hub cannot be reached"):
        load_released("nobody/no-such-model")
