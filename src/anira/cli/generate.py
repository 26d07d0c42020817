"""`anira generate RUN QUESTION`: an answer, with the depth of every token."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from anira.cli.drawing import visible
from anira.cli.output import say_coloured, say_json
from anira.cli.parse import parse
from anira.config import UserError, printable

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
    from anira.training.run import load_run

    config, model, step = load_run(options.run, options.step)
    model.policy.rule(options.select, options.threshold)
    task = config.make_task()
    result = _answer(model, task, options)
    if options.json:
        say_json({"run": str(options.run), "step": step, **result})
    else:
        say_coloured(_text(result, model.config.max_depth))


def _answer(model: Any, task: Any, options: GenerateOptions) -> dict[str, Any]:
    """Read the question, write as many tokens as the true answer has."""
    import torch

    from anira.inference import Stepwise

    rows = task.read(options.words[0])
    start = rows.answer_positions(0)[0]
    if not rows.has_one_answer(0):
        raise UserError("a question with several answers is not answered here: ask for one at a time")
    if start == 1 and options.words[0].split():  # a whole sentence of LANO: the model would not read any of it
        raise UserError("the question is a whole string, and nothing is left to write: leave out its <eos>")
    truth = rows.answer(0)
    session = Stepwise(model, select=options.select, threshold=options.threshold)
    token = torch.tensor([rows.ids(0)[:start]])
    ids, depths, written = list(rows.ids(0)[:start]), [], []
    for _ in truth:
        fed = session.feed(token)
        depths += fed.exit_depth[0].tolist()
        token = fed.logits.argmax(-1, keepdim=True)
        written.append(int(token))
    ids += written[:-1]
    grade = task.grade(rows, 0, written)
    return {
        "tokens": [task.vocab.tokens[i] for i in ids],
        "depths": depths,
        "answer": task.vocab.decode(written),
        "true_answer": task.vocab.decode(truth),
        "correct": grade.exact,
        "lenient_correct": grade.lenient,
        "mean_depth": session.cost().mean_depth,
    }


def _text(result: dict[str, Any], max_depth: int) -> str:
    """Lay tokens over their depths; on a terminal, deeper is darker."""
    truth = printable(result["true_answer"])
    other = f"right too, beside {truth}" if result["lenient_correct"] else f"wrong, it is {truth}"
    verdict = "right" if result["correct"] else other
    lines = _columns([visible(token) for token in result["tokens"]], result["depths"], max_depth)
    return "\n".join(
        [
            *lines,
            "",
            f"answer      {printable(result['answer'])} ({verdict})",
            f"mean depth  {result['mean_depth']:.2f} of {max_depth}",
        ]
    )


def _columns(tokens: list[str], depths: list[int], max_depth: int) -> list[str]:
    import shutil

    widths = [max(len(token), len(str(depth))) for token, depth in zip(tokens, depths, strict=True)]
    lines: list[str] = []
    start, room = 0, shutil.get_terminal_size().columns - 8
    while start < len(tokens):
        stop, used = start, 0
        while stop < len(tokens) and (stop == start or used + widths[stop] + 1 <= room):
            used += widths[stop] + 1
            stop += 1
        part = range(start, stop)
        lines.append("token   " + " ".join(_shade(f"{tokens[i]:>{widths[i]}}", depths[i], max_depth) for i in part))
        lines.append("depth   " + " ".join(f"{depths[i]:>{widths[i]}}" for i in part))
        start = stop
    return lines


def _shade(text: str, depth: int, max_depth: int) -> str:
    if not sys.stdout.isatty():
        return text
    level = 250 - round(16 * (depth - 1) / max(max_depth - 1, 1))  # the terminal's grey ramp, light to dark
    return f"\x1b[48;5;{level}m\x1b[38;5;{16 if level > 243 else 231}m{text}\x1b[0m"
