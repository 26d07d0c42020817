"""`anira demo`: train ANIRA-E and ANIRA-O on a small task and make the page that shows what came out."""

import dataclasses
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from tyro.conf import arg

from anira.cli.drawing import draw_instance, draw_probes, legend
from anira.cli.output import say, tell
from anira.cli.parse import parse
from anira.config import UserError, command
from anira.tasks import make_task

if TYPE_CHECKING:
    from anira.training import TrainConfig

VARIANTS: Final = ("anira-e", "anira-o")
QUESTION: Final = "+ + 5 3 - 12 17"
STEPS: Final = 1500
_WHAT = """\
Whether depth follows difficulty can be seen where difficulty is known. MANO asks for the value of an expression; the
more operators it has (the knob, L), the more work its reference solver does. One instance, with that solver's state at
every token:
"""
_NEXT = """\
What to type next, after . .venv/bin/activate:
  {generate} "+ 1 * 2 3"
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
        Options, argv, prog="anira demo", description="Train ANIRA-E and ANIRA-O on a small task and show their depth."
    )
    if options.steps < 1:
        raise UserError(f"--steps must be at least 1, not {options.steps}")
    _show_instance()
    from anira.cli.report import write_report
    from anira.cli.train import start_or_resume

    options.out.mkdir(parents=True, exist_ok=True)
    runs = []
    for variant in VARIANTS:
        started = time.monotonic()
        runs.append(start_or_resume(demo_config(variant, options.steps), options.out / "runs"))
        tell(f"{variant}: {time.monotonic() - started:.0f} s\n")
    page = options.out / "report.html"
    write_report(runs, page)
    say(f"\n{_outcome(runs)}\n")
    say(_NEXT.format(generate=command("anira", "generate", runs[-1]), analyze=command("anira", "analyze", runs[-1])))
    say(f"The page with figures and tokens shaded by depth, to open in a browser:\n{page}")


def demo_config(variant: str, steps: int) -> "TrainConfig":
    """Return the cpu preset of MANO with fewer steps; eager, because compiling would take a third of the time."""
    import torch

    from anira.training.presets import preset

    chosen = preset(f"mano-{variant}-cpu")
    return dataclasses.replace(
        chosen,
        preset=f"mano-{variant}-demo",
        steps=steps,
        gamma_warmup_steps=steps // 2,
        eval_every=max(1, steps // 5),
        eval_count=100,
        final_count=500,
        checkpoint_every=max(1, steps // 5),
        threads=torch.get_num_threads(),
    ).resolved()


def _show_instance() -> None:
    task = make_task("mano")
    rows = task.read(QUESTION)
    width = shutil.get_terminal_size((100, 24)).columns
    say(f"{_WHAT}\n{draw_instance(task, rows, 0)}\n\n{draw_probes(task, rows, 0, width=width)}\n\n{legend(task)}\n")


def _outcome(runs: Sequence[Path]) -> str:
    """Return accuracy and depth by knob for each run, and what the slope of depth says, whatever it says."""
    from anira.analysis import choose_evaluation, findings, summarize
    from anira.analysis.tables import layout

    summaries = [summarize(choose_evaluation(run, None)) for run in runs]
    head = ["L", "majority", *(f"{s.labels.variant} {what}" for s in summaries for what in ("accuracy", "depth"))]
    table = layout(head, [_cells(rows) for rows in zip(*map(_by_knob, summaries), strict=True)])
    said = [f"{summary.labels.variant}: {findings(summary)[0]}" for summary in summaries]
    return "\n".join(["Accuracy and mean depth of answers, with 95% intervals", table, "", *said])


def _by_knob(summary: Any) -> list[tuple[Any, Any]]:
    return [pair for pair in zip(summary.accuracy, summary.depth, strict=True) if pair[0].knob is not None]


def _cells(rows: Sequence[tuple[Any, Any]]) -> list[str]:
    first = rows[0][0]
    cells = [str(first.knob), f"{first.majority:.2f}"]
    return cells + [estimate.text() for accuracy, depth in rows for estimate in (accuracy.exact, depth.answer)]
