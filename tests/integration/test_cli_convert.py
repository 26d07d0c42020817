"""`anira convert` and `anira retrofit`: a folder that loads, or one clear line and nothing left behind."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from tests.released_support import FAMILIES, LOOPED, reference
from transformers import LlamaConfig, LlamaForCausalLM

from anira.cli import main
from anira.models import AniraForCausalLM


@pytest.fixture
def llama(tmp_path: Path) -> Path:
    sizes = {"hidden_size": 16, "intermediate_size": 24, "num_attention_heads": 2, "num_hidden_layers": 4}
    LlamaForCausalLM(LlamaConfig(vocab_size=50, **sizes)).save_pretrained(tmp_path / "llama")
    return tmp_path / "llama"


@pytest.mark.parametrize("family", FAMILIES)
def test_there_and_back(family: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    assert main(["convert", str(LOOPED / family), "--out", str(ours)]) == 0
    assert "parameters" in capsys.readouterr().out
    ids = reference(family)["input_ids"]
    assert AniraForCausalLM.from_pretrained(ours)(ids).logits.shape == (2, 9, 97)
    assert main(["convert", str(ours), "--back", "--out", str(theirs)]) == 0
    before, after = load_file(LOOPED / family / "model.safetensors"), load_file(theirs / "model.safetensors")
    assert all(torch.equal(after[name], before[name]) for name in after) and before.keys() - after.keys() <= {
        "freqs_cis"
    }
    assert not (theirs / "README.md").exists()  # our model card says nothing true about it


def test_retrofit(llama: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "cut"
    (llama / "tokenizer_config.json").write_text("{}")
    words = ["retrofit", str(llama), "--core", "2:3", "--prelude", "0:1", "--max-depth", "3", "--out", str(out)]
    assert main(words) == 0
    assert "left out: layers 1" in capsys.readouterr().out
    model = AniraForCausalLM.from_pretrained(out)
    assert (model.config.policy["name"], model.config.max_depth, model.config.num_coda_layers) == ("anira-o", 3, 1)
    assert (out / "tokenizer_config.json").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["convert", "llama", "--out", "new"], "none of the released looped models"),
        (["convert", "nowhere", "--out", "new"], "there is no folder 'nowhere'"),
        (["convert", "llama", "--out", "llama"], "exists already"),
        (["convert", "llama", "--back", "--out", "new"], "is not a model of this package"),
        (["convert", "ouro", "--policy", "nothing", "--out", "new"], "unknown policy"),
        (["convert", "ouro", "--policy", "confidence", "--dtype", "float32", "--back", "--out", "new"], "leave out"),
        (["retrofit", "llama", "--core", "1-3", "--out", "new"], "--core takes layers as FIRST:STOP"),
        (["retrofit", "llama", "--core", "2:9", "--out", "new"], "layers 0 to 3, not 8"),
        (["retrofit", "ouro", "--core", "0:1", "--out", "new"], "cannot be cut"),
        (["retrofit", "llama", "--core", "1:2", "--max-depth", "0", "--out", "new"], "max_depth must be at least 1"),
    ],
)
def test_bad_input(
    words: list[str], message: str, llama: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(llama.parent)
    shutil.copytree(LOOPED / "ouro", "ouro")
    before = sorted(Path().rglob("*"))
    assert main(words) == 2
    error = capsys.readouterr().err.strip().splitlines()
    assert message in error[-1]
    assert sorted(Path().rglob("*")) == before


def test_damaged_json_is_one_line(llama: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = json.loads((llama / "config.json").read_text())
    (llama / "config.json").write_text(json.dumps({**config, "hidden_size": "wide"}))
    assert main(["retrofit", str(llama), "--core", "1:2", "--out", str(tmp_path / "new")]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
