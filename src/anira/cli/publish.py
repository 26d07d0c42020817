"""`anira publish RUN --to FOLDER|hf://OWNER/MODEL`: a run as a model that others can load."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from anira.cli.output import say, tell
from anira.cli.parse import parse

SUMMARY = (
    "Write a run as a folder that stands alone: weights, tokenizer, a model card with accuracy and depth, and the "
    "run's configuration and metrics. Nothing of this machine is in it."
)


@dataclass(frozen=True, kw_only=True)
class Options:
    """What is published, and where."""

    run: Positional[Annotated[Path, arg(metavar="RUN")]]
    """Folder of a run."""
    to: Annotated[str, arg(metavar="PLACE")]
    """A new folder, or hf://owner/model to upload it to the Hugging Face hub."""
    step: Annotated[int | None, arg(metavar="S")] = None
    """Checkpoint; the last one by default."""
    records: bool = False
    """Add the records of all evaluations but those during training."""
    private: bool = False
    """On the hub: only you can see it."""


def run(argv: list[str]) -> None:
    """Publish, and say where it is."""
    options = parse(Options, argv, prog="anira publish", description=SUMMARY)
    from anira.runs.publishing import hub_id, publish

    name = hub_id(options.to)
    if name is not None:
        tell(f"uploading to the Hugging Face hub as {name}")
    place = publish(options.run, options.to, step=options.step, records=options.records, private=options.private)
    tell(f"next, in Python: anira.load({name or place!r})")
    say(place)
