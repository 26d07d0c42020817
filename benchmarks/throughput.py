"""Real tokens per second of whole training runs, beside a matrix product and beside older code.

Each run is a process of its own that trains by its version's loop, rows, noise, clipping, AdamW and log lines included.
All take turns, a few steps each, on the same rows. Times are CPU time of one thread: what else the machine does
disturbs it least. Where compiled runs are measured too, each version is judged by its faster way.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

import anira
from anira.config import UserError
from anira.config.strict import json_text
from anira.inference import attention_flops, layer_flops
from anira.inference.cost import key_value_flops
from anira.models import AniraConfig
from anira.tasks import IGNORE, Rows
from anira.training.config import TrainConfig
from anira.training.estimate import BACKWARD, full_cost
from anira.training.presets import preset

GEMM: Final = 1024
_OLD: Final = "old_"
# As `anira train` sets the allocator, in every version alike (cli/memory.py says why).
_MEMORY: Final = {
    "MALLOC_MMAP_THRESHOLD_": 32 << 20,
    "MALLOC_TRIM_THRESHOLD_": (1 << 31) - 1,
    "MALLOC_TOP_PAD_": 32 << 20,
}


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A preset, cut to what a small machine can do."""

    preset: str
    batch_size: int | None = None
    """None: the preset's own."""
    steps: int = 1
    """Steps of a turn."""
    compiled: bool = False
    """Whether to measure it compiled too, if that is wanted: small models gain most."""
    speedup: float
    """How many times as fast as padded rows (the code before packing) it must be."""
    gemm_share: float | None = None
    """The share of a matrix product's speed that it must reach."""

    def config(self) -> TrainConfig:
        """Return the run."""
        config = preset(self.preset).resolved()
        return replace(config, batch_size=self.batch_size or config.batch_size)


SHAPES: Final = (
    Shape(preset="mano-anira-o-paper", batch_size=64, speedup=1.5, gemm_share=0.6),
    Shape(preset="brevo-anira-o-paper", batch_size=16, speedup=2.0),
    Shape(preset="depo-anira-o-paper", batch_size=16, speedup=1.5),
    Shape(preset="mano-anira-o-cpu", steps=10, compiled=True, speedup=1.4),
    Shape(preset="brevo-anira-o-cpu", steps=5, compiled=True, speedup=1.4),
)


@dataclass(frozen=True)
class _Way:
    """Whose code, and whether it is compiled."""

    source: Path
    compile: bool = False


def bench_throughput(
    *, repeats: int, compiled: bool, against: Path | None, report: Callable[[str], None]
) -> list[dict[str, Any]]:
    """Measure every shape; `against` is a checkout of older code."""
    eager = {"": _Way(Path(anira.__file__).parents[1])}
    if against is not None:
        eager[_OLD] = _Way(source_folder(against))
    rows = []
    for shape in SHAPES:
        ways = dict(eager)
        if compiled and shape.compiled:
            ways |= {f"{name}compiled_": replace(way, compile=True) for name, way in eager.items()}
        report(f"training of {shape.preset}, one thread: {len(ways)} processes in turns")
        rows.append(_row(shape, _measured(shape, ways, repeats)))
    return rows


def source_folder(checkout: Path) -> Path:
    """Return the folder of a checkout that `anira` is imported from."""
    for folder in (checkout / "src", checkout):
        if (folder / "anira" / "training" / "loop.py").is_file():
            return folder.resolve()
    raise UserError(f"{checkout} is no checkout of anira: it has no src/anira/training/loop.py")


def _measured(shape: Shape, ways: dict[str, _Way], repeats: int) -> dict[str, list[dict[str, float]]]:
    """Return the answers of each process, turn by turn, without the first turn."""
    with ExitStack() as stack:
        loops = {name: stack.enter_context(_loop(shape, way)) for name, way in ways.items()}
        for answers in loops.values():
            next(answers)  # pays for what is loaded, allocated and compiled once
        turns = [{name: next(answers) for name, answers in loops.items()} for _ in range(repeats)]
    if any(answer["tokens"] != turn[""]["tokens"] for turn in turns for answer in turn.values()):
        raise UserError(f"the older code makes other rows of {shape.preset}: the two cannot be compared")
    return {name: [turn[name] for turn in turns] for name in ways}


@contextmanager
def _loop(shape: Shape, way: _Way) -> Iterator[Iterator[Any]]:
    """Start a process that trains; yield its answers. It goes on only when asked for the next one."""
    config = shape.config()
    asked = {name: getattr(config, name) for name in ("preset", "batch_size", "max_length", "task_config", "model")}
    words = [sys.executable, "-P", str(Path(__file__).with_name("train_child.py"))]
    settings = {name: str(value) for name, value in _MEMORY.items()}
    environment = {**os.environ, **settings, "PYTHONPATH": str(way.source), "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        asked |= {"folder": folder, "compile": way.compile, "steps": shape.steps, "gemm": GEMM}
        child = subprocess.Popen(
            [*words, json_text(asked)], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        try:
            yield _answers(child, way.source)
        finally:
            child.kill()
            child.communicate()


def _answers(child: "subprocess.Popen[str]", source: Path) -> Iterator[Any]:
    assert child.stdin is not None and child.stdout is not None
    for line in child.stdout:
        yield json.loads(line)
        child.stdin.write("\n")
        child.stdin.flush()
    raise UserError(f"training by the code in {source} ended with exit status {child.wait()}")


def _row(shape: Shape, turns: dict[str, list[dict[str, float]]]) -> dict[str, Any]:
    config = shape.config()
    task = config.make_task()
    rows = task.rows(seed=config.seed, stream="train", start=0, count=config.batch_size * shape.steps)
    each_token = step_flops(config.make_model_config(task), rows) / int(rows.lengths.sum())
    speeds = {
        name: statistics.median(turn["tokens"] / turn["seconds"] for turn in each) for name, each in turns.items()
    }
    gemm = 2 * GEMM**3 / statistics.median(turn["gemm"] for turn in turns[""]) / 1e9
    own, old = (
        [speed for name, speed in speeds.items() if name.startswith(_OLD) == is_old] for is_old in (False, True)
    )
    achieved = each_token * max(own) / 1e9
    row: dict[str, Any] = {
        "what": f"training {shape.preset}, batch {config.batch_size}, CPU time of one thread",
        **{f"{name}tokens_per_second": speed for name, speed in speeds.items()},
        "gflops_without_padding": achieved,
        "gemm_gflops": gemm,
        "ratio": achieved / gemm,
    }
    if shape.gemm_share is not None:
        row |= {"bar": shape.gemm_share, "met": row["ratio"] >= shape.gemm_share}
    if old:
        speedup = max(own) / max(old)
        row |= {"speedup": speedup, "speedup_bar": shape.speedup, "speedup_met": speedup >= shape.speedup}
    return row


def step_flops(config: AniraConfig, rows: Rows) -> int:
    """Return what training on rows multiplies: three forward passes, with the last layer where it is read out.

    Only positions that predict an answer go through the last layer of the coda and the head. The others leave it keys
    and values.
    """
    cost = full_cost(config, rows.lengths)
    places = np.arange(rows.input_ids.shape[1])
    read = np.pad(rows.labels[:, 1:] != IGNORE, ((0, 0), (0, 1)))
    unread = (places < rows.lengths[:, None]) & ~read
    keys = int(np.broadcast_to(places + 1, unread.shape)[unread].sum())
    count = int(unread.sum())
    skipped = 2 * count * config.hidden_size * config.vocab_size
    if config.num_coda_layers:
        skipped += count * (layer_flops(config) - key_value_flops(config)) + attention_flops(config, 1) * keys
    return (1 + BACKWARD) * (cost.flops - skipped)
