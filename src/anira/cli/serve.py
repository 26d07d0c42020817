"""`anira serve MODEL`: an HTTP server with completions in OpenAI's style and the depth of every token."""

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from tyro.conf import Positional, arg

from anira.cli.output import tell
from anira.cli.parse import parse
from anira.config import UserError, how_to_install
from anira.config.folder import inside
from anira.config.machine import check_room

if TYPE_CHECKING:
    from anira.models import AniraConfig, AniraForCausalLM
    from anira.serving import Limits, Service

SUMMARY = (
    "Serve a model over HTTP: POST /v1/completions in OpenAI's style, with streaming and the depth of every token; "
    "GET /v1/models, /health and /metrics. Requests share every iteration of the core, and each gets the tokens and "
    "depths that decoding gives it alone. Ctrl-C ends it in good order."
)


@dataclass(frozen=True, kw_only=True)
class Options:
    """Which model, where, and how much of it one client may use."""

    model: Positional[Annotated[str, arg(metavar="MODEL")]]
    """Folder of a run (its last checkpoint), or folder or hub id of a model of this package with its tokenizer."""
    host: Annotated[str, arg(metavar="HOST")] = "127.0.0.1"
    """Address to listen at; by default only this machine reaches it. There is no authentication."""
    port: Annotated[int, arg(metavar="PORT")] = 8000
    """Port; 0 is any that is free."""
    max_slots: Annotated[int, arg(metavar="N")] = 1 << 18
    """Key-value slots of a core layer: a token takes one per iteration. This bounds the memory."""
    max_tokens: Annotated[int, arg(metavar="N")] = 1024
    """Most new tokens per prompt."""
    max_context: Annotated[int | None, arg(metavar="N")] = None
    """Most tokens of a prompt and its answer together; by default as many as the model was made for."""
    max_body: Annotated[int, arg(metavar="BYTES")] = 1 << 20
    """Largest request."""
    timeout: Annotated[float, arg(metavar="S")] = 300.0
    """Seconds from the first byte of a request to the last one of its answer."""
    max_queue: Annotated[int, arg(metavar="N")] = 256
    """Prompts that may wait; beyond that requests are refused with 429."""
    grace: Annotated[float, arg(metavar="S")] = 10.0
    """Seconds in which requests may finish after a signal."""
    threads: Annotated[int | None, arg(metavar="N")] = None
    """Threads for the computation; by default torch's own choice."""
    select: Annotated[str | None, arg(metavar="RULE")] = None
    """How depth is chosen where a request does not say: a rule of the policy, by default its own."""
    threshold: Annotated[float | None, arg(metavar="T")] = None
    """Threshold of the rule."""


class Served(NamedTuple):
    """What is served."""

    model: "AniraForCausalLM"
    tokenizer: Any
    name: str


def run(argv: list[str]) -> None:
    """Load the model and serve it until a signal comes."""
    options = parse(Options, argv, prog="anira serve", description=SUMMARY)
    if any(importlib.util.find_spec(name) is None for name in ("starlette", "uvicorn")):
        raise UserError(f"serving needs starlette and uvicorn: {how_to_install('serve')}")
    from anira.serving import Limits, is_loopback, open_socket, serve

    if options.threads is not None:
        _set_threads(options.threads)
    limits = Limits(**{name: getattr(options, name) for name in Limits.__dataclass_fields__})
    with open_socket(options.host, options.port) as listening:  # a port that is taken is found before the model
        service = make_service(options, limits)
        if not is_loopback(options.host):
            tell(
                f"warning: {options.host} is not this machine alone: "
                "whoever can reach it can use the model, without a password"
            )
        host = f"[{options.host}]" if ":" in options.host else options.host
        tell(f"serving {service.name} at http://{host}:{listening.getsockname()[1]}/v1/completions; Ctrl-C ends it")
        serve(service, listening, host=options.host, report=tell)
    tell("stopped")


def make_service(options: Options, limits: "Limits") -> "Service":
    """Return the model that the options name, ready to be served."""
    from anira.serving import Service

    model, tokenizer, name = load_served(options.model)
    check_room(slot_bytes(model.config, model.dtype.itemsize) * options.max_slots, f"--max-slots {options.max_slots}")
    return Service(
        model,
        tokenizer,
        name=name,
        limits=limits,
        max_slots=options.max_slots,
        select=options.select,
        threshold=options.threshold,
    )


def load_served(source: str) -> Served:
    """Return the model of a run or of a folder or hub id, with its tokenizer and a name."""
    from anira.evaluation.gsm_symbolic import load_model
    from anira.models import AniraForCausalLM
    from anira.training.checkpoint import without_bars
    from anira.training.model_folder import is_model_folder

    path = Path(source)
    with without_bars():
        if path.is_dir() and not is_model_folder(path):
            return _load_run(path)
        loaded = load_model(source)
    if not isinstance(loaded.model, AniraForCausalLM):
        kind = type(loaded.model).__name__
        raise UserError(f"{source} is a {kind}, not a model of this package: anira convert or anira retrofit makes one")
    return Served(loaded.model, loaded.tokenizer, loaded.name)


def _load_run(path: Path) -> Served:
    import torch

    from anira.training.checkpoint import CHECKPOINTS, listed_files
    from anira.training.run import load_run
    from anira.training.tokenizer import load_tokenizer

    _, model, step = load_run(path)
    tokenizer = load_tokenizer(listed_files(inside(path, CHECKPOINTS, f"step-{step}")))
    place: Any = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    name = "/".join(path.resolve().parts[-2:])  # preset, then hash and seed
    return Served(model.to(place), tokenizer, name)


def slot_bytes(config: "AniraConfig", itemsize: int) -> float:
    """Return the bytes of a slot in all core layers, with its share of the prelude's and the coda's."""
    assert config.num_key_value_heads is not None and config.head_dim is not None  # the configuration has set them
    key_values = 2 * config.num_key_value_heads * config.head_dim * itemsize
    others = (config.num_prelude_layers + config.num_coda_layers) / config.max_depth
    return key_values * (config.num_core_layers + others)


def _set_threads(count: int) -> None:
    import torch

    if not 1 <= count <= 1024:
        raise UserError(f"--threads must lie between 1 and 1,024, not {count}")
    torch.set_num_threads(count)
