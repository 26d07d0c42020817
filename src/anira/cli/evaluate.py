"""`anira evaluate RUN`: a checkpoint over a knob grid, into records."""

from dataclasses import dataclass, replace
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tyro.conf import Positional, arg

from anira.cli.output import say, tell
from anira.cli.parse import parse
from anira.cli.progress import progress
from anira.config import UserError, command, layout
from anira.config.folder import check_name, inside
from anira.config.ranges import parse_integers

if TYPE_CHECKING:
    from anira.evaluation import EvaluationConfig
    from anira.tasks import Task

SUMMARY = "Evaluate a checkpoint over a knob grid and write records for `anira analyze` and `anira report`."


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions:
    """What to evaluate, and how depth is chosen."""

    run: Positional[Annotated[Path, arg(metavar="RUN")]]
    """Folder of a run."""
    step: Annotated[int | None, arg(metavar="S")] = None
    """Checkpoint; the last one by default."""
    knobs: Annotated[str | None, arg(metavar="K")] = None
    """Such as 3:16 or 10,20,50; by default all that were trained (for each subtask its own)."""
    subtasks: Annotated[str | None, arg(metavar="NAMES")] = None
    """Such as sort,bfs, for a task that is several in one; all by default."""
    count: Annotated[int, arg(aliases=["-n"], metavar="N")] = 1000
    """Instances per knob."""
    select: Annotated[str | None, arg(metavar="RULE")] = None
    """How depth is chosen: a rule of the policy, such as mode, median, mean or quantile; by default its own."""
    threshold: Annotated[float | None, arg(metavar="T")] = None
    """Threshold of the rule; for anira-e and anira-o the cumulative probability to reach, with --select quantile."""
    generate: bool = False
    """Decode freely instead of reading the true answer along."""
    override: Literal["permuted"] | None = None
    """permuted: every token gets the depth of another token, at random."""
    depth: Annotated[str | None, arg(metavar="D")] = None
    """Force every token to depth D, to see whether depth is needed; 1:5 evaluates each depth from 1 to 5."""
    exits: Literal["real", "virtual"] = "real"
    """virtual: all iterations run for everyone, and the state at the chosen depth is picked."""
    max_depth: Annotated[int | None, arg(metavar="D")] = None
    """Offer another number of iterations than in training."""
    policy: Annotated[str | None, arg(metavar="NAME")] = None
    """Let a policy without weights choose, such as confidence or huginn, whatever the run was trained with."""
    name: Annotated[str | None, arg(metavar="NAME")] = None
    """Name of the records' folder; made from the options by default."""


def run(argv: list[str]) -> None:
    """Evaluate."""
    options = parse(EvaluateOptions, argv, prog="anira evaluate", description=SUMMARY)
    if options.count < 1:
        raise UserError(f"-n must be at least 1, not {options.count}")
    overrides = _overrides(options)
    if options.name is not None:
        check_name(options.name)
        if len(overrides) > 1:
            raise UserError("--name is for one evaluation: leave it out with several depths")
    from anira.evaluation import EvaluationConfig, choose_knobs, evaluated_cells
    from anira.models import attach_policy
    from anira.training.fitting import check_evaluation
    from anira.training.run import load_run

    loaded = load_run(options.run, options.step)
    task = loaded[0].make_task()
    if options.policy is not None:
        attach_policy(loaded[1], options.policy)
    loaded[1].policy.rule(options.select, options.threshold)  # before anything is written
    wanted = EvaluationConfig(
        knobs=choose_knobs(task, options.knobs, options.subtasks),
        count=options.count,
        select=options.select,
        threshold=options.threshold,
        decode="generated" if options.generate else "parallel",
    )
    cells = evaluated_cells(task, wanted.knobs)
    check_evaluation(cells, wanted.count, options.max_depth or loaded[0].model["max_depth"])
    for override in overrides:
        _evaluate(loaded, replace(wanted, override=override), options, cells)


def _evaluate(
    loaded: Any, wanted: "EvaluationConfig", options: EvaluateOptions, cells: "list[tuple[Task, int]]"
) -> None:
    """Make the records of one evaluation, with a bar, and say where they are."""
    from anira.training.evaluating import evaluate_loaded, evaluation_name

    name = evaluation_name(loaded[2], wanted, knobs=options.knobs or "", subtasks=options.subtasks or "")
    folder = inside(options.run, "records", options.name or name)
    total = len(cells) * wanted.count
    with progress(total, "instances") as advance:
        done = 0

        def note(now: int) -> None:
            nonlocal done
            advance(now - done)
            done = now

        figures = evaluate_loaded(loaded, wanted, folder, progress=note)
    following = command("anira", "analyze", options.run, "--evaluation", folder.name)
    tell(f"wrote {total} instances\n{_outcome(figures, cells)}\nnext: {following}")
    say(folder)


def _outcome(figures: list[dict[str, Any]], cells: "list[tuple[Task, int]]") -> str:
    """Return accuracy and mean answer depth by knob."""
    rows = []
    for one, (part, knob) in zip(figures, cells, strict=True):
        accuracy, depth = one["accuracy"], one.get("depth_answer", nan)
        rows.append([part.subtask, str(knob), part.knob.split(knob), f"{accuracy:.3f}", f"{depth:.2f}"])
    head = ["subtask", "knob", "split", "accuracy", "answer depth"]
    first = 0 if any(row[0] for row in rows) else 1
    return layout(head[first:], [row[first:] for row in rows])


def _overrides(options: EvaluateOptions) -> list[str]:
    """Return what takes the place of the policy's choice of depth, one for each evaluation."""
    given = {
        "--override": options.override or "",
        "--exits virtual": "virtual" if options.exits == "virtual" else "",
        "--max-depth": "" if options.max_depth is None else f"max-depth-{options.max_depth}",
        "--policy": "" if options.policy is None else f"policy-{options.policy}",
        "--depth": options.depth or "",
    }
    chosen = [name for name, value in given.items() if value]
    if len(chosen) > 1:
        raise UserError(f"{' and '.join(chosen)} do not go together")
    if options.max_depth is not None and options.max_depth < 1:
        raise UserError(f"--max-depth must be at least 1, not {options.max_depth}")
    if options.depth is None:
        return [given[chosen[0]] if chosen else ""]
    if options.select or options.threshold is not None:
        raise UserError("--depth forces the depth: leave out --override, --select and --threshold")
    depths = parse_integers(options.depth, "depths")
    if min(depths) < 1:
        raise UserError(f"--depth must be at least 1, not {min(depths)}")
    return [f"depth-{depth}" for depth in depths]
