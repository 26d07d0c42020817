"""Training runs: configuration, presets, the loop, checkpoints that resume."""

from anira.training.config import TrainConfig
from anira.training.loop import train
from anira.training.run import RunFolder

__all__ = ["RunFolder", "TrainConfig", "train"]
