"""`anira bench NAME`: speed on this machine, by the benchmarks of a checkout."""

import dataclasses
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import anira
from anira.cli.output import say, say_json, tell
from anira.cli.parse import parse
from anira.config import UserError, nearest


def run(argv: list[str]) -> None:
    """Run a benchmark, or list them."""
    listed = _benchmarks()
    if not argv or argv[0] in ("-h", "--help"):
        say(_list(listed.BENCHMARKS))
        return
    name, *rest = argv
    if name not in listed.BENCHMARKS:
        raise UserError(f"unknown benchmark {name!r}: {nearest(name, listed.BENCHMARKS)}")
    summary, kind = listed.BENCHMARKS[name]
    options = parse(kind, rest, prog=f"anira bench {name}", description=f"Measure {summary}.")
    listed.check(options)
    asked = {field.name: getattr(options, field.name) for field in dataclasses.fields(options) if field.name != "json"}
    result = import_module(f"benchmarks.{name}").bench(**asked, report=lambda text: tell(f"measuring {text}"))
    if options.json:
        say_json(result, indent=2)
    else:
        say(import_module("benchmarks.tables").result_text(result))


def _benchmarks() -> Any:
    """Return the list of benchmarks, from the checkout that the package lies in or from the current folder."""
    for root in (Path(anira.__file__).parents[2], Path.cwd()):
        if (root / "benchmarks" / "options.py").is_file() and (root / "src" / "anira").is_dir():
            sys.path.append(str(root))
            return import_module("benchmarks.options")
    raise UserError(
        "benchmarks are part of the repository, not of the installed package: "
        "go to the folder of a checkout of anira, and call anira bench there"
    )


def _list(benchmarks: dict[str, Any]) -> str:
    width = max(map(len, benchmarks))
    lines = [f"  {name:{width}}  {summary}" for name, (summary, _) in benchmarks.items()]
    return "\n".join(
        ["usage: anira bench NAME [--json] [options]", "", "Measure speed on this machine. NAME is", *lines]
    )
