"""`anira calibrate RUN`: the threshold that saves most and keeps a promise about what it changes."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from tyro.conf import Positional, arg

from anira.cli.output import say, say_json
from anira.cli.parse import parse
from anira.config import UserError, command, nearest

if TYPE_CHECKING:
    from torch import Tensor

    from anira.models import AniraForCausalLM
    from anira.models.policies import ThresholdRange
    from anira.tasks import BlockTask, Rows

_BATCH: Final = 256

SUMMARY = (
    "Choose the threshold of a rule by Learn-then-Test (as CALM does): tokens exit as early as they can, and the share "
    "of answer tokens that are predicted unlike at full depth stays below a tolerance. The promise holds with "
    "probability 1 - LEVEL over the rows that it is tested on, which are none of training and evaluation."
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
    """Rows that are tested on, over all trained knobs."""
    json: bool = False
    """Print one JSON object for scripts."""


def run(argv: list[str]) -> None:
    """Calibrate and say what was found."""
    options = parse(Options, argv, prog="anira calibrate", description=SUMMARY)
    for name, value, most in (("-n", options.count, 10**6), ("--thresholds", options.thresholds, 1000)):
        if not 1 <= value <= most:
            raise UserError(f"{name} must lie between 1 and {most}, not {value}")
    from anira.models import attach_policy
    from anira.training.run import load_run

    config, model, step = load_run(options.run, options.step)
    if options.policy is not None:
        attach_policy(model, options.policy)
    rule = _rule(model, options.select)
    found = {"run": str(options.run), "step": step, "policy": model.policy.name, "select": rule[0]}
    found |= {"rows": options.count, **_calibrated(model, config.make_task(), rule, options)}
    if options.json:
        say_json(found)
    else:
        say(_text(found, options))


def _rule(model: "AniraForCausalLM", select: str | None) -> tuple[str, "ThresholdRange"]:
    """Return the rule whose threshold is chosen, and the thresholds that it takes."""
    from anira.models.policies.rules import threshold_rule

    policy = model.policy
    own = threshold_rule(policy.rules, policy.rule().select)
    if not own:
        raise UserError(f"no rule of policy {policy.name!r} takes a threshold: there is nothing to choose")
    name = select or own
    bounds = policy.rules.get(name)
    if bounds is None:
        raise UserError(f"policy {policy.name!r} has no rule {name!r} with a threshold: {nearest(name, policy.rules)}")
    return name, bounds


def _grid(bounds: "ThresholdRange", number: int) -> list[float]:
    """Return thresholds evenly over a range, or over the four decades around the default where that is small in it."""
    default, width = bounds.default, bounds.high - bounds.low
    if default is not None and 0 < default - bounds.low < width / 20:
        return [default * 10 ** (4 * (i + 1) / number - 2) for i in range(number)]
    return [bounds.low + width * (i + 1) / number for i in range(number)]


def _calibrated(
    model: "AniraForCausalLM", task: "BlockTask", rule: tuple[str, "ThresholdRange"], options: Options
) -> dict[str, Any]:
    """Return the chosen threshold with what it costs, on rows of the stream that nothing else reads."""
    import numpy as np

    from anira.evaluation.predict import Settings, predict
    from anira.inference.calibration import consistency_losses, learn_then_test

    select, bounds = rule
    thresholds = _grid(bounds, options.thresholds)
    parts = [
        task.rows(seed=0, stream="valid", start=start, count=min(_BATCH, options.count - start))
        for start in range(0, options.count, _BATCH)
    ]
    losses = [consistency_losses(model, *_tensors(part), thresholds=thresholds, select=select) for part in parts]
    together = np.concatenate(losses, axis=1)
    threshold = learn_then_test(thresholds, together, options.tolerance, options.level, bounds.deeper)
    if threshold is None:
        return {"threshold": None, "iterations": float(model.config.max_depth)}
    said = [predict(model, part, Settings(select=select, threshold=threshold)).executed.sum() for part in parts]
    tokens = sum(int(part.lengths.sum()) for part in parts)
    return {"threshold": round(threshold, 12), "iterations": float(sum(said) / tokens)}


def _tensors(rows: "Rows") -> tuple["Tensor", "Tensor", "Tensor"]:
    """Return tokens, labels and which tokens are no padding."""
    import torch

    ids, labels, lengths = (torch.from_numpy(v.astype("int64")) for v in (rows.input_ids, rows.labels, rows.lengths))
    return ids, labels, (torch.arange(ids.shape[1]) < lengths[:, None]).long()


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
