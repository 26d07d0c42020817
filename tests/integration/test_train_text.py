"""`anira train` on text: killed, it goes on to the same weights; bad input is one line; a model's folder is adopted."""

import json
import signal
import socket
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from tests.text_support import documents, make_corpus, write_lines, write_parquet
from tests.training_support import TINY_WORDS, Child, assert_close_runs, assert_same_run, metrics, weights

from anira.models import AniraConfig, AniraForCausalLM
from anira.text import load_tokenizer
from anira.training.run import load_run

SHORT = [*TINY_WORDS, "--max-length", "16", "--compile", "off"]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    make_corpus(folder)
    return folder


def train(anira, out, name, *words):
    done = anira("train", name, "--out", out, *words)
    assert done.status == 0, done.err
    return Path(done.out.strip()), done.err


def test_a_killed_run_goes_on_to_the_same_weights(anira, data, tmp_path):
    words = ["retrofit-huginn-smoke", "--data", data, "--packing", "documents", *SHORT]
    whole, said = train(anira, tmp_path / "whole", *words)
    assert "FLOPs" in said and "validation at step 8" in said
    child = Child(tmp_path / "child", "train", *words, "--out", tmp_path / "killed")
    run = tmp_path / "killed" / whole.parent.name / whole.name
    while not (run / "checkpoints" / "step-4").exists():
        assert child.running() or (run / "checkpoints" / "step-8").exists(), child.err
    child.send(signal.SIGKILL)
    child.status()
    done = anira("train", "--resume", run)
    assert done.status == 0, done.err
    assert_same_run(whole, run)
    evaluated = metrics(whole, "eval")
    assert [line["step"] for line in evaluated] == [3, 6, 8]
    assert {"loss", "depth_answer", "tokens"} <= evaluated[0].keys()


@pytest.mark.slow
def test_two_processes_give_the_losses_of_one(anira, data, tmp_path):
    """Each tokenises half of the documents, and they exchange them; an epoch ends on the way."""
    words = ["text-anira-o-smoke", "--data", data, "--precision", "float64", "--held-out", "0.5", *SHORT]
    alone, _ = train(anira, tmp_path / "alone", *words)
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        port = server.getsockname()[1]
    common = {"ACCELERATE_USE_CPU": "true", "WORLD_SIZE": "2", "MASTER_PORT": str(port), "MASTER_ADDR": "127.0.0.1"}
    both = [
        Child(
            tmp_path / str(rank),
            *("train", *words, "--out", tmp_path / "both"),
            environment={**common, "RANK": str(rank), "LOCAL_RANK": str(rank)},
        )
        for rank in (0, 1)
    ]
    assert [child.status() for child in both] == [0, 0], both[0].err + both[1].err
    assert_close_runs(alone, tmp_path / "both" / alone.parent.name / alone.name, tolerance=1e-9)
    assert metrics(alone, "train")[-1]["epoch"] > 0


def test_a_model_folder_gives_shape_tokenizer_and_weights(anira, data, tmp_path):
    shape = {"hidden_size": 16, "intermediate_size": 24, "num_attention_heads": 2, "num_core_layers": 2, "max_depth": 5}
    given = AniraForCausalLM(AniraConfig(vocab_size=300, injection="add", policy="fixed", rms_norm_eps=1e-5, **shape))
    given.save_pretrained(tmp_path / "model")
    load_tokenizer("bytes").save(tmp_path / "model")
    start = ["--data", data, "--tokenizer", "", "--init-from", tmp_path / "model", "--learning-rate", "1e-12"]
    short = ["--steps", "2", "--checkpoint-every", "2", "--eval-every", "9", "--compile", "off"]
    run, _ = train(anira, tmp_path / "runs", "gsm-anira-o-smoke", *start, *short)
    config, model, _ = load_run(run)
    assert (model.config.num_core_layers, model.config.rms_norm_eps, model.config.max_depth) == (2, 1e-5, 3)
    assert (model.config.vocab_size, model.config.eos_token_id) == (300, 257)
    assert config.text.tokenizer == str(tmp_path / "model")
    for name, value in given.state_dict().items():
        torch.testing.assert_close(model.state_dict()[name], value, rtol=0, atol=1e-6)
    (tmp_path / "model" / "model.safetensors").unlink()
    done = anira("train", "gsm-anira-e-smoke", "--out", tmp_path / "runs", *start, *short)
    assert done.status == 2 and "has no weights" in done.err
    AniraConfig(vocab_size=100, **shape).save_pretrained(tmp_path / "model")
    done = anira("train", "gsm-anira-e-smoke", "--out", tmp_path / "runs", *start, *short)
    assert done.status == 2 and "has 259 tokens, and the model's vocab_size is 100" in done.err
    done = anira("train", "gsm-anira-e-smoke", "--data", data, "--init-from", data, "--out", tmp_path / "runs")
    assert done.status == 2 and "is not the folder of a model" in done.err


def test_adapters_alone_are_trained_and_merged_when_loaded(anira, data, tmp_path):
    run, _ = train(anira, tmp_path, "text-anira-o-smoke", "--data", data, "--lora", "2", *SHORT)
    stored = weights(run)
    trained = [name for name in load_file(next(run.glob("checkpoints/step-8/optimizer*"))) if name.endswith("/exp_avg")]
    assert trained and all("lora_" in name or name.startswith("policy.") for name in trained)
    _, model, _ = load_run(run)
    plain = "model.core.0.self_attn.q_proj"
    up, down = stored[f"{plain}.lora_B.default.weight"], stored[f"{plain}.lora_A.default.weight"]
    expected = stored[f"{plain}.base_layer.weight"] + 2 * up @ down
    torch.testing.assert_close(model.state_dict()[f"{plain}.weight"], expected)
    assert up.abs().max() > 0


def test_overlapping_documents_are_left_out_and_counted(anira, tmp_path):
    item = "Ann buys 3 apples and 4 pears and then eats two of all her pears."
    texts = [f"{text} {item}" if i % 10 == 0 else text for i, text in enumerate(documents(50))]
    write_parquet(tmp_path / "data" / "a.parquet", texts)
    write_lines(tmp_path / "test.jsonl", [item], column="question")
    words = ["--data", tmp_path / "data", "--exclude", tmp_path / "test.jsonl", "--held-out", "0.1", *SHORT]
    run, _ = train(anira, tmp_path / "runs", "text-fixed-smoke", *words)
    assert metrics(run, "train")[-1]["left_out_overlapping"] >= 3


def test_bad_input_is_one_line_and_leaves_nothing(anira, data, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    empty = tmp_path / "empty"
    empty.mkdir()
    other = write_parquet(tmp_path / "other" / "a.parquet", ["a"], column="content").parent
    cases = {
        "there is no text to read": [],
        "has no .parquet or .jsonl files": ["--data", empty],
        "has no column 'text', but id, content": ["--data", other],
        "cannot be read from the hub": ["--data", "hub:nobody/nothing"],
        "tokenizer 'nobody/nothing' cannot be read from the hub": ["--data", data, "--tokenizer", "nobody/nothing"],
        "batch_size 6 must be a multiple of accumulation 4": [
            "--data",
            data,
            "--batch-size",
            "6",
            "--accumulation",
            "4",
        ],
    }
    for words, options in cases.items():
        done = anira("train", "text-fixed-smoke", "--out", tmp_path / "runs", *options)
        assert (done.status, done.out) == (2, "") and words in done.err, done.err
        assert done.err.count("\n") == 1 and "Traceback" not in done.err, done.err
    assert not (tmp_path / "runs").exists()
    done = anira("train", "gsm-anira-o", "--data", data, "--tokenizer", "bytes", "--out", tmp_path / "runs")
    assert done.status == 2 and "name its folder" in done.err


def test_commands_for_tasks_say_that_a_run_has_none(anira, data, tmp_path):
    run, _ = train(anira, tmp_path, "text-fixed-smoke", "--data", data, *SHORT, "--steps", "2")
    for words in (("evaluate", run), ("generate", run, "a")):
        done = anira(*words)
        assert done.status == 2 and "is trained on text" in done.err, done.err
    assert json.loads(anira("runs", tmp_path, "--json").out)
