"""`python -m anira.cli.job CONFIG OUT [PLUGIN ...]`: one run of a sweep, trained to its end from wherever it stands.

It stops with a checkpoint, as after SIGTERM, when its standard input is closed: the parent process holds the other end,
and a process that was killed lets go of it.
"""

import os
import signal
import sys
import threading
from pathlib import Path

from anira.cli import guarded, import_plugins
from anira.cli.memory import keep_freed_memory


def main(words: list[str]) -> None:
    """Train the run."""
    from anira.cli.train import start_or_resume
    from anira.config import load
    from anira.training import TrainConfig

    threading.Thread(target=_listen, daemon=True).start()
    keep_freed_memory()
    config, out, *plugins = words
    import_plugins(plugins)
    start_or_resume(load(TrainConfig, Path(config)), Path(out))


def _listen() -> None:
    while os.read(sys.stdin.fileno(), 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(guarded(lambda: main(sys.argv[1:])))
