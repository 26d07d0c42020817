"""`anira tasks`: one row per task."""

from dataclasses import dataclass
from typing import Any

from anira.cli.output import say, say_json
from anira.cli.parse import parse
from anira.config import layout
from anira.config.ranges import span
from anira.tasks import make_task, task_names


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the list looks like."""

    json: bool = False
    """Print a JSON array for scripts."""


def run(argv: list[str]) -> None:
    """List all tasks with their default settings."""
    options = parse(Options, argv, prog="anira tasks", description="List the tasks.")
    tasks = [_facts(name) for name in task_names()]
    if options.json:
        say_json(tasks, indent=2)
    else:
        say(_table(tasks))


def _facts(name: str) -> dict[str, Any]:
    task = make_task(name)
    return {
        "name": name,
        "knob": task.knob.name,
        "knob_meaning": task.knob.meaning,
        "seen": list(task.knob.seen),
        "minimum": task.knob.minimum,
        "maximum": task.knob.maximum,
        "cost": task.knob.cost,
        "vocab_size": len(task.vocab),
        "probes": [probe.name for probe in task.probe_specs],
        "summary": task.summary,
    }


def _table(tasks: list[dict[str, Any]]) -> str:
    head = ("task", "knob", "trained", "possible", "cost law", "vocabulary", "asks for")
    rows = [
        (
            facts["name"],
            facts["knob"],
            span(facts["seen"]),
            f"{facts['minimum']} to {facts['maximum']}",
            facts["cost"],
            f"{facts['vocab_size']} tokens",
            facts["summary"],
        )
        for facts in tasks
    ]
    knobs = [f"{facts['knob']} of {facts['name']}: {facts['knob_meaning']}" for facts in tasks]
    return "\n".join([layout(head, rows), "", *knobs])
