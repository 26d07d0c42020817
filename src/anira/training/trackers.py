"""Where metrics go besides metrics.jsonl: TensorBoard, trackio or Weights & Biases, when asked for and installed."""

from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from anira.config import UserError, nearest
from anira.config.folder import inside


class Tracker(Protocol):
    """Takes the same lines that metrics.jsonl gets."""

    def log(self, line: dict[str, Any]) -> None:
        """Take one line."""


class TensorBoard:
    """Scalars by name; figures of an evaluation by knob."""

    def __init__(self, folder: Path, name: str) -> None:
        self._writer = _need("torch.utils.tensorboard", "tensorboard").SummaryWriter(str(inside(folder, "tensorboard")))

    def log(self, line: dict[str, Any]) -> None:
        """Write every number of the line."""
        for key, value in scalars(line).items():
            self._writer.add_scalar(key, value, line["step"])
        self._writer.flush()


class Hosted:
    """trackio and wandb, which share their interface."""

    def __init__(self, module: str, folder: Path, name: str) -> None:
        self._module = _need(module, module)
        self._module.init(project="anira", name=name)

    def log(self, line: dict[str, Any]) -> None:
        """Send every number of the line."""
        self._module.log({**scalars(line), "step": line["step"]})


def scalars(line: dict[str, Any]) -> dict[str, float]:
    """Return the numbers of a line under names that group well.

    >>> scalars({"kind": "eval", "step": 5, "knob": 3, "accuracy": 0.5})
    {'eval/accuracy/knob-3': 0.5}
    """
    suffix = f"/knob-{line['knob']}" if "knob" in line else ""
    return {
        f"{line['kind']}/{key}{suffix}": float(value)
        for key, value in line.items()
        if key not in ("kind", "step", "knob") and isinstance(value, int | float)
    }


def check_installed(kind: str) -> None:
    """Raise a UserError if a tracker's package is missing."""
    _need("torch.utils.tensorboard" if kind == "tensorboard" else kind, kind)


def make_tracker(kind: str, folder: Path, name: str) -> Tracker:
    """Build a tracker by name."""
    if kind == "tensorboard":
        return TensorBoard(folder, name)
    if kind in ("trackio", "wandb"):
        return Hosted(kind, folder, name)
    raise UserError(f"unknown tracker {kind!r}: {nearest(kind, ('tensorboard', 'trackio', 'wandb'))}")


def _need(module: str, package: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        hint = f"pip install {package} (with -c constraints.txt from the repository's root)"
        raise UserError(f"tracker {package!r} is not installed: {hint}") from None
