"""A process that trains by the loop of whichever `anira` is on its path, a few steps for each line it is sent.

    PYTHONPATH=SRC python -P train_child.py '{"preset": "mano-anira-o-cpu", "batch_size": 128, ...}'

It answers with the CPU seconds of the steps and of one matrix product. `throughput.py` starts one for this code and
one for older code, so it imports only what older code has too: `preset`, `TrainConfig` and `train`.
"""

import dataclasses
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import torch

from anira.training import TrainConfig, train
from anira.training.presets import preset

_NEVER = 10**9
_UNWRAPPED = {"max_offset": 0, "held_out": 0.0}  # rows that every version can make


def main() -> None:
    """Train until nobody asks for more."""
    asked = json.loads(sys.argv[1])
    torch.set_num_threads(1)
    config = preset(asked["preset"]).resolved()
    config = dataclasses.replace(
        config,
        task_config={**config.task_config, **_known(config.task_config, asked["task_config"])},
        model={**config.model, **_known(config.model, asked["model"])},
        **_known(config.__dict__, _UNWRAPPED),
        batch_size=asked["batch_size"],
        accumulation=1,
        max_length=asked["max_length"],
        threads=1,
        compile=asked["compile"],
        precision="float32",
        steps=_NEVER,
        log_every=asked["steps"],
        eval_every=_NEVER,
        checkpoint_every=_NEVER,
    )
    train(config, Path(asked["folder"]), resume=False, report=_Turns(config, asked["gemm"]), trackers=[])


def _known(own: dict[str, Any], asked: dict[str, Any]) -> dict[str, Any]:
    """Return what is asked for and exists in this version."""
    return {
        name: {**own[name], **_known(own[name], value)} if isinstance(value, dict) else value
        for name, value in asked.items()
        if name in own
    }


class _Turns:
    """Called by the loop after every few steps: says how long they took, then waits for the next line."""

    def __init__(self, config: TrainConfig, gemm: int) -> None:
        self.config, self.task = config, config.make_task()
        self.square = torch.randn(gemm, gemm, generator=torch.Generator().manual_seed(0))
        self.started = time.process_time()

    def __call__(self, line: dict[str, Any]) -> None:
        seconds = time.process_time() - self.started
        if line["kind"] != "train":
            return
        started = time.process_time()
        torch.mm(self.square, self.square)
        gemm = time.process_time() - started
        sys.stdout.write(json.dumps({"seconds": seconds, "gemm": gemm, "tokens": self._tokens(line["step"])}) + "\n")
        sys.stdout.flush()
        if not sys.stdin.readline():
            os._exit(0)  # in the middle of a run, of which nothing is kept
        self.started = time.process_time()

    def _tokens(self, step: int) -> int:
        """Return how many tokens the steps of a turn had, padding not counted."""
        count = self.config.log_every * self.config.batch_size
        start = step * self.config.batch_size - count
        rows = self.task.rows(seed=self.config.seed, stream="train", start=start, count=count)
        return int(rows.lengths.sum())


if __name__ == "__main__":
    main()
