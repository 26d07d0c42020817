"""The runs of a comparison: each policy with each seed, and fixed depth trained at every depth.

What is finished is used, wherever it lies; the rest is planned for a sweep. Then the evaluations: the policy's own
rule (made by training), every token forced to each depth, virtual exits, and the thresholds of the policy's rule.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from anira.config import UserError, nearest
from anira.evaluation import EvaluationConfig
from anira.models.policies import ComputePolicy, Rules, ThresholdRange, policy_class
from anira.models.policies.rules import threshold_rule
from anira.paper.files import evaluated
from anira.paper.setting import Setting, UsedRun
from anira.sweeps.plan import Group, Plan, PlannedRun, planned_runs
from anira.tasks import make_task
from anira.training import RunFolder, TrainConfig
from anira.training.config import variant_model
from anira.training.presets import preset, setting_names

FIXED: Final = "fixed"
_DEPTH: Final = "model.max_depth"
COUNT: Final = 300
"""Instances per knob in the evaluations that a comparison makes."""
_WIDTHS: Final = (0.1, 0.3, 0.5, 0.7, 0.9)
_FACTORS: Final = (1 / 16, 1 / 4, 1.0, 4.0, 16.0)


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What is compared."""

    task: str
    """As presets name it: words, words-z6, mano."""
    policies: tuple[str, ...]
    seeds: int = 3
    scale: str = "cpu"
    set: Mapping[str, Any] = field(default_factory=dict)
    """Options that are not the presets', by the names that `anira train` has for them."""
    count: int = COUNT
    plugins: tuple[str, ...] = ()
    """Modules that the policies come from, for the command that makes the page again."""


def check(comparison: Comparison) -> None:
    """Raise a UserError for a task or policy that does not exist, or that cannot be compared."""
    task, policies = comparison.task, comparison.policies
    if task not in setting_names():
        raise UserError(f"unknown task {task!r}: {nearest(task, setting_names())}")
    if not policies or len(set(policies)) < len(policies):
        raise UserError(f"policies must be distinct, and at least one: {', '.join(policies)!r}")
    for name in policies:
        variant_model(name)
    if comparison.seeds < 1 or comparison.count < 1:
        raise UserError("the numbers of seeds and of instances must be at least 1")
    config = preset(f"{task}-{policies[0]}-{comparison.scale}")
    if len(make_task(config.task, config.task_config).parts()) > 1:
        raise UserError(f"task {task!r} is several in one, whose knobs do not compare: choose another task")


def plan(comparison: Comparison) -> list[PlannedRun]:
    """Return all runs of a comparison: fixed depth at every depth up to the others' largest, and second stages."""
    check(comparison)
    groups = [group for name in comparison.policies for group in _groups(comparison, name)]
    return planned_runs(Plan(groups=tuple(groups)))


def _groups(comparison: Comparison, name: str) -> list[Group]:
    preset_name, changes = f"{comparison.task}-{name}-{comparison.scale}", dict(comparison.set)
    grid = {}
    if name == FIXED:
        most = changes.pop(_DEPTH, preset(preset_name).model["max_depth"])
        grid = {_DEPTH: list(range(1, int(most) + 1))}
    first = Group(name=name, presets=(preset_name,), seeds=tuple(range(comparison.seeds)), set=changes, grid=grid)
    more = policy_class(variant_model(name)["policy"]["name"]).second_stage
    return [first, replace(first, name="", set={**changes, **more, "init_from": name})] if more else [first]


def evaluations(run: UsedRun, setting: Setting, count: int) -> list[Path]:
    """Return the evaluation folders of a run at its last step, after making those that are missing."""
    config = RunFolder(run.folder).read_config()
    wanted = _wanted(_policy(config), config.model["max_depth"], min(count, config.final_count))
    made = [evaluated(run, f"compare-n{one.count}-{name}", one, setting) for name, one in wanted.items()]
    return [*made, own_evaluation(run, setting)]


def own_evaluation(run: UsedRun, setting: Setting) -> Path:
    """Return the evaluation that ended a run's training; where it was published without records, make it again."""
    count = RunFolder(run.folder).read_config().final_count
    return evaluated(run, "final", EvaluationConfig(count=count), setting)


def _policy(config: TrainConfig) -> ComputePolicy:
    """Return the policy with its options, which may decide its rules."""
    model = config.make_model_config(config.make_task())
    return policy_class(model.policy["name"])(model)


def _wanted(policy: ComputePolicy, max_depth: int, count: int) -> dict[str, EvaluationConfig]:
    """Return the evaluations of a run beside the one that ends its training, by name."""
    plain = EvaluationConfig(count=count)
    wanted = {f"depth-{depth}": replace(plain, override=f"depth-{depth}") for depth in range(1, max_depth + 1)}
    if policy.timing in ("early", "online"):
        wanted["virtual"] = replace(plain, override="virtual")
    for select, threshold in swept(policy.rules, policy.rule().select):
        wanted[f"{select}-t{threshold:g}"] = replace(plain, select=select, threshold=threshold)
    return wanted


def swept(rules: Rules, default: str) -> list[tuple[str, float]]:
    """Return the thresholds to try of the rule that takes one: the policy's default rule, or else the first.

    >>> swept({"mode": None, "quantile": ThresholdRange(low=0.0, high=1.0)}, "mode")
    [('quantile', 0.1), ('quantile', 0.3), ('quantile', 0.5), ('quantile', 0.7), ('quantile', 0.9)]
    >>> swept({}, "")
    []
    """
    select = threshold_rule(rules, default)
    bounds = rules.get(select)
    if bounds is None:
        return []
    return [(select, threshold) for threshold in _thresholds(bounds) if threshold != bounds.default]


def _thresholds(bounds: ThresholdRange) -> list[float]:
    """Return five thresholds: across a narrow range, or around the default where that is small in its range."""
    width, default = bounds.high - bounds.low, bounds.default
    if default is not None and default - bounds.low < width / 20:
        tried = [default * factor for factor in _FACTORS]
    else:
        tried = [bounds.low + width * share for share in _WIDTHS]
    return [float(f"{value:.4g}") for value in tried if bounds.holds(value)]


def knob_words(comparison: Comparison) -> str:
    """Return what the task calls its knob, and what that means."""
    config = preset(f"{comparison.task}-{comparison.policies[0]}-{comparison.scale}")
    knob = make_task(config.task, config.task_config).knob
    return f"{knob.name}: {knob.meaning}"


def label(run: PlannedRun, most: int) -> str:
    """Name a run on the page: its variant, its stage, and the depth of a fixed one that is shallower than others."""
    if run.config.init_from:
        return f"{run.config.variant}, stage 2"
    depth = run.config.model["max_depth"]
    return f"{FIXED}-{depth}" if run.config.variant == FIXED and depth < most else run.config.variant
