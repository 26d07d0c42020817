"""Training runs: configuration, presets, the loop, checkpoints that resume."""

from anira.training.config import TrainConfig
from anira.training.loop import train
from anira.training.publish import publish_run
from anira.training.run import RunFolder, load_run

__all__ = ["RunFolder", "TrainConfig", "load_run", "publish_run", "train"]
