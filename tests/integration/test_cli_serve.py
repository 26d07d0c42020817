"""`anira serve`, as somebody types it."""

import http.client
import importlib.util
import json
import re
import signal

import pytest
import torch
from tests.released_support import LOOPED
from tests.training_support import Child, train_tiny

from anira import serving
from anira.cli import serve
from anira.config import UserError, how_to_install
from anira.training.checkpoint import latest_checkpoint


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return train_tiny(tmp_path_factory.mktemp("runs"), steps=2)


def test_a_run_and_its_checkpoint_are_the_same_model(run):
    from_run = serve.load_served(str(run))
    from_folder = serve.load_served(str(latest_checkpoint(run)))
    assert from_run.name == f"{run.parent.name}/{run.name}"
    assert from_folder.name == "step-2"
    for one, other in zip(from_run.model.parameters(), from_folder.model.parameters(), strict=True):
        assert torch.equal(one, other)
    text = "+ 1 2 <ans>"
    assert from_run.tokenizer(text)["input_ids"] == from_folder.tokenizer(text)["input_ids"]
    assert not from_run.model.training


def test_files_that_a_checkpoint_does_not_list_are_not_read(run):
    checkpoint = latest_checkpoint(run)
    stray = checkpoint / "special_tokens_map.json"
    stray.write_text("{this is not JSON")
    try:
        assert serve.load_served(str(run)).tokenizer("+ 1 2")["input_ids"]
    finally:
        stray.unlink()


def test_models_of_others_are_refused(tmp_path):
    with pytest.raises(UserError, match=r"nowhere|no folder"):
        serve.load_served(str(tmp_path / "nowhere"))
    with pytest.raises(UserError):
        serve.load_served(str(LOOPED / "ouro"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--max-tokens", "0"], "max_tokens must be at least 1"),
        (["--max-queue", "-1"], "max_queue must be at least 1"),
        (["--timeout", "0"], "timeout must be more than 0"),
        (["--timeout", "nan"], "--timeout must be a finite number"),
        (["--grace", "-1"], "grace must lie between 0"),
        (["--threads", "0"], "--threads must lie between 1"),
        (["--port", "99999"], "port must lie between 0 and 65535"),
        (["--host", "not a host"], "cannot listen at not a host:0"),
        (["--max-slots", "0"], "max_slots must be at least 1"),
        (["--max-slots", "9" * 18], "--max-slots 999999999999999999 takes about"),
        (["--select", "nonsense"], "nonsense"),
    ],
    ids=" ".join,
)
def test_mistakes_are_one_line(anira, run, words, message):
    result = anira("serve", run, "--port", "0", *words)
    assert (result.status, result.out) == (2, "")
    assert message in result.err and result.err.count("\n") == 1


def test_without_the_extra(anira, run, monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "uvicorn" else found(name))
    result = anira("serve", run)
    said = f"anira: serving needs starlette and uvicorn: {how_to_install('serve')}\n"
    assert (result.status, result.err) == (2, said)


@pytest.mark.parametrize(("host", "warns"), [("127.0.0.1", False), ("0.0.0.0", True)])
def test_an_address_that_others_reach_is_warned_of(anira, run, monkeypatch, host, warns):
    served = []
    monkeypatch.setattr(serving, "serve", lambda service, listening, **how: served.append((service, how)))
    result = anira("serve", run, "--port", "0", "--host", host, "--select", "mode", "--max-context", "99")
    assert result.status == 0
    assert ("warning: 0.0.0.0 is not this machine alone" in result.err) == warns
    assert re.search(rf"serving {run.parent.name}/{run.name} at http://{host}:\d+/v1/completions", result.err)
    ((service, how),) = served
    assert (service.select, service.max_context, how["host"]) == ("mode", 99, host)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_in_good_order(run, tmp_path, number):
    child = Child(tmp_path / "child", "serve", run, "--port", "0", "--max-context", "5000", "--threads", "1")
    try:
        child.wait_for_line(child.folder / "stderr")
        (port,) = re.findall(r"http://127.0.0.1:(\d+)/", child.err)
        connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=100)
        body = json.dumps({"prompt": "+ 1 2 <ans>", "max_tokens": 100, "stream": True})
        connection.request("POST", "/v1/completions", body, {"content-type": "application/json"})
        response = connection.getresponse()
        first = response.readline()
        child.send(number)
        rest = response.read().decode()
        connection.close()
        assert child.status(100) == 0
    finally:
        child.kill()
    assert first.startswith(b"data: {") and rest.strip().endswith("data: [DONE]"), "what runs is finished"
    assert child.err.splitlines()[-1] == "stopped" and "Traceback" not in child.err
