"""What a training step of each policy costs beside one of fixed depth: CPU time, and bytes kept for the backward pass.

All have the same backbone, batch and number of iterations. Of huginn the number of iterations that carry gradient
varies. Policies that read out every iteration by coda and head (pondernet, ouro, ...) keep what these need D times.
"""

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

import torch
from torch import Tensor

from anira.inference.timing import interleaved
from anira.models import AniraForCausalLM
from anira.models.noise import step_noise
from anira.models.policies import policy_class, policy_names
from anira.training.config import TrainConfig
from anira.training.data import Batches
from anira.training.overrides import override
from anira.training.presets import preset
from benchmarks.models import measured

PRESET: Final = "words-{policy}-cpu"
CHANGES: Final[dict[str, Any]] = {"model.num_coda_layers": 1}
FIXED: Final = "fixed"


def bench(*, repeats: int, report: Callable[[str], None]) -> dict[str, Any]:
    """Measure a step of every policy of the package; `report` is told what comes next."""
    return measured(lambda: _rows(repeats, report), repeats)


def _rows(repeats: int, report: Callable[[str], None]) -> list[dict[str, Any]]:
    report("training steps of all policies, in turns")
    steps = {name: _Step(config) for name, config in _configs()}
    seconds = interleaved({name: step.run for name, step in steps.items()}, repeats=repeats, clock=time.process_time)
    times = {name: statistics.median(values) for name, values in seconds.items()}
    kept = {name: step.kept_bytes() for name, step in steps.items()}
    fixed = next(iter(steps))
    return [
        {
            "what": name,
            "time_beside_fixed": times[name] / times[fixed],
            "kept_beside_fixed": kept[name] / kept[fixed],
            "kept_megabytes": kept[name] / 1e6,
        }
        for name in steps
    ]


def _configs() -> Iterator[tuple[str, TrainConfig]]:
    """Yield what is measured, fixed depth first."""
    ours = [name for name in policy_names() if policy_class(name).__module__.startswith("anira.") and name != FIXED]
    for name in (FIXED, *ours):
        config = override(preset(PRESET.format(policy=name)), CHANGES)
        if name == "huginn":
            for last in range(1, config.model["max_depth"] + 1, 2):
                yield f"{config.preset}, gradient through the last {last}", override(config, {"policy.last": last})
        else:
            yield config.preset, config


class _Step:
    """One training step, without the optimizer's part."""

    def __init__(self, config: TrainConfig) -> None:
        task = config.make_task()
        self.model = AniraForCausalLM(config.make_model_config(task)).train()
        policy, device = self.model.policy, torch.device("cpu")
        (batch,) = Batches(task, config, policy.noise_width).step(1)
        self.call = batch.arguments(device)
        if policy.step_noise_width:
            noise = step_noise(seed=0, step=1, width=policy.step_noise_width)
            self.call |= {"step_noise": noise, "max_depth": config.model["max_depth"]}

    def run(self) -> None:
        """Go forwards and backwards."""
        self.model(**self.call).loss.backward()
        self.model.zero_grad()

    def kept_bytes(self) -> int:
        """Return how many bytes autograd keeps between the two, weights aside."""
        weights = {parameter.untyped_storage().data_ptr() for parameter in self.model.parameters()}
        kept: dict[int, int] = {}

        def note(tensor: Tensor) -> Tensor:
            storage = tensor.untyped_storage()
            if storage.data_ptr() not in weights:
                kept[storage.data_ptr()] = storage.nbytes()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
            self.model(**self.call).loss.backward()
        return sum(kept.values())
