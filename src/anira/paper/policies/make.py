"""A comparison from finished runs to its page: evaluate what is missing, measure, write."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from anira.models.policies import policy_names
from anira.paper.outcome import write_outcome
from anira.paper.policies.measure import Compared, compared, is_shallow
from anira.paper.policies.page import make_page
from anira.paper.policies.runs import (
    Comparison,
    evaluations,
    knob_words,
    label,
    own_evaluation,
    plan,
    with_task,
)
from anira.paper.runs import evaluate_planned, unfinished
from anira.paper.setting import Outcome, Setting, UsedRun
from anira.sweeps.plan import PlannedRun

TWINS: Final = {"words": "words-z6"}
"""Tasks with a twin of equal size in which the order of things does not matter."""
SEEDS: Final = 3
NAME: Final = "policies"


@dataclass(frozen=True)
class _Measured:
    found: Compared
    runs: tuple[UsedRun, ...]


def make_comparison(comparison: Comparison, setting: Setting, *, name: str = "") -> Outcome:
    """Write NAME.html, NAME.json and NAME*.csv of a comparison whose runs are finished; return what was made.

    The abelian twin stands beside it where all its runs are finished too.
    """
    name = name or f"{NAME}-{comparison.task}"
    measured = _measure(comparison, setting)
    twin = _twin(comparison, setting)
    tables = {f"{name}.csv": measured.found.runs, f"{name}-seeds.csv": measured.found.seeds}
    if twin is not None:
        tables[f"{name}-twin.csv"] = twin.found.runs
    page = partial(
        make_page,
        measured.found,
        scale=comparison.scale,
        knob=knob_words(comparison),
        command=_command(comparison) if name != NAME else f"anira reproduce {NAME} --scale {comparison.scale}",
        twin=None if twin is None else twin.found,
    )
    runs = (*measured.runs, *(() if twin is None else twin.runs))
    return write_outcome(setting, name, tables, lambda files: page(files=files), runs=runs)


def all_policies(scale: str) -> list[Comparison]:
    """Return the comparisons of `anira reproduce policies`: every known policy, on words and on its twin.

    Nulls are among the policies: a mechanism that a random depth equals has shown nothing.
    """
    whole = Comparison(task="words", policies=tuple(policy_names()), seeds=SEEDS, scale=scale)
    return [whole, with_task(whole, TWINS["words"])]


def reproduce(setting: Setting) -> Outcome:
    """Make policies.html, policies.json and the tables policies*.csv from finished runs."""
    return make_comparison(all_policies(setting.scale)[0], setting, name=NAME)


def missing(setting: Setting) -> list[PlannedRun]:
    """Return the runs that `reproduce` still needs."""
    return missing_runs(all_policies(setting.scale), setting)


def missing_runs(comparisons: Sequence[Comparison], setting: Setting) -> list[PlannedRun]:
    """Return the runs of comparisons that are still to be trained."""
    return unfinished([run for one in comparisons for run in plan(one)], setting)


def _twin(comparison: Comparison, setting: Setting) -> _Measured | None:
    task = TWINS.get(comparison.task)
    if task is None or missing_runs([with_task(comparison, task)], setting):
        return None
    return _measure(with_task(comparison, task), setting)


def _measure(comparison: Comparison, setting: Setting) -> _Measured:
    """Evaluate what is missing and measure everything."""
    planned = plan(comparison)
    most = max(run.config.model["max_depth"] for run in planned)

    def records(run: UsedRun, name: str) -> list[Path]:
        return [own_evaluation(run, setting)] if is_shallow(name) else evaluations(run, setting, comparison.count)

    made = evaluate_planned(planned, setting, label=lambda run: label(run, most), records=records)
    return _Measured(compared(comparison.task, made.folders, made.labels), tuple(made.runs))


def _command(comparison: Comparison) -> str:
    words = ["anira compare --task", comparison.task, "--policies", ",".join(comparison.policies)]
    changed = [f"{name}={value}" for name, value in comparison.set.items()]
    words += ["--seeds", str(comparison.seeds), "--scale", comparison.scale, *["--set"] * bool(changed), *changed]
    return " ".join(words)
