"""The optimizer of a run: AdamW, or Muon for the matrices of the layers with AdamW for everything else."""

from collections.abc import Sequence
from typing import Any, Final

import torch
from torch import nn

from anira.config import UserError
from anira.models import AniraForCausalLM
from anira.models.precision import choose_dtype
from anira.training.config import TrainConfig
from anira.training.sharding import sharding_wanted
from anira.training.stages import parameter_groups

_NO_MATRIX: Final = ("policy.", "model.embed_tokens.", "lm_head.")
"""What AdamW trains though it has two dimensions: lookups, the head, and decisions."""


class JointOptimizer(torch.optim.Optimizer):
    """Muon and AdamW as one: their groups in a row, and one state for all parameters."""

    def __init__(self, muon: torch.optim.Optimizer, rest: torch.optim.Optimizer) -> None:
        self.parts = (muon, rest)
        groups = [group for part in self.parts for group in part.param_groups]
        super().__init__([{"params": group["params"]} for group in groups], {})
        self.param_groups = groups  # the very ones that the parts look at
        for part in self.parts:
            part.state = self.state

    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Make a step, unless `found_inf` says that its gradient is not finite; Muon knows nothing of that itself."""
        found = getattr(self, "found_inf", None)
        if found is None or not bool(found):
            for part in self.parts:
                part.step()

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget all gradients."""
        for part in self.parts:
            part.zero_grad(set_to_none)


def make_optimizer(config: TrainConfig, model: AniraForCausalLM) -> tuple[torch.optim.Optimizer, list[float]]:
    """Return the optimizer, and what the learning rate of each of its groups is multiplied by."""
    groups = parameter_groups(config, model)
    if not config.muon_rate:
        return _adamw(config, [params for params, _ in groups]), [rate for _, rate in groups]
    _check_muon(model)
    matrices = _matrices(model)
    chosen = [one for params, _ in groups for one in params if one in matrices]
    rest = [([one for one in params if one not in matrices], rate) for params, rate in groups]
    rest = [(params, rate) for params, rate in rest if params]
    if not chosen or not rest:
        raise UserError("muon_rate needs matrices of layers and something beside them to train: see frozen and lora")
    muon = torch.optim.Muon(chosen, lr=config.muon_rate, weight_decay=config.weight_decay)
    joint = JointOptimizer(muon, _adamw(config, [params for params, _ in rest]))
    return joint, [config.muon_rate / config.learning_rate, *(rate for _, rate in rest)]


def _adamw(config: TrainConfig, groups: Sequence[list[nn.Parameter]]) -> torch.optim.Optimizer:
    return torch.optim.AdamW(
        [{"params": params} for params in groups],
        lr=config.learning_rate,
        betas=config.betas,
        weight_decay=config.weight_decay,
        fused=True,
    )


def _matrices(model: AniraForCausalLM) -> set[nn.Parameter]:
    """Return what Muon trains: the matrices of all layers, and the one of the injection."""
    return {
        parameter
        for name, parameter in model.named_parameters()
        if parameter.ndim == 2 and not name.startswith(_NO_MATRIX)
    }


def _check_muon(model: AniraForCausalLM) -> None:
    if sharding_wanted():
        raise UserError("muon_rate needs whole matrices, and FSDP has parts of them on each process: use DDP")
    choose_dtype("bfloat16", model.device)  # in which Muon computes, on a CPU too; not every CPU can
