"""A model in parts over two processes (FSDP): the same losses, the same checkpoints."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.integration.test_train_processes import FSDP, GUIDE, PRESET, alone, free_port, processes  # noqa: F401 (a fixture)
from tests.training_support import (
    TINY_WORDS,
    assert_close_runs,
    assert_same_records,
    begin,
    latest_checkpoint,
    resume,
    tiny_config,
)

from anira.training.run import load_run

pytestmark = pytest.mark.slow
# Says how many numbers of the model this process holds.
COUNT = """
import sys
import anira.training.loop as loop
def shard(*words, shard=loop.shard, **options):
    shard(*words, **options)
    print("holds", sum(p.to_local().numel() for p in words[0].parameters()), file=sys.stderr)
loop.shard = shard
"""


def numbers_held(child):
    return int(re.search(r"^holds (\d+)$", child.err, re.MULTILINE)[1])


def test_two_halves_give_the_losses_of_one(tmp_path, alone):  # noqa: F811
    path = begin(tmp_path / "runs", tiny_config(PRESET, precision="float64"))
    both = processes(tmp_path, path, environment=FSDP, first=COUNT)
    assert [child.status() for child in both] == [0, 0], both[0].err + both[1].err
    assert_close_runs(alone, path, tolerance=1e-9)
    assert_same_records(alone / "records", path / "records")
    one, other = latest_checkpoint(alone), latest_checkpoint(path)
    assert {file.name: file.stat().st_size for file in one.iterdir() if file.name != "loop.json"} == {
        file.name: file.stat().st_size for file in other.iterdir() if file.name != "loop.json"
    }
    assert (one / "config.json").read_bytes() == (other / "config.json").read_bytes()
    _, model, step = load_run(path, None)
    assert step == 8
    assert sum(map(numbers_held, both)) == model.num_parameters()
    assert max(map(numbers_held, both)) < 0.6 * model.num_parameters()


def test_killed_halves_are_resumed_by_halves_and_by_one(tmp_path, alone):  # noqa: F811
    path = begin(tmp_path / "runs", tiny_config(PRESET, precision="float64"))
    both = processes(tmp_path / "killed", path, environment=FSDP)
    both[0].wait_for_line(path / "metrics.jsonl")
    while latest_checkpoint(path) is None:
        assert both[0].running(), both[0].err
    for child in both:
        child.kill()
    shutil.copytree(path, tmp_path / "copy")
    both = processes(tmp_path, path, environment=FSDP)
    assert [child.status() for child in both] == [0, 0], both[0].err + both[1].err
    assert_close_runs(alone, path, tolerance=1e-9)
    assert_close_runs(alone, resume(tmp_path / "copy"), tolerance=1e-9)


def test_the_command_of_the_manual(tmp_path, alone):  # noqa: F811
    """`accelerate launch --config_file fsdp.yaml ...`, with the manual's file, on processes without a GPU."""
    (settings,) = re.findall(r"```yaml\n(.*?)```", GUIDE, re.DOTALL)
    (tmp_path / "fsdp.yaml").write_text(re.sub(r"num_processes: \d+", "num_processes: 2", settings))
    words = ["--config_file", tmp_path / "fsdp.yaml", "--main_process_port", free_port(), "-m", "anira.cli"]
    words += ["train", PRESET, *TINY_WORDS, "--precision", "float64", "--compile", "off", "--out", tmp_path]
    done = subprocess.run(
        [sys.executable, "-m", "accelerate.commands.accelerate_cli", "launch", *map(str, words)],
        env={**os.environ, "HF_HOME": str(tmp_path / "home"), "ACCELERATE_USE_CPU": "true"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "8 steps, 2 processes, in " in done.stderr
    assert_close_runs(alone, Path(done.stdout.strip()), tolerance=1e-9)
