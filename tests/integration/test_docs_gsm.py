"""The commands of docs/gsm-symbolic.md: all are understood, and the trial and the page are made."""

import json
import re
import shlex
from pathlib import Path

from tests.gsm_support import SHOTS, save, tiny_anira, write_data

from anira.cli.gsm_symbolic import Options
from anira.cli.lm_eval import translated
from anira.cli.parse import parse
from anira.cli.reproduce import Options as ReproduceOptions
from anira.evaluation.gsm_symbolic import sources
from anira.tasks.gsm_symbolic import make_shot

DOC = Path(__file__).parents[2] / "docs" / "gsm-symbolic.md"
COMMANDS = [shlex.split(line) for line in re.findall(r"^\$ anira (.*)$", DOC.read_text(), re.MULTILINE)]


def of(command):
    return [words[1:] for words in COMMANDS if words[0] == command]


def test_every_command_is_understood():
    assert len(of("gsm-symbolic")) >= 4
    for words in of("gsm-symbolic"):
        assert parse(Options, words, prog="", description="").data == "GSM-Symbolic"
    for words in of("reproduce"):
        assert parse(ReproduceOptions, words, prog="", description="").name == "gsm-symbolic"
    for words in of("lm-eval"):
        assert json.loads(translated(words)[-1]) == {"data": "GSM-Symbolic"}
    assert sum(len(of(name)) for name in ("gsm-symbolic", "reproduce", "lm-eval")) == len(COMMANDS)


def test_the_trial_runs(anira, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sources, "harness_shots", lambda: tuple(make_shot(**one) for one in SHOTS))
    write_data(tmp_path / "GSM-Symbolic")
    save(tiny_anira(), tmp_path / "model")
    (trial,) = [words for words in of("gsm-symbolic") if "--limit" in words]
    result = anira("gsm-symbolic", *trial)
    assert result.status == 0, result.err
    assert (tmp_path / "trial" / "records" / "final" / "evaluation.json").is_file()
