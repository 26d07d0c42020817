"""The examples of the page about serving, against a server that runs the model it names."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.serving_support import running

from anira.cli.serve import load_served
from anira.serving import Limits, Service

ROOT = Path(__file__).parents[2]
SECTION = (ROOT / "docs/serving.md").read_text().partition("## A server")[2]


def blocks(kind):
    return re.findall(rf"^```{kind}\n(.*?)^```", SECTION, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def port():
    (source,) = re.findall(r"^anira serve (\S+)$", SECTION, re.MULTILINE)
    model, tokenizer, name = load_served(str(ROOT / source))
    with running(Service(model, tokenizer, name=name, limits=Limits())) as (_, port):
        yield port


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_curl(port):
    (command,), (printed,) = blocks("bash"), blocks("json")
    done = subprocess.run(command.replace("8000", str(port)), shell=True, capture_output=True, text=True, check=True)
    answer, shown = json.loads(done.stdout), json.loads(printed)
    assert answer.keys() == shown.keys()
    for name in ("object", "model", "choices", "usage"):
        assert answer[name] == shown[name]


def test_python(port, capsys):
    (program,) = blocks("python")
    exec(compile(program.replace("8000", str(port)), "docs/serving.md", "exec"), {})
    (printed,) = blocks("text")
    assert capsys.readouterr().out == printed
