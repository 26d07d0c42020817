"""The benchmarks by name, and what each can be asked. Light, so that help starts at once."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal

from tyro.conf import arg

from anira.config import UserError

_MOST: Final = {
    "repeats": 10_000,
    "rows": 1 << 20,
    "sentences": 1_000_000,
    "megabytes": 100_000,
    "minutes": 1440,
    "clients": 200,
}  # bounds against typing errors


@dataclass(frozen=True, kw_only=True)
class Options:
    """How the result is shown."""

    json: bool = False
    """Print one JSON object for scripts."""


@dataclass(frozen=True, kw_only=True)
class TasksOptions(Options):
    """How long to measure."""

    rows: Annotated[int, arg(metavar="N")] = 8192
    """Rows that each generator makes in a repeat; a multiple of 4096."""
    repeats: Annotated[int, arg(metavar="R")] = 5
    """Repeats; the figures are medians."""


@dataclass(frozen=True, kw_only=True)
class ParserOptions(Options):
    """How long to measure."""

    sentences: Annotated[int, arg(metavar="N")] = 2000
    """Sentences that are parsed."""
    repeats: Annotated[int, arg(metavar="R")] = 5
    """Repeats of the sampler, and parts that the sentences are cut into; the speeds are medians."""


@dataclass(frozen=True, kw_only=True)
class ModelOptions(Options):
    """How long to measure."""

    repeats: Annotated[int, arg(metavar="R")] = 30
    """Repeats; the figures are medians."""


@dataclass(frozen=True, kw_only=True)
class EngineOptions(Options):
    """What to measure, and how long."""

    part: Literal["all", "short", "long", "step"] = "all"
    """short, long: requests with contexts up to 256 and up to 4,096 tokens; step: a decoding step after 4,096 tokens.
    With one repeat the first takes a quarter of an hour on two cores."""
    repeats: Annotated[int, arg(metavar="R")] = 3
    """Repeats of each load; the figures are medians."""
    quick: bool = False
    """A tiny model and a few short requests: whether it runs, in seconds; the figures mean nothing."""


@dataclass(frozen=True, kw_only=True)
class TrainOptions(Options):
    """How long to measure, and whether to compile."""

    repeats: Annotated[int, arg(metavar="R")] = 10
    """Repeats; the figures are medians."""
    compile: bool = False
    """Measure compiled steps too; compiling takes a few minutes."""
    against: Annotated[Path | None, arg(metavar="DIR")] = None
    """A checkout of older code, to train by in turns with this one."""


@dataclass(frozen=True, kw_only=True)
class TextOptions(Options):
    """How much to read."""

    megabytes: Annotated[int, arg(metavar="N")] = 20
    """Size of the synthetic corpus, which lies in a temporary folder meanwhile."""


@dataclass(frozen=True, kw_only=True)
class SoakOptions(Options):
    """How long, and how many."""

    minutes: Annotated[int, arg(metavar="M")] = 5
    """Minutes of load."""
    clients: Annotated[int, arg(metavar="N")] = 12
    """Clients at a time."""


BENCHMARKS: Final[dict[str, tuple[str, type[Options]]]] = {
    "tasks": ("the generators of the tasks beside plain ones, and the start of the command line", TasksOptions),
    "parser": ("the parser and the sampler of LANO beside their bars", ParserOptions),
    "decode": ("a decoding step against depth, beside stock Llama against layers", ModelOptions),
    "prefill": ("reading a prompt against depth, beside stock Llama against layers", ModelOptions),
    "engine": ("many requests at once, beside padded generate, stock Llama and overwritten slots", EngineOptions),
    "train": ("training, beside stock Llama, a matrix product and older code", TrainOptions),
    "text": ("reading, tokenising and packing of a synthetic corpus of text", TextOptions),
    "soak": ("what becomes of requests and memory under mixed load on a server", SoakOptions),
    "policies": ("a training step of every policy, beside fixed depth", ModelOptions),
}
"""Name -> (summary, options). Module NAME has `bench`, which takes the options (all but json) and `report`."""


def check(options: Options) -> None:
    """Refuse numbers out of range."""
    for option, most in _MOST.items():
        if not 1 <= getattr(options, option, 1) <= most:
            raise UserError(f"--{option} must be at least 1 and at most {most:,}, not {getattr(options, option)}")
