"""`anira explore`, as somebody types it."""

import re
import signal
import socket
import sys
from urllib.request import urlopen

import pytest
from tests.explore_support import QUESTION, mano_run
from tests.training_support import Child


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return mano_run(tmp_path_factory.mktemp("run"))


def test_a_state_is_exported_without_a_server(anira, run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "starlette", None)
    page = tmp_path / "state.html"
    result = anira("explore", run, "--question", QUESTION, "--export", page)
    assert result == (0, f"{page}\n", "")
    text = page.read_text(encoding="utf-8")
    assert f'"question": "{QUESTION}"' in text
    assert '"live": false' in text
    assert anira("explore", run, "--export", page).status == 0  # a row of the eval stream
    assert '"row": {"subtask": ""' in page.read_text(encoding="utf-8")


def test_without_the_extra_there_is_one_clear_line(anira, run, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    result = anira("explore", run)
    assert (result.status, result.out) == (2, "")
    assert result.err.startswith("anira: anira explore needs starlette and uvicorn (--export works without): pip")
    assert result.err.count("\n") == 1


MISTAKES = {
    "no run": ("", "name at least one run folder"),
    "not a run": ("nowhere --port 0", "nowhere is not a run"),
    "four runs": ("{run} {run} {run} {run}", "one to 3 runs"),
    "not a page": ("{run} --export state.txt", "must end with .html"),
    "a port for a file": ("{run} --export state.html --port 1", "leave out --port"),
    "no checkpoint": ("{run} --step 9", "has no checkpoint of step 9"),
    "unreadable": ("{run} --question n01", "unknown token 'n01'"),
    "no port": ("{run} --port 99999", "port 99999 cannot be used"),
}


@pytest.mark.parametrize(("text", "expected"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_one_line(anira, run, text, expected):
    status, out, err = anira("explore", *text.format(run=run).split())
    assert (status, out) == (2, "")
    assert expected in err
    assert err.count("\n") == 1, err


def test_a_port_that_is_taken_is_named(anira, run):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        result = anira("explore", run, "--port", port)
    assert result == (2, "", f"anira: port {port} is taken: give another --port, or --port 0 for any that is free\n")


def test_it_listens_on_loopback_alone_and_an_interrupt_ends_it(run, tmp_path):
    child = Child(tmp_path, "explore", run, "--port", 0)
    try:
        child.wait_for_line(tmp_path / "stderr")
        address = child.out.strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", address)
        with urlopen(address) as answer:
            assert b"what every token does" in answer.read()
        child.send(signal.SIGINT)
        assert child.status(60) == 0
        assert child.err.splitlines()[-1] == "stopped"
        assert "Traceback" not in child.err
    finally:
        child.kill()
