"""`anira demo`: what the package does so far, in seconds, on the screen and in ./demo."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from anira.cli.drawing import draw_instance, draw_probes, legend
from anira.cli.export import export
from anira.cli.parse import describe, parse
from anira.cli.rows import Address
from anira.tasks import make_task

EXAMPLES: Final = {
    "mano": "+ + 5 3 - 12 17",
    "brevo": "n19 n05 n08 n05 n05 n12 n18 n12 n08 n18 <query> n12",
    "depo": "v38 v26 v31 v33 v33 v03 v03 v38 v26 v31 <query-03> v03",
}
"""A small question for each task, as `anira sample TASK --question` takes it."""
ROWS: Final = 1000
FOLDER: Final = Path("demo")
_NEXT = """\
What to type next:
  anira tasks                                             what there is
  anira sample mano --knob 5 --probes                     another instance, harder or easier
  anira sample depo --question "{depo}"
  anira export brevo --split eval -n 1000 --out brevo.jsonl
  anira train mano-anira-o-smoke                          a model in seconds; then evaluate, analyze, report
  anira bench tasks                                       speed on this machine
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """The demo has none."""


def run(argv: list[str]) -> None:
    """Show an instance of each task with its probes, and write a first Parquet file."""
    parse(Options, argv, prog="anira demo", description="Show an instance of every task; write some rows to ./demo.")
    for name, question in EXAMPLES.items():
        _show(name, question)
    path = _write("mano")
    print(f"Made: {path}, {ROWS} rows of mano with probes. In Python: polars.read_parquet({str(path)!r})\n")
    print(_NEXT.format(depo=EXAMPLES["depo"]), end="")


def _show(name: str, question: str) -> None:
    task = make_task(name)
    rows = task.read(question)
    width = shutil.get_terminal_size((100, 24)).columns
    print(f"{describe(task)}\n\n{draw_instance(task, rows, 0)}\n\n{draw_probes(task, rows, 0, width=width)}\n")
    print(f"{legend(task)}\n")


def _write(name: str) -> Path:
    """Write a small evaluation set; a file of an earlier demo is replaced."""
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{name}.parquet"
    address = Address(seed=0, stream="eval", start=0, count=ROWS, knob=None)
    export(make_task(name), address, path, probes=True, advance=lambda rows: None)
    return path
