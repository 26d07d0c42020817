"""What a figure is made from, and what it returns."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from anira.measure.claims.verdict import Claim

Train = Callable[[str, Path, Mapping[str, Any]], Path]
"""Preset, folder of all runs, settings that are not the preset's -> folder of the run, trained to its end from wherever
it stood."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """At which scale a figure is made, from which runs, and into which folder."""

    scale: str
    """smoke, cpu or paper: the last part of the presets' names."""
    out: Path
    """Folder of the files that the figure makes."""
    runs: Path
    """Folder of runs, <preset>/<hash8>-s<seed>; what is missing is trained there."""
    published: tuple[Path, ...] = ()
    """Other folders of the same form, in which finished runs are looked for first."""
    train: Train
    tell: Callable[[str], None] = lambda line: None
    """Takes lines about what is being done."""


@dataclass(frozen=True, kw_only=True)
class UsedRun:
    """A run that a figure rests on."""

    preset: str
    folder: Path
    found: bool
    """It was finished already; otherwise it was trained now."""
    seconds: float
    """What training took now."""
    differs: tuple[str, ...]
    """Settings that are not the preset's, with the preset's in brackets; seeds are no difference."""
    shrunk: tuple[str, ...] = ()
    """Settings that are not the paper's, with the paper's in brackets."""

    @property
    def origin(self) -> str:
        """Say where the run comes from, and in what it is not the preset."""
        how = "found" if self.found else f"trained in {self.seconds:.0f} s"
        return f"{how}; not as the preset: {', '.join(self.differs)}" if self.differs else how


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a figure made."""

    files: tuple[Path, ...]
    runs: tuple[UsedRun, ...]
    text: str
    """Its tables, in plain text."""
    claims: Mapping[str, Sequence[Claim]] = field(default_factory=dict)
    """Claims of the paper by their key that it judges."""
