"""Reading a command's words into its options: tyro does the work, errors become one line.

A command's options are a frozen dataclass. A command that takes a TASK also takes the fields of the task's own config,
so `anira sample mano --knob 5 --modulus 7` needs no code here or in `sample` that knows about MANO.
"""

import contextlib
import dataclasses
import io
import re
import textwrap
from typing import Annotated, Any, TypeVar

import tyro

from anira.config import UserError, check_finite
from anira.config.ranges import span
from anira.tasks import BlockTask, task_class, task_names

Opts = TypeVar("Opts")


def parse(options: type[Opts], argv: list[str], *, prog: str, description: str) -> Opts:
    """Return the options in `argv`; `--help` prints what they are and exits, a mistake is a UserError."""
    box = io.StringIO()
    try:
        with contextlib.redirect_stderr(box):
            parsed = tyro.cli(
                options, prog=prog, description=description, args=argv, config=(tyro.conf.FlagCreatePairsOff,)
            )
    except SystemExit as stop:
        if not stop.code:
            raise
        raise UserError(f"{fold(box.getvalue())} (see {prog} --help)") from None
    _check_numbers(parsed)
    return parsed


def _check_numbers(options: Any, prefix: str = "--") -> None:
    """Refuse nan and inf, which Python reads as numbers: no option has a use for them."""
    for field in dataclasses.fields(options):
        value, name = getattr(options, field.name), f"{prefix}{field.name.replace('_', '-')}"
        if dataclasses.is_dataclass(value):
            flat = any(getattr(mark, "name", None) == "" for mark in getattr(field.type, "__metadata__", ()))
            _check_numbers(value, prefix if flat else f"{name}.")
        check_finite(value, name)


def parse_with_task(options: type[Opts], argv: list[str], *, command: str, summary: str) -> tuple[Opts, BlockTask]:
    """Return the options of a command that takes a TASK as its first word, and the task with its own options set."""
    name, rest = (argv[0], argv[1:]) if argv else ("", [])
    if name in ("-h", "--help"):  # exits
        parse(options, ["--help"], prog=f"anira {command} TASK", description=f"{summary}\n\n{_task_list(command)}")
    if not name or name.startswith("-"):
        raise UserError(f"the task comes first: anira {command} TASK, where TASK is one of {', '.join(task_names())}")
    cls = task_class(name)
    both = _join(options, cls)
    parsed: Any = parse(both, rest, prog=f"anira {command} {name}", description=f"{summary}\n\n{describe(cls(None))}")
    return parsed.options, cls(parsed.config)


def describe(task: BlockTask) -> str:
    """Say what a task is and what its knob does."""
    knob = task.knob
    return (
        f"{task.name}: {task.summary}.\n\n"
        f"Knob {knob.name}: {knob.meaning}; {span(knob.seen)} in training, "
        f"{knob.minimum} to {knob.maximum} can be asked for."
    )


def fold(box: str) -> str:
    """Turn tyro's box of several lines into one line that says what is wrong, and what was perhaps meant.

    A box is a title, then sections between rules; its sides are drawn only where the terminal can. In a section,
    options are listed indented by 4, their help by 8.
    """
    plain = re.sub(r"\x1b\[[0-9;]*m", "", box)
    lines = [re.sub(r"^[|\u2502] ?| *[|\u2502]$", "", line) for line in plain.splitlines()[1:-1]]
    sections: list[list[str]] = [[]]
    for line in lines:
        if line.strip() and not line.strip(" -\u2500"):
            sections.append([])
        else:
            sections[-1].append(line)
    parts = [text for section in sections if (text := _section(section))]
    # An option that is not known often explains why another is missing.
    return "; ".join(sorted(parts, key=lambda text: not text.startswith("unknown")))


_WORDING = (
    (r"Unrecognized options:", "unknown option:"),
    (r"Perhaps you meant:", "perhaps you meant"),
    (r"Missing from .*?: ", "missing: "),
    (r"Got errors:.*", ""),
    (r"(For full|Argument) helptext.*", ""),
    (
        r"Error parsing (\S+): no type matching (?:\{None\}\|)?(.+) could be instantiated from \[(.*)\]\.",
        r"\1 must be \2, not \3",
    ),
    (r"Error parsing (\S+): invalid literal for int\(\) with base 10: (.*)", r"\1 must be INT, not \2"),
    (r"Error parsing (\S+): could not convert string to float: (.*)", r"\1 must be FLOAT, not \2"),
    (
        r"invalid choice '(.*)' for argument '(.*)'\. Expected one of \((.*)\)\.",
        r"\2 must be one of \3, not '\1'",
    ),
    (r"'None', |, 'None'", ""),  # tyro's word for an option that is left out
    (r"\{?\[(\w+) \[\w+ \.\.\.\]\]\}?", r"\1 \1 ..."),
    (r"Missing value for argument '(.*)'\..*", r"\1 needs a value"),
)


def _section(lines: list[str]) -> str:
    """Join one section of a box, leaving out the help of the options that it lists, in our own words."""
    lines = textwrap.dedent("\n".join(lines)).splitlines()
    listed = [line.strip() for line in lines if re.match(r" {4}\S", line)]
    text = " ".join([*(line.strip() for line in lines if not line.startswith("    ")), ", ".join(listed)])
    text = " ".join(text.split())
    for pattern, replacement in _WORDING:
        text = re.sub(pattern, replacement, text)
    return text.strip()


def _task_list(command: str) -> str:
    width = max(map(len, task_names()))
    rows = [f"  {name:{width}}  {task_class(name).summary}" for name in task_names()]
    own = f"Each has options of its own: anira {command} {task_names()[0]} --help"
    more = "More tasks: --plugin MODULE imports a module that registers them."
    return "\n".join(["TASK is one of", *rows, "", own, "", more])


def _join(options: type, task: type[BlockTask]) -> type:
    """Return a dataclass of a command's options and a task's config side by side, without prefixes."""
    shared = {field.name for field in dataclasses.fields(options)} & {
        field.name for field in dataclasses.fields(task.Config)
    }
    if shared:
        raise UserError(
            f"task {task.name!r} cannot be used here: its config has {', '.join(sorted(shared))}, "
            "which the command has too; rename the field of the task"
        )
    flat = tyro.conf.arg(name="")
    parts = [("options", Annotated[options, flat]), ("config", Annotated[task.Config, flat])]
    return side_by_side("Options", parts)


def side_by_side(name: str, fields: list[Any]) -> type:
    """Return a dataclass of these fields that stands in no file.

    tyro looks for comments beside fields, and would search a whole module of Python's for a class that is not in it,
    which takes almost half of the time. Of a class that is built in it knows that there are none.
    """
    return dataclasses.make_dataclass(name, fields, frozen=True, kw_only=True, namespace={"__module__": "builtins"})
