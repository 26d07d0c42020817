"""`anira generate RUN QUESTION`: an answer, with the depth of every token."""

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from anira.cli.output import say_coloured, say_json
from anira.cli.parse import parse
from anira.config import UserError, printable
from anira.exchange.drawing import draw_bands, visible

SUMMARY = "Answer a question and show the depth of every token. QUESTION is written as `anira sample` prints it."


@dataclass(frozen=True, kw_only=True)
class GenerateOptions:
    """The question, and how depth is chosen."""

    run: Positional[Annotated[Path, arg(metavar="RUN")]]
    """Folder of a run."""
    words: Annotated[Positional[tuple[str, ...]], arg(metavar="QUESTION", help_behavior_hint="(required)")] = ()
    """In quotes, such as "+ + 1 3 4 <ans>"."""
    step: Annotated[int | None, arg(metavar="S")] = None
    """Checkpoint; the last one by default."""
    select: Annotated[str | None, arg(metavar="RULE")] = None
    """How depth is chosen: a rule of the policy, such as mode, median, mean or quantile; by default its own."""
    threshold: Annotated[float | None, arg(metavar="T")] = None
    """Threshold of the rule; for anira-e and anira-o the cumulative probability to reach, with --select quantile."""
    json: bool = False
    """Print one JSON object for scripts."""


def run(argv: list[str]) -> None:
    """Answer and show."""
    options = parse(GenerateOptions, argv, prog="anira generate", description=SUMMARY)
    if len(options.words) != 1:  # several runs by a glob, or a question without its quotes
        raise UserError('generate takes one RUN and one QUESTION in quotes, as in anira generate RUN "+ 1 * 2 3"')
    from anira.evaluation.answer import answer
    from anira.training.run import load_run

    config, model, step = load_run(options.run, options.step)
    model.policy.rule(options.select, options.threshold)
    (question,) = options.words
    result = answer(model, config.make_task(), question, select=options.select, threshold=options.threshold)
    if options.json:
        say_json({"run": str(options.run), "step": step, **result})
    else:
        say_coloured(_text(result, model.config.max_depth))


def _text(result: dict[str, Any], max_depth: int) -> str:
    """Lay tokens over their depths; on a terminal, deeper is darker."""
    truth = printable(result["true_answer"])
    other = f"right too, beside {truth}" if result["lenient_correct"] else f"wrong, it is {truth}"
    verdict = "right" if result["correct"] else other
    depths = result["depths"]
    lines = {"token": list(map(visible, result["tokens"])), "depth": list(map(str, depths))}
    bands = draw_bands(
        lines,
        width=shutil.get_terminal_size().columns,
        shade=lambda i, cell: _shade(cell, depths[i], max_depth),
    )
    answer = f"answer      {printable(result['answer'])} ({verdict})"
    return "\n".join([*bands, "", answer, f"mean depth  {result['mean_depth']:.2f} of {max_depth}"])


def _shade(text: str, depth: int, max_depth: int) -> str:
    if not sys.stdout.isatty():
        return text
    level = 250 - round(16 * (depth - 1) / max(max_depth - 1, 1))  # the terminal's grey ramp, light to dark
    return f"\x1b[48;5;{level}m\x1b[38;5;{16 if level > 243 else 231}m{text}\x1b[0m"
