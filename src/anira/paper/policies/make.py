"""A comparison from finished runs to its page: evaluate what is missing, measure, write."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from anira.models.policies import policy_names
from anira.paper.found import Found
from anira.paper.outcome import write_figure
from anira.paper.policies.measure import compared, is_shallow
from anira.paper.policies.page import make_page
from anira.paper.policies.runs import Comparison, evaluations, knob_words, label, own_evaluation, plan
from anira.paper.runs import evaluate_planned, unfinished
from anira.paper.setting import Outcome, Setting, UsedRun
from anira.sweeps.plan import PlannedRun

TWINS: Final = {"words": "words-z6"}
"""Tasks with a twin of equal size in which the order of things does not matter."""
SEEDS: Final = 3
NAME: Final = "policies"


def make_comparison(comparison: Comparison, setting: Setting, *, name: str = "") -> Outcome:
    """Write NAME.html, NAME.json and NAME*.csv of a comparison whose runs are finished; return what was made.

    The abelian twin stands beside it where all its runs are finished too.
    """
    name = name or f"{NAME}-{comparison.task}"
    found, runs = _measure(comparison, setting)
    tables, twin = found.tables(name), None
    task = TWINS.get(comparison.task)
    if task and not missing_runs([replace(comparison, task=task)], setting):
        twin, more = _measure(replace(comparison, task=task), setting)
        tables[f"{name}-twin.csv"] = twin.runs
        runs += more
    command = _command(comparison) if name != NAME else ""
    page = make_page(found, knob=knob_words(comparison), command=command, twin=twin)
    return write_figure(setting, name, page, tables, runs=runs)


def all_policies(scale: str) -> list[Comparison]:
    """Return the comparisons of `anira reproduce policies`: every known policy, on words and on its twin.

    Nulls are among the policies: a mechanism that a random depth equals has shown nothing.
    """
    whole = Comparison(task="words", policies=tuple(policy_names()), seeds=SEEDS, scale=scale)
    return [whole, replace(whole, task=TWINS["words"])]


def reproduce(setting: Setting) -> Outcome:
    """Make policies.html, policies.json and the tables policies*.csv from finished runs."""
    return make_comparison(all_policies(setting.scale)[0], setting, name=NAME)


def missing(setting: Setting) -> list[PlannedRun]:
    """Return the runs that `reproduce` still needs."""
    return missing_runs(all_policies(setting.scale), setting)


def missing_runs(comparisons: Sequence[Comparison], setting: Setting) -> list[PlannedRun]:
    """Return the runs of comparisons that are still to be trained."""
    return unfinished([run for one in comparisons for run in plan(one)], setting)


def _measure(comparison: Comparison, setting: Setting) -> tuple[Found, list[UsedRun]]:
    """Evaluate what is missing and measure everything."""
    planned = plan(comparison)
    most = max(run.config.model["max_depth"] for run in planned)

    def records(one: PlannedRun, run: UsedRun) -> list[Path]:
        shallow = is_shallow(label(one, most))
        return [own_evaluation(run, setting)] if shallow else evaluations(run, setting, comparison.count)

    runs, folders = evaluate_planned(planned, setting, records=records)
    labels = [label(one, most) for one in planned]
    return compared(comparison.task, folders, dict(zip(folders, labels, strict=True))), runs


def _command(comparison: Comparison) -> str:
    words = ["anira compare --task", comparison.task, "--policies", ",".join(comparison.policies)]
    changed = [f"{name}={value}" for name, value in comparison.set.items()]
    words += ["--seeds", str(comparison.seeds), "--scale", comparison.scale, *["--set"] * bool(changed), *changed]
    return " ".join([*words, *(f"--plugin {name}" for name in comparison.plugins)])
