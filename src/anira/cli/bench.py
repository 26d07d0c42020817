"""`anira bench NAME`: figures of speed on this machine."""

import json
import sys
from dataclasses import dataclass
from typing import Annotated, Any, Final

from tyro.conf import arg

from anira.cli.parse import parse
from anira.config import UserError, nearest


@dataclass(frozen=True, kw_only=True)
class TasksOptions:
    """How long to measure."""

    rows: Annotated[int, arg(metavar="N")] = 8192
    """Rows that each generator makes in a repeat; a multiple of 4096."""
    repeats: Annotated[int, arg(metavar="R")] = 5
    """Repeats; the figures are medians."""
    json: bool = False
    """Print one JSON object for scripts."""


def _run_tasks(argv: list[str]) -> None:
    summary = BENCHMARKS["tasks"][1]
    options = parse(TasksOptions, argv, prog="anira bench tasks", description=f"Measure the {summary}.")
    from anira.bench.tasks import bench_tasks

    def report(text: str) -> None:
        print(f"measuring {text}", file=sys.stderr, flush=True)

    result = bench_tasks(rows=options.rows, repeats=options.repeats, report=report)
    print(json.dumps(result, indent=2) if options.json else _tasks_table(result))


def _tasks_table(result: dict[str, Any]) -> str:
    facts = result["machine"]
    lines = [
        f"{facts['cpu']}, Python {facts['python']}, numpy {facts['numpy']}, one thread, CPU time",
        f"medians of {result['repeats']} repeats",
        "",
        "task     instances/s      tokens/s   plain instances/s   ratio   bar",
    ]
    for speed in result["tasks"]:
        lines.append(
            f"{speed['task']:6} {speed['instances_per_second']:13,.0f} {speed['tokens_per_second']:13,.0f}"
            f" {speed['plain_instances_per_second']:19,.0f} {speed['ratio']:7.1f} {speed['bar']:5.0f}  {_met(speed)}"
        )
    lines += ["", "command           seconds   aim"]
    for start in result["startup"]:
        lines.append(f"{start['command']:16} {start['seconds']:8.2f} {start['aim']:5.1f}  {_met(start)}")
    return "\n".join(lines)


def _met(figure: dict[str, Any]) -> str:
    return "met" if figure["met"] else "NOT met"


BENCHMARKS: Final = {
    "tasks": (_run_tasks, "generators of the tasks beside plain ones, and the start of the command line"),
}
"""Name -> (function of the words that follow it, summary)."""


def run(argv: list[str]) -> None:
    """Run a benchmark, or list them."""
    if not argv or argv[0] in ("-h", "--help"):
        print(_list())
        return
    name, *rest = argv
    if name not in BENCHMARKS:
        raise UserError(f"unknown benchmark {name!r}: {nearest(name, BENCHMARKS)}")
    benchmark, _ = BENCHMARKS[name]
    benchmark(rest)


def _list() -> str:
    width = max(map(len, BENCHMARKS))
    lines = [f"  {name:{width}}  {summary}" for name, (_, summary) in BENCHMARKS.items()]
    return "\n".join(
        ["usage: anira bench NAME [--json] [options]", "", "Measure speed on this machine. NAME is", *lines]
    )
