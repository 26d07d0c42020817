"""`anira publish RUN --to FOLDER|HUB_ID`: a run as a model that others can load."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from anira.cli.output import say, tell
from anira.cli.parse import parse

SUMMARY = (
    "Write a run as a folder that stands alone: weights, tokenizer, a model card with accuracy and depth, and the "
    "run's configuration and metrics. Nothing of this machine is in it. HUB_ID uploads it to the Hugging Face hub."
)


@dataclass(frozen=True, kw_only=True)
class Options:
    """What is published, and where."""

    run: Positional[Annotated[Path, arg(metavar="RUN")]]
    """Folder of a run."""
    to: Annotated[str, arg(metavar="FOLDER|HUB_ID")]
    """A new folder, or owner/model on the hub; ./owner/model is a folder."""
    step: Annotated[int | None, arg(metavar="S")] = None
    """Checkpoint; the last one by default."""
    records: bool = False
    """Add the records of all evaluations but those during training."""
    private: bool = False
    """On the hub: only you can see it."""


def run(argv: list[str]) -> None:
    """Publish, and say where it is."""
    options = parse(Options, argv, prog="anira publish", description=SUMMARY)
    from anira.runs.publishing import is_hub_id, publish

    if is_hub_id(options.to):
        tell(f"uploading to the Hugging Face hub as {options.to} (./{options.to} would be a folder here)")
    place = publish(options.run, options.to, step=options.step, records=options.records, private=options.private)
    name = options.to if is_hub_id(options.to) else place
    tell(f'next, in Python: anira.load("{name}")')
    say(place)
