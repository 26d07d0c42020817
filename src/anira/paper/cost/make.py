"""The paper's section on savings: what decoding costs at a model's own depths, against the same model at full depth.

Measured: CPU time of decoding rows token by token, and the bytes of keys and values; counted: FLOPs of execution and of
decisions. Beside them stand the ratios that are expected of the core, d/D and (d + 1)/D, and the decider's share of the
parameters.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
import torch
from torch import Tensor

from anira.config import UserError
from anira.config.machine import machine
from anira.inference.savings import measure_decoding
from anira.measure.tidy import Row, make_table
from anira.paper.cost.measure import decoding_rows, parameter_rows, preset_labels, read_final, record_rows
from anira.paper.cost.page import make_page
from anira.paper.found import found_in
from anira.paper.outcome import write_figure
from anira.paper.runs import figure_runs
from anira.paper.setting import Outcome, Setting, UsedRun
from anira.site.verdicts import NAMES
from anira.tasks import BlockTask
from anira.training.estimate import count_parameters
from anira.training.presets import PAPER, preset
from anira.training.run import load_run

NAME: Final = "cost"
MOST_DEPTHS: Final = 6


ROWS: Final = {"smoke": {1: 1, 4: 4}, "cpu": {1: 2, 16: 16}, "paper": {1: 2, 16: 16}}
"""Batch size -> number of rows that are decoded in batches of this size."""
REPEATS: Final = {"smoke": 2, "cpu": 11, "paper": 11}


def reproduce(setting: Setting) -> Outcome:
    """Make cost.html, .csv and .json."""
    runs = figure_runs(NAME, setting)
    rows = [row for run in runs for row in _run_rows(run, setting)]
    facts = {**machine(), "torch": torch.__version__, "threads": 1}
    where = ", ".join(f"{value}" if name in ("cpu", "system") else f"{name} {value}" for name, value in facts.items())
    where = f"{where}; CPU time of one thread, {REPEATS[setting.scale]} repeats in turns."
    found = found_in(make_table([*rows, *paper_rows()]), machine=where)
    return write_figure(setting, NAME, make_page(found), found.tables(NAME), runs=runs)


def paper_rows() -> Iterator[Row]:
    """Yield how many parameters the paper's models have, and how many of them decide; built without storage."""
    for task in PAPER:
        for variant in NAMES:
            name = f"{task}-{variant}-paper"
            config = preset(name)
            counts = count_parameters(config.make_model_config(config.make_task()))
            yield from parameter_rows(preset_labels(name, task, variant), *counts, subset="paper")


def _run_rows(run: UsedRun, setting: Setting) -> Iterator[Row]:
    config, model, _ = load_run(run.folder, None)
    task, rows = config.make_task(), ROWS[setting.scale]
    ids = rows_of_one_length(task, max(rows.values()))
    depths = forced_depths(model.config.max_depth)
    setting.tell(f"{run.preset}: decoding {len(ids)} rows of {ids.shape[1]} tokens")
    final = read_final(run.folder)
    for batch, count in rows.items():
        found = measure_decoding(model, ids[:count], batch=batch, depths=depths, repeats=REPEATS[setting.scale])
        yield from decoding_rows(final.labels, found, batch=batch, knob=task.knob.seen[-1])
    yield from record_rows(final)
    yield from parameter_rows(final.labels, *count_parameters(model.config))


def rows_of_one_length(task: BlockTask, count: int) -> Tensor:
    """Return rows of the task's largest seen knob that have the commonest length: padding would be decoded too."""
    rows = task.rows(seed=0, stream="eval", start=0, count=max(512, 32 * count), knob=task.knob.seen[-1])
    lengths = np.bincount(rows.lengths)
    length = int(lengths.argmax())
    if lengths[length] < count:
        raise UserError(f"task {task.name!r} has too few rows of one length: {lengths[length]} of {count}")
    return torch.from_numpy(rows.input_ids[rows.lengths == length][:count, :length].astype(np.int64))


def forced_depths(max_depth: int) -> list[int]:
    """Return the depths to compare with: all, or of many some that lie evenly, first and last among them.

    >>> forced_depths(4), forced_depths(14)
    ([1, 2, 3, 4], [1, 4, 6, 9, 11, 14])
    """
    return sorted({round(depth) for depth in np.linspace(1, max_depth, min(max_depth, MOST_DEPTHS))})
