"""`anira demo`: one policy on two tasks of equal size, one of which needs depth, and a page of what came out."""

import dataclasses
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from tyro.conf import arg

from anira.cli.output import say, tell
from anira.cli.parse import parse
from anira.cli.sweep import sweep
from anira.config import UserError, command, layout
from anira.exchange.drawing import draw_instance, draw_probes, legend
from anira.tasks import make_task

if TYPE_CHECKING:
    import polars as pl

    from anira.measure.tidy import Row
    from anira.training import TrainConfig

GROUPS: Final = {"S3": "words", "Z6": "words-z6"}
"""Groups of six elements with the names of their presets: in the second one the order of letters does not matter."""
SMALLEST: Final = 0.10
"""Iterations per letter that depth must rise more where it is needed, for the effect to be there."""
QUESTION: Final = "1 2 4"
STEPS: Final = 1800
COUNT: Final = 500
_WHAT = """\
Whether depth follows required work can be seen where that work is known. WORDS asks for the product of the letters of a
word, after every letter. Over S3, the permutations of three things, order matters: each product needs the one before.
Over Z6, numbers added modulo 6, it does not: counting is enough, however long the word. Both have six letters and the
same lengths. Training asks for every product of a word, a question for the last one. A word over S3 (021 leaves 0 in
place and swaps 1 and 2; questions and answers have the numbers of permutations in a list of all six):
"""
_NEXT = """\
What to type next{first}:
  {generate} "1 2 4 3"
  {analyze}
  anira tasks
  anira train mano-anira-o-smoke
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """How long the demo takes, and where it puts what it makes."""

    steps: Annotated[int, arg(metavar="N")] = STEPS
    """Optimizer steps of each of the two runs."""
    out: Annotated[Path, arg(metavar="DIR")] = Path("demo")
    """Folder of the runs and of the page; a second demo finds its runs there and starts at the end."""


def run(argv: list[str]) -> None:
    """Train, evaluate, look."""
    options = parse(
        Options, argv, prog="anira demo", description="Train ANIRA-O where depth is needed and where it is not."
    )
    if options.steps < 1:
        raise UserError(f"--steps must be at least 1, not {options.steps}")
    _show_instance()
    from anira.cli.report import ReportOptions, write_report

    tell(f"training ANIRA-O for {options.steps} steps over {' and over '.join(GROUPS)}: some minutes")
    runs = _train([demo_config(group, options.steps) for group in GROUPS], options.out / "runs")
    for path in runs:
        _force_depths(path)
    page = options.out / "report.html"
    write_report(ReportOptions(runs=tuple(runs), out=page))
    say(f"\n{_outcome(runs)}\n")
    first = ", after . .venv/bin/activate" if Path(".venv/bin/activate").exists() else ""
    generate, analyze = (command("anira", name, runs[0]) for name in ("generate", "analyze"))
    say(_NEXT.format(first=first, generate=generate, analyze=analyze))
    say(f"The page with charts and tokens shaded by depth, to open in a browser:\n{page}")


def demo_config(group: str, steps: int) -> "TrainConfig":
    """Return the cpu preset of a group with fewer steps; eager, because compiling would take a third of the time."""
    from anira.training.presets import preset

    name = GROUPS[group]
    return dataclasses.replace(
        preset(f"{name}-anira-o-cpu"),
        preset=f"{name}-anira-o-demo",
        steps=steps,
        eval_every=max(1, steps // 5),
        eval_count=100,
        final_count=COUNT,
        checkpoint_every=max(1, steps // 5),
        threads=1,
    ).resolved()


def _train(configs: Sequence["TrainConfig"], out: Path) -> list[Path]:
    """Train runs side by side, one core each."""
    from anira.config.strict import run_id, stored_values
    from anira.sweeps.launch import cores
    from anira.sweeps.plan import PlannedRun

    runs = [PlannedRun(id=run_id(stored_values(config)), config=config, changes={}) for config in configs]
    sweep(runs, out, jobs=min(cores(), len(runs)))
    return [out / run.id for run in runs]


def _force_depths(run: Path) -> None:
    from anira.evaluation import EvaluationConfig, evaluate
    from anira.training.evaluating import subject_of
    from anira.training.run import load_run

    config, model, step = load_run(run)
    for depth in range(1, model.config.max_depth + 1):
        wanted = EvaluationConfig(count=COUNT, override=f"depth-{depth}")
        evaluate(model, config.make_task(), wanted, subject_of(config, step), run / "records" / wanted.override)


def _show_instance() -> None:
    task = make_task("words")
    rows = task.read(QUESTION)
    width = shutil.get_terminal_size((100, 24)).columns
    say(f"{_WHAT}\n{draw_instance(task, rows, 0)}\n\n{draw_probes(task, rows, 0, width=width)}\n\n{legend(task)}\n")


def _outcome(runs: Sequence[Path]) -> str:
    """Return accuracy and depth by length for each group, and what the slopes of depth say, whatever they say."""
    from anira.measure import measure
    from anira.measure.tidy import find
    from anira.site.report.answer import movement

    tables = dict(zip(GROUPS, map(measure, runs), strict=True))
    knobs = tables["S3"].filter(quantity="accuracy")["knob"].drop_nulls().to_list()
    head = ["letters", *(f"{group} {name}" for group in GROUPS for name in ("accuracy", "at depth 1", "depth"))]
    rows = [[str(knob), *(text for table in tables.values() for text in _line(table, knob))] for knob in knobs]
    slopes = {group: find(table, "slope") for group, table in tables.items()}
    said = [*(f"{group}: {movement(slope)}." for group, slope in slopes.items()), _effect(*slopes.values())]
    return "\n".join(["Accuracy and mean depth of answers, with 95% intervals", layout(head, rows), "", *said])


def _effect(needed: "Row", control: "Row") -> str:
    """Say whether depth rises more where each product needs the one before."""
    values = needed["value"] or 0.0, control["value"] or 0.0  # a depth that is the same everywhere has no slope
    there = needed["low"] is not None and needed["low"] > 0 and values[0] - values[1] >= SMALLEST
    rises = "{:.2f} iterations per letter over S3 and {:.2f} over Z6".format(*values)
    said = "The effect appeared" if there else "The effect did not appear"
    return f"{said}: depth rises by {rises}. One seed each: this is a look, not a verdict."


def _line(table: "pl.DataFrame", knob: int) -> list[str]:
    """Return accuracy, accuracy with all tokens at depth 1, and depth, at one length."""
    from anira.measure.tidy import find
    from anira.site.tables import estimate_text

    shown = (("accuracy", "all"), ("forced_accuracy", "depth-1"), ("depth", "answer"))
    return [estimate_text(find(table, name, knob=knob, subset=subset)) for name, subset in shown]
