"""A preset with other options, by the names that `anira train` has for them: steps, task.modulus, policy.gamma."""

import dataclasses
import shutil
from collections.abc import Collection, Mapping
from typing import Any, Final

import torch

from anira.config import UserError, from_dict, nearest, to_dict
from anira.models.policies import policy_class
from anira.text import TextConfig
from anira.training.config import MODEL_FIELDS, TrainConfig, TrainSettings
from anira.training.model_folder import adopt_model

PAYS: Final = 1000
"""Steps from which compiling has paid for itself at the sizes of the cpu presets."""


TEXT_OPTIONS: Final = tuple(field.name for field in dataclasses.fields(TextConfig))
"""Options of runs on text, which stand beside the settings: data, tokenizer."""


def override(config: TrainConfig, changes: Mapping[str, Any]) -> TrainConfig:
    """Return a run with some options changed and every default written out; an option that is not there is refused.

    >>> from anira.training.presets import preset
    >>> run = override(preset("mano-anira-o-smoke"), {"steps": 5, "task.modulus": 7, "policy.gamma": 0.3})
    >>> run.steps, run.task_config["modulus"], run.model["policy"]["gamma"]
    (5, 7, 0.3)
    """
    parts: dict[str, dict[str, Any]] = {"": {}, "task": {}, "model": {}, "policy": {}, "text": {}}
    known = option_names(config)
    for name, value in changes.items():
        if name not in known:
            raise UserError(f"{config.preset} has no option {name!r}: {nearest(name, known)}")
        part, _, key = name.rpartition(".")
        parts["text" if name in TEXT_OPTIONS else part][key] = value
    values = {
        **to_dict(config),
        **parts[""],
        "task_config": {**config.task_config, **parts["task"]},
        "model": {**config.model, **parts["model"], "policy": {**config.model["policy"], **parts["policy"]}},
    }
    if config.text is None:
        return from_dict(TrainConfig, values).resolved()
    values["text"] = {**to_dict(config.text), **parts["text"]}
    return adopt_model(from_dict(TrainConfig, values), parts["model"])


def option_names(config: TrainConfig) -> list[str]:
    """Return the names of all options of a run."""
    policy = policy_class(config.model["policy"]["name"]).Options
    return [
        *(field.name for field in dataclasses.fields(TrainSettings)),
        "compile",
        *(_task_options(config) if config.text is None else TEXT_OPTIONS),
        *(f"model.{name}" for name in MODEL_FIELDS if name != "policy"),
        *(f"policy.{field.name}" for field in dataclasses.fields(policy)),
    ]


def _task_options(config: TrainConfig) -> list[str]:
    return [f"task.{field.name}" for field in dataclasses.fields(config.make_task().config)]


def pays_to_compile(policy: str, steps: int) -> bool:
    """Say whether compiling saves more time than it takes. A policy that draws a depth per step has a graph for each.

    >>> [pays_to_compile(policy, steps) for policy, steps in (("anira-o", 20), ("anira-o", 4000), ("huginn", 4000))]
    [False, True, False]
    """
    return steps >= PAYS and not policy_class(policy).step_noise_width


def compiler() -> str | None:
    """Return the C++ compiler that torch.compile would use, if there is one."""
    return shutil.which("g++") or shutil.which("clang++") or shutil.which("c++")


def for_this_machine(config: TrainConfig, given: Collection[str] = ()) -> TrainConfig:
    """Return a run with what `anira train` takes from the machine: its threads, and whether to compile.

    `given` are options that the user has set, and that stay as they are.
    """
    threads = config.threads or torch.get_num_threads()  # part of the run: sums depend on it in the last digit
    pays = pays_to_compile(config.model["policy"]["name"], config.steps) and compiler() is not None
    return dataclasses.replace(config, threads=threads, compile=config.compile if "compile" in given else pays)
