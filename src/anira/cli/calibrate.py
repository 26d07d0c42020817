"""`anira calibrate RUN`: the threshold that saves most and keeps a promise about what it changes."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from anira.cli.output import say, say_json
from anira.cli.parse import parse
from anira.config import UserError, command

SUMMARY = (
    "Choose the threshold of a rule by Learn-then-Test (as CALM does): tokens exit as early as they can, and the share "
    "of answer tokens whose prediction differs from that at full depth stays below a tolerance. The promise holds with "
    "probability 1 - LEVEL over the rows that it is tested on, which neither training nor evaluation reads."
)


@dataclass(frozen=True, kw_only=True)
class Options:
    """Which rule, and what is promised."""

    run: Positional[Annotated[Path, arg(metavar="RUN")]]
    """Folder of a run."""
    step: Annotated[int | None, arg(metavar="S")] = None
    """Checkpoint; the last one by default."""
    policy: Annotated[str | None, arg(metavar="NAME")] = None
    """Let a policy without weights choose, such as confidence or huginn, whatever the run was trained with."""
    select: Annotated[str | None, arg(metavar="RULE")] = None
    """The rule that takes the threshold; by default the policy's own, or its only one."""
    tolerance: Annotated[float, arg(metavar="T")] = 0.05
    """Share of answer tokens that may differ from full depth."""
    level: Annotated[float, arg(metavar="P")] = 0.05
    """Probability that the promise may fail."""
    thresholds: Annotated[int, arg(metavar="N")] = 20
    """How many thresholds are tested, from the deepest on, evenly over the rule's range."""
    count: Annotated[int, arg(aliases=["-n"], metavar="N")] = 1000
    """Rows to test on, over all trained knobs."""
    json: bool = False
    """Print one JSON object for scripts."""


def run(argv: list[str]) -> None:
    """Calibrate and say what was found."""
    options = parse(Options, argv, prog="anira calibrate", description=SUMMARY)
    for name, value, most in (("-n", options.count, 10**6), ("--thresholds", options.thresholds, 1000)):
        if not 1 <= value <= most:
            raise UserError(f"{name} must lie between 1 and {most}, not {value}")
    from anira.evaluation.calibration import Promise, calibrated, rule_to_calibrate
    from anira.models import attach_policy
    from anira.training.run import load_run

    config, model, step = load_run(options.run, options.step)
    if options.policy is not None:
        attach_policy(model, options.policy)
    rule = rule_to_calibrate(model, options.select)
    promise = Promise(**{field.name: getattr(options, field.name) for field in fields(Promise)})
    threshold, iterations = calibrated(model, config.make_task(), rule, promise)
    found = {"run": str(options.run), "step": step, "policy": model.policy.name, "select": rule[0]}
    found |= {"rows": options.count, "threshold": threshold, "iterations": iterations}
    if options.json:
        say_json(found)
    else:
        say(_text(found, options))


def _text(found: dict[str, Any], options: Options) -> str:
    promise = f"at most {options.tolerance:.1%} of answer tokens differ from full depth"
    if found["threshold"] is None:
        return f"no threshold of rule {found['select']!r} keeps the promise that {promise}: use full depth"
    words = ["anira", "evaluate", options.run, *(("--policy", options.policy) if options.policy else ())]
    following = command(*words, "--select", found["select"], "--threshold", f"{found['threshold']:g}")
    return (
        f"rule {found['select']!r} with threshold {found['threshold']:g}: {promise}, with probability "
        f"{1 - options.level:.0%} over the choice of {found['rows']} rows\n"
        f"{found['iterations']:.2f} iterations per token\nnext: {following}"
    )
