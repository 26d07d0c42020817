"""Training in stages: weights of an earlier run to start from, parts that stay as they are, rates of their own."""

from collections.abc import Iterable
from pathlib import Path

import torch
from torch import nn

from anira.config import UserError
from anira.models import AniraForCausalLM
from anira.models.policies import policy_class
from anira.training.config import TrainConfig
from anira.training.model_folder import is_model_folder, load_model_folder
from anira.training.run import load_run

PUBLISHED = Path("results")
"""Where finished runs are looked for beside the folder of all runs."""


def find_run(run_id: str, roots: Iterable[Path]) -> Path:
    """Return the folder of a run, given as a path or by its id; a UserError says where it was looked for."""
    places = [Path(run_id), *(root / run_id for root in roots)]
    for place in places:
        if (place / "config.json").is_file():
            return place
    raise UserError(f"there is no run {run_id!r} to start from; looked for {', '.join(map(str, places))}")


def check_stage(config: TrainConfig) -> None:
    """Raise a UserError if a second stage does not say which run was its first."""
    model = config.model_config()
    with torch.device("meta"):  # sizes are judged elsewhere
        policy = policy_class(model.policy["name"])(model)
    if policy.first_stage and not config.init_from:
        raise UserError(
            f"with these options, policy {policy.name!r} is trained in a second stage, which starts from "
            f"{policy.first_stage}: name that run with --init-from"
        )


def check_init(config: TrainConfig, root: Path) -> None:
    """Raise a UserError if the run to start from is missing, or is of another shape."""
    if config.init_from and not is_model_folder(Path(config.init_from)):
        _weights_of(config, root)


def init_weights(config: TrainConfig, model: AniraForCausalLM, root: Path) -> None:
    """Give a new model the weights of the run that it starts from, or those in a model's folder.

    The backbone must be the same. Of the policy what has the same name and shape is taken over: a second stage goes on
    with its gate, another policy on the same backbone starts afresh.
    """
    if not config.init_from:
        return
    if is_model_folder(Path(config.init_from)):
        load_model_folder(Path(config.init_from), model)
        return
    found = _weights_of(config, root)
    own = model.state_dict()
    for name, value in found.items():
        if name in own and own[name].shape == value.shape:
            own[name].copy_(value)


def freeze(config: TrainConfig, model: AniraForCausalLM) -> None:
    """Take the part that stays as it is out of training."""
    for name, parameter in model.named_parameters():
        if config.frozen == ("policy" if name.startswith("policy.") else "backbone"):
            parameter.requires_grad_(False)
    if not any(parameter.requires_grad for parameter in model.parameters()):
        what = f"frozen={config.frozen!r} leaves nothing to train"
        raise UserError(f"{what}: policy {model.policy.name!r} has no weights of its own")


def parameter_groups(config: TrainConfig, model: AniraForCausalLM) -> list[tuple[list[nn.Parameter], float]]:
    """Return what is trained, with what its learning rate is multiplied by: the policy may have one of its own."""
    named = [(name, parameter) for name, parameter in model.named_parameters() if parameter.requires_grad]
    if config.policy_rate == 1.0:
        return [([parameter for _, parameter in named], 1.0)]
    parts = {kind: [p for name, p in named if name.startswith("policy.") == kind] for kind in (False, True)}
    rates = {False: 1.0, True: config.policy_rate}
    return [(parts[kind], rates[kind]) for kind in (False, True) if parts[kind]]


def _weights_of(config: TrainConfig, root: Path) -> dict[str, torch.Tensor]:
    earlier, model, _ = load_run(find_run(config.init_from, (root, PUBLISHED)))
    with torch.device("meta"):
        own = AniraForCausalLM(config.model_config())
    shapes = {name: tuple(value.shape) for name, value in own.state_dict().items()}
    found = model.state_dict()
    odd = [name for name, value in found.items() if not _fits(name, value, shapes)]
    if odd or earlier.task != config.task:
        why = f"{odd[0]} is {tuple(found[odd[0]].shape)} there" if odd else f"it was trained on {earlier.task!r}"
        raise UserError(f"cannot start from {config.init_from}: its backbone is another one ({why})")
    return found


def _fits(name: str, value: torch.Tensor, shapes: dict[str, tuple[int, ...]]) -> bool:
    return name.startswith("policy.") or shapes.get(name) == tuple(value.shape)
