"""`anira.train`: a run from a preset, trained to its end and loaded. A second call finds it, or goes on with it."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from anira.runs.loading import load
from anira.runs.run import Run
from anira.training.config import TrainConfig
from anira.training.loop import train as train_to_the_end
from anira.training.overrides import for_this_machine, override
from anira.training.presets import preset as find_preset
from anira.training.run import RunFolder
from anira.training.starting import opened
from anira.training.status import run_status


def train(
    preset: str | TrainConfig,
    *,
    seed: int | None = None,
    changes: Mapping[str, Any] | None = None,
    out: str | Path = "runs",
    on_step: Callable[[int], None] = lambda step: None,
    on_metrics: Callable[[Mapping[str, Any]], None] = lambda line: None,
) -> Run:
    """Train a run and return it; one that is finished is loaded, and one that was stopped goes on.

    It is the run that `anira train PRESET --out OUT` makes, in the same folder.

    Args:
        preset: a name such as "mano-anira-o-cpu", or a whole configuration.
        seed: of weights, rows and noise; by default the preset's.
        changes: options by the names that `anira train` has for them: {"steps": 500, "task.modulus": 7}.
        out: the folder of all runs.
        on_step: is told the number of every step that is over.
        on_metrics: is given every line of metrics.jsonl: `kind`, `step`, and figures.
    """
    config = make_config(preset, seed, changes or {})
    folder = RunFolder.for_config(out, config)
    if run_status(folder.path).state != "finished":
        with opened(config, out) as (folder, begun):
            train_to_the_end(
                config,
                folder.path,
                resume=begun,
                report=lambda line: None if line["kind"] == "interrupt" else on_metrics(line),
                trackers=[],
                on_step=on_step,
            )
    return load(folder.path)


def make_config(preset: str | TrainConfig, seed: int | None, changes: Mapping[str, Any]) -> TrainConfig:
    """Return the run that is meant; what a preset leaves to the machine is as `anira train` has it."""
    given = dict(changes) if seed is None else {**changes, "seed": seed}
    if isinstance(preset, TrainConfig):
        return override(preset, given) if given else preset.resolved()
    return for_this_machine(override(find_preset(preset), given), given)
