"""The paper's section on savings: what decoding costs at a model's own depths, against the same model at full depth.

Measured: CPU time of decoding rows token by token, and the bytes of keys and values; counted: FLOPs of execution and of
decisions. Beside them stand the ratios that are expected of the core, d/D and (d + 1)/D, and the decider's share of the
parameters.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from torch import Tensor

from anira.config import UserError, to_dict
from anira.config.machine import machine
from anira.inference import Cost as TokenCost
from anira.inference.savings import OWN, Decoded, measure_decoding
from anira.measure.cost import Cost, cost_by_knob
from anira.measure.records.instances import instance_table
from anira.measure.records.loading import load_evaluation
from anira.measure.savings import deciding_share, savings
from anira.measure.statistics.estimates import Estimate
from anira.models import AniraForCausalLM
from anira.paper.cost.page import CostRun, Flops, Measured, Parameters, Way, cost_sheet, flops_table, way_table
from anira.paper.files import make_files
from anira.paper.found_runs import runs_of
from anira.paper.setting import Outcome, Setting, UsedRun
from anira.tasks import BlockTask
from anira.training.estimate import count_parameters
from anira.training.presets import PAPER, preset
from anira.training.run import load_run

TASKS: Final = ("mano", "brevo")
VARIANTS: Final = ("anira-e", "anira-o")
MOST_DEPTHS: Final = 6
BATCHED: Final = "in a batch an iteration takes its time if one row needs it: times of forced depths do not add up"


@dataclass(frozen=True)
class Size:
    """How much is decoded."""

    rows: Mapping[int, int]
    """Batch size -> rows that are decoded, so many at once."""
    repeats: int


SIZES: Final = {"smoke": Size({1: 1, 4: 4}, 2), "cpu": Size({1: 2, 16: 16}, 11), "paper": Size({1: 2, 16: 16}, 11)}


def reproduce(setting: Setting) -> Outcome:
    """Make cost.json, cost.csv, cost-flops.csv and cost.html."""
    presets = [(task, f"{task}-{variant}-{setting.scale}") for task in TASKS for variant in VARIANTS]
    used = [(task, run) for task, name in presets for run in runs_of(name, setting)]
    shown = [_figures(run, task, SIZES[setting.scale], setting) for task, run in used]
    paper = [parameters(f"{task}-{variant}-paper") for task in PAPER for variant in VARIANTS]
    facts = {**machine(), "torch": torch.__version__, "threads": 1}
    sheet = cost_sheet(shown, paper, facts)
    tables = {"cost": way_table(shown), "cost-flops": flops_table(shown)}
    runs = [run for _, run in used]
    beside = {"machine": facts, "paper": [to_dict(one) for one in paper]}
    return make_files(setting, sheet, runs=runs, figures=shown, tables=tables, beside=beside)


def parameters(name: str) -> Parameters:
    """Return how many parameters a preset's model has, and how many of them decide."""
    config = preset(name)
    return Parameters(name, *count_parameters(config.make_model_config(config.make_task())))


def _figures(run: UsedRun, task: str, size: Size, setting: Setting) -> CostRun:
    config, model, step = load_run(run.folder, None)
    if config.task != task:
        raise UserError(f"{run.folder} is a run of task {config.task!r}, not of {task}")
    ids = rows_of_one_length(config.make_task(), max(size.rows.values()))
    setting.tell(f"{run.preset}: decoding {len(ids)} rows of {ids.shape[1]} tokens")
    measured = [_measured(model, ids[:rows], batch, size.repeats) for batch, rows in size.rows.items()]
    return CostRun(
        origin=run.origin,
        run_id=f"{config.preset}/{run.folder.name}",
        task=config.task,
        variant=config.variant,
        seed=config.seed,
        step=step,
        max_depth=model.config.max_depth,
        row_length=ids.shape[1],
        repeats=size.repeats,
        parameters=Parameters(run.preset, *count_parameters(model.config)),
        measured=tuple(measured),
        evaluated=_evaluated(run),
    )


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


def _measured(model: AniraForCausalLM, ids: Tensor, batch: int, repeats: int) -> Measured:
    depths = forced_depths(model.config.max_depth)
    found = measure_decoding(model, ids, batch=batch, depths=depths, repeats=repeats)
    own, full = found[OWN], found[depths[-1]]
    forced = {depth: found[depth].seconds for depth in depths}
    deciding = deciding_share(own.seconds, forced, own.depth_shares) if batch == 1 else Estimate(None, reason=BATCHED)
    return Measured(
        batch=batch,
        rows=len(ids),
        own=_way(own, forced, full),
        forced=tuple(_way(found[depth], forced, full) for depth in depths),
        deciding=deciding,
        flops=_flops(own.cost),
        full_flops=_flops(full.cost),
    )


def _way(one: Decoded, forced: Mapping[int, Sequence[float]], full: Decoded) -> Way:
    return Way(
        depth=one.cost.mean_depth,
        time=savings(one.seconds, forced),
        core_bytes=one.core_bytes / full.core_bytes,
        cache_bytes=one.cache_bytes / full.cache_bytes,
        milliseconds=1e3 * float(np.median(one.seconds)) / one.cost.tokens,
    )


def _flops(cost: TokenCost) -> Flops:
    each = {"execution": cost.core_flops, "decision": cost.decision_flops, "other": cost.other_flops}
    return Flops(**{name: flops / cost.tokens for name, flops in each.items()})


def _evaluated(run: UsedRun) -> Cost:
    """Return what all tokens of the run's last evaluation cost, from its records."""
    table = instance_table(load_evaluation(run.folder / "records" / "final"))
    return cost_by_knob(table, rng=np.random.default_rng(0))[-1]
