"""`anira explore RUN ...`: ask runs questions in the browser, and watch what every token does."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import Positional, arg

from anira.cli.output import say, tell
from anira.cli.parse import parse
from anira.config import Interrupted, UserError, how_to_install, write_file

if TYPE_CHECKING:
    from anira.explore import Explorer

SUMMARY = (
    "Ask up to three runs the same question, in a browser on this machine: depth of every token, exit probabilities, "
    "predictions after every iteration, and the same again under another rule, threshold or forced depth. With "
    "--export, write one page without a server."
)
PORT = 8420


@dataclass(frozen=True, kw_only=True)
class ExploreOptions:
    """Which runs, and where the page begins."""

    runs: Annotated[Positional[tuple[Path, ...]], arg(metavar="RUN ...")] = ()
    """Run folders of one task, up to three."""
    question: Annotated[str | None, arg(metavar="TEXT", help_behavior_hint="(default: a row of the eval stream)")] = (
        None
    )
    """The first question, written as `anira sample` prints it."""
    step: Annotated[int | None, arg(metavar="S", help_behavior_hint="(default: the last one)")] = None
    """Checkpoint."""
    export: Annotated[Path | None, arg(metavar="FILE", help_behavior_hint="(default: none)")] = None
    """Write the page with its answers to this file instead of serving it."""
    port: Annotated[int | None, arg(metavar="P", help_behavior_hint=f"(default: {PORT})")] = None
    """Where to serve; 0 is any port that is free."""


def run(argv: list[str]) -> None:
    """Serve the page, or write it."""
    options = parse(ExploreOptions, argv, prog="anira explore", description=SUMMARY)
    _check(options)
    from anira.explore import Explorer, load_runs

    explorer = Explorer(load_runs(options.runs, options.step))
    given = options.question
    first = explorer.pick(explorer.first_row) if given is None else explorer.problem(given)
    if options.export is None:
        _serve(explorer, first, PORT if options.port is None else options.port)
    else:
        _export(explorer, first, options.export)


def _check(options: ExploreOptions) -> None:
    """Find what is wrong before anything is loaded."""
    if not options.runs:
        raise UserError("name at least one run folder: anira explore RUN ...")
    if options.export is None:
        _require_server()
    elif options.port is not None:
        raise UserError("--export needs no server: leave out --port")
    elif options.export.suffix != ".html":
        raise UserError(f"--export writes a page: {options.export} must end with .html")


def _require_server() -> None:
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        needs = "anira explore needs starlette and uvicorn (--export works without)"
        raise UserError(f"{needs}: {how_to_install('serve')}") from error


def _export(explorer: "Explorer", first: dict[str, Any], path: Path) -> None:
    from anira.explore import Choice, render

    write_file(path, render(explorer.state(first, [Choice()] * len(explorer.runs))))
    say(path)


def _serve(explorer: "Explorer", first: dict[str, Any], port: int) -> None:
    from anira.explore.app import make_app
    from anira.explore.serving import serve

    def ready(address: str) -> None:
        say(address)
        tell("open this address in a browser on this machine; Ctrl-C ends it")

    try:
        serve(make_app(explorer, first), port, ready)
    except Interrupted:
        raise
    except KeyboardInterrupt:  # how a server is meant to end
        tell("stopped")
