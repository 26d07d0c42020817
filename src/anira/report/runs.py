"""A run as a report reads it: its configuration, its metrics, and which evaluation of it is shown."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from anira.analysis import Evaluation, find_evaluations, load_evaluation
from anira.config import UserError, nearest


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run folder, read."""

    folder: Path
    config: Mapping[str, Any]
    origin: Mapping[str, Any]
    """What else config.json says: versions, git hash, platform."""
    metrics: tuple[Mapping[str, Any], ...]
    evaluation: Evaluation
    label: str
    """What the page calls the run: its variant, and what else sets it apart from the other runs of its task."""

    @property
    def task(self) -> str:
        """The name of the task."""
        return str(self.config["task"])

    @property
    def max_depth(self) -> int:
        """The largest depth D."""
        return int(self.config["model"]["max_depth"])

    @property
    def policy(self) -> Mapping[str, Any]:
        """The options of the policy."""
        options: Mapping[str, Any] = self.config["model"]["policy"]
        return options
