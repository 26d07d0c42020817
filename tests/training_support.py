"""Small training runs, in this process or in a child that can be stopped, and what makes two of them equal."""

import dataclasses
import json
import math
import multiprocessing
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import torch
from safetensors.torch import load_file

from anira.models import AniraForCausalLM
from anira.training import RunFolder, TrainConfig, train
from anira.training.checkpoint import latest_checkpoint
from anira.training.presets import preset

torch.set_num_threads(1)  # the models are so small that a second thread costs more than it brings

TINY_MODEL = {"hidden_size": 16, "intermediate_size": 24, "num_attention_heads": 2, "max_depth": 3}
TINY_RUN = {
    "steps": 8,
    "batch_size": 8,
    "warmup_steps": 3,
    "log_every": 2,
    "eval_every": 3,
    "eval_count": 4,
    "final_count": 6,
    "checkpoint_every": 2,
    "threads": 1,
}
TINY_WORDS = [word for name, value in TINY_RUN.items() for word in (f"--{name.replace('_', '-')}", str(value))] + [
    word for name, value in TINY_MODEL.items() for word in (f"--model.{name.replace('_', '-')}", str(value))
]
"""The same on the command line."""
TIMING = ("seconds", "tokens_per_second", "data_share")


def tiny_config(name: str = "mano-anira-o-smoke", model: dict[str, Any] | None = None, **changes: Any) -> TrainConfig:
    """Return a run of a preset that takes about a second."""
    config = preset(name)
    sizes = {**config.model, **TINY_MODEL, **(model or {})}
    return dataclasses.replace(config, **{**TINY_RUN, **changes}, model=sizes).resolved()


def begin(root: Path, config: TrainConfig) -> Path:
    """Make a run's folder, without a single step; it can then be resumed."""
    with RunFolder.for_config(root, config) as folder:
        folder.write_config(config)
    return folder.path


def resume(path: Path, trackers: Sequence[Any] = ()) -> Path:
    """Train in this process from where a run stands to its end."""
    with RunFolder(path) as folder:
        train(folder.read_config(), path, resume=True, report=lambda line: None, trackers=list(trackers))
    return path


def train_tiny(root: Path, name: str = "mano-anira-o-smoke", **changes: Any) -> Path:
    """Train a run in this process and return its folder."""
    return resume(begin(root, tiny_config(name, **changes)))


def spoil_losses(monkeypatch: pytest.MonkeyPatch, calls: Sequence[int]) -> None:
    """Make the loss of chosen training calls of a model, counted from 1, infinite; so its gradient is no number."""
    times, forward = 0, AniraForCausalLM.forward

    def spoiled(model: AniraForCausalLM, *words: Any, **options: Any) -> Any:
        nonlocal times
        output = forward(model, *words, **options)
        times += model.training
        if model.training and times in calls:
            output.losses["ce"] = output.losses["ce"] * math.inf
            output.loss = sum(output.losses.values())
        return output

    monkeypatch.setattr(AniraForCausalLM, "forward", spoiled)


def metrics(path: Path, kind: str | None = None) -> list[dict[str, Any]]:
    """Return the lines of metrics.jsonl without timing: all but the last, a check-sum, or those of one kind."""
    lines = [json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()]
    return [
        {key: value for key, value in line.items() if key not in TIMING}
        for line in lines
        if (line["kind"] == kind if kind else line["kind"] != "end")
    ]


def weights(path: Path) -> dict[str, torch.Tensor]:
    """Return the weights of a run's last checkpoint."""
    checkpoint = latest_checkpoint(path)
    assert checkpoint is not None
    return load_file(checkpoint / "model.safetensors")


def assert_same_run(one: Path, other: Path) -> None:
    """Hold two finished runs equal: weights and optimizer byte by byte, metrics but for timing, and all records."""
    assert metrics(one) == metrics(other)
    first, second = latest_checkpoint(one), latest_checkpoint(other)
    assert first is not None and second is not None
    assert first.name == second.name
    for name in ("model.safetensors", "optimizer.safetensors", "config.json", "tokenizer.json"):
        assert (first / name).read_bytes() == (second / name).read_bytes(), name
    assert_same_records(one / "records", other / "records")


def assert_close_runs(one: Path, other: Path, tolerance: float) -> None:
    """Hold two finished runs equal up to rounding: all figures and all weights."""
    for line, expected in zip(metrics(one), metrics(other), strict=True):
        assert line.pop("kind") == expected.pop("kind")
        assert line == pytest.approx(expected, rel=tolerance)
    theirs = weights(other)
    for name, value in weights(one).items():
        torch.testing.assert_close(value, theirs[name], rtol=tolerance, atol=tolerance)


def assert_same_records(one: Path, other: Path) -> None:
    """Hold two folders of records equal: the same files with the same tables."""
    files = sorted(file.relative_to(one) for file in one.rglob("*.*"))
    assert files == sorted(file.relative_to(other) for file in other.rglob("*.*"))
    for file in files:
        if file.suffix == ".parquet":
            assert pl.read_parquet(one / file).equals(pl.read_parquet(other / file)), file
        else:
            assert (one / file).read_text() == (other / file).read_text()


# A server that has loaded everything forks the children: the seconds that imports take are paid once.
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["anira.training", "anira.cli.train", "anira.cli.train_progress", "anira.cli.sweep"])
_PROGRAM = """
import os, sys
os.chdir(folder)
os.environ.update(environment)
for name, number in (("stdout", 1), ("stderr", 2)):
    os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
exec(first)
from anira.cli import main
sys.exit(main(words))
"""
# A shell that starts a job in the background lets it ignore SIGINT, and children inherit that.
HEED_SIGINT = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"


class Child:
    """`anira WORDS...` in a process of its own, in `folder`; the program `first` runs before the command."""

    def __init__(
        self, folder: Path, *words: object, first: str = "", environment: dict[str, str] | None = None
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        names = {"folder": str(folder), "words": list(map(str, words)), "environment": environment or {}}
        program = (_PROGRAM, {**names, "first": HEED_SIGINT + first})
        self._process = SERVER.Process(target=exec, args=program, daemon=True)  # ends with the tests in any case
        self._process.start()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def send(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def running(self) -> bool:
        return self._process.is_alive()

    def wait_for_line(self, file: Path) -> None:
        """Wait until a file has a whole line, or fail with what the child said."""
        while not (file.exists() and b"\n" in file.read_bytes()):
            assert self.running(), self.err
            time.sleep(0.005)

    def status(self, seconds: float | None = None) -> int | None:
        """Wait for the end, at most so many seconds, and return the exit status: negative for a signal."""
        self._process.join(seconds)
        return self._process.exitcode

    @property
    def out(self) -> str:
        return (self.folder / "stdout").read_text()

    @property
    def err(self) -> str:
        return (self.folder / "stderr").read_text()

    def kill(self) -> None:
        self._process.kill()
        self._process.join()
