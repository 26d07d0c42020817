"""Before a run starts: what would stop it is found, and its folder is there and locked."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from anira.training.config import TrainConfig
from anira.training.fitting import check_fits
from anira.training.run import RunFolder
from anira.training.stages import check_stage
from anira.training.trackers import check_installed


def check_start(config: TrainConfig, trackers: Sequence[str] = ()) -> None:
    """Find what would stop a run at its beginning, before there is a folder of it."""
    for kind in trackers:
        check_installed(kind)
    check_stage(config)
    check_fits(config)


@contextmanager
def opened(config: TrainConfig, out: str | Path) -> Iterator[tuple[RunFolder, bool]]:
    """Yield the folder of a run below `out`, locked and with its configuration, and whether it was there before."""
    check_start(config)
    with RunFolder.for_config(out, config) as folder:
        begun = (folder.path / "config.json").exists()
        if not begun:
            folder.write_config(config)
        yield folder, begun
