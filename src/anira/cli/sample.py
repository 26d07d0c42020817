"""`anira sample TASK`: instances that a person can read, or JSON lines for scripts."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from tyro.conf import arg

from anira.cli.output import say, say_json
from anira.cli.parse import parse_with_task
from anira.config import UserError
from anira.exchange.drawing import draw_instance, draw_probes, legend
from anira.exchange.rows import Address, probe_values, row_values
from anira.tasks import BlockTask, Rows

_MOST = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Options:
    """Which instances, and how they are shown."""

    knob: Annotated[int | None, arg(metavar="K", help_behavior_hint="(default: the training mixture)")] = None
    """Give all instances this knob."""
    count: Annotated[int | None, arg(aliases=["-n"], metavar="N", help_behavior_hint="(default: 1)")] = None
    """Number of instances."""
    seed: Annotated[int | None, arg(metavar="S", help_behavior_hint="(default: 0)")] = None
    """Seed of the rows."""
    split: Annotated[
        Literal["train", "valid", "eval"] | None,
        arg(metavar="{train,valid,eval}", help_behavior_hint="(default: train)"),
    ] = None
    """Stream that the rows come from."""
    question: Annotated[str | None, arg(metavar="TEXT", help_behavior_hint="(default: draw instances)")] = None
    """Answer this question, written as `anira sample` prints it, instead of drawing instances."""
    probes: bool = False
    """Draw the reference solver's probes under the tokens (--json always holds them)."""
    json: bool = False
    """Print one JSON object per line for scripts."""


def run(argv: list[str]) -> None:
    """Show some rows of a task, or the row of a question typed by hand."""
    options, task = parse_with_task(Options, argv, command="sample", summary="Show instances of a task.")
    for place, rows, i in _chosen(options, task):
        if options.json:
            say_json(_json(task, place, rows, i))
        else:
            say(f"{task.name}  {_title(place)}\n{draw_instance(task, rows, i)}")
            if options.probes:
                say(f"\n{draw_probes(task, rows, i, width=shutil.get_terminal_size((100, 24)).columns)}")
            say()
    if options.probes and not options.json:
        say(legend(task))


def _chosen(options: Options, task: BlockTask) -> Iterator[tuple[dict[str, Any], Rows, int]]:
    """Yield (where the row stands, rows, i) for every instance asked for."""
    drawn = {"--knob": options.knob, "-n": options.count, "--seed": options.seed, "--split": options.split}
    if options.question is not None:
        given = [name for name, value in drawn.items() if value is not None]
        if given:
            raise UserError(f"--question brings its own instance: leave out {', '.join(given)}")
        yield {"stream": None, "seed": None, "index": None}, task.read(options.question), 0
        return
    if options.count is not None and options.count > _MOST:
        raise UserError(f"sample prints at most {_MOST:,} instances: anira export {task.name} writes more, to a file")
    seed, stream, count = options.seed or 0, options.split or "train", 1 if options.count is None else options.count
    address = Address(seed=seed, stream=stream, start=0, count=count, knob=options.knob)
    address.first(task)  # a knob or a seed out of range is found here
    for start, rows in address.chunks(task):
        for i in range(len(rows)):
            yield {"stream": stream, "seed": seed, "index": start + i}, rows, i


def _title(place: dict[str, Any]) -> str:
    if place["index"] is None:
        return "your question"
    return f"{place['stream']} row {place['index']}, seed {place['seed']}"


def _json(task: BlockTask, place: dict[str, Any], rows: Rows, i: int) -> dict[str, Any]:
    tokens = [task.vocab.tokens[token] for token in rows.ids(i)]
    values = row_values(task, rows, i)
    return {"task": task.name, **place, **values, "tokens": tokens, "probes": probe_values(task, rows, i)}
