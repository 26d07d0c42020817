"""What the runs of a report are: their settings, what sets them apart from the paper's, and what made them."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from anira.config import command
from anira.config.ranges import span
from anira.records.overrides import override_words
from anira.site.page import Cell, TablePart, table_part
from anira.site.report.runs import Run
from anira.site.report.settings import differences, show


class KnobWords(NamedTuple):
    """What a task calls its knob, and what it counts."""

    name: str = "knob"
    meaning: str = ""
    page: str = ""
    """The page of the paper that is about this task alone, if there is one."""

    @property
    def axis(self) -> str:
        """The words under an axis."""
        return f"{self.name}: {self.meaning}" if self.meaning else self.name


def settings_table(runs: Sequence[Run], knobs: Mapping[str, KnobWords]) -> TablePart:
    """Return the settings of all runs, one line each; a column in which no run has anything is left out."""
    lines = [_settings(run, knobs.get(run.task, KnobWords())) for run in runs]
    names = [name for name in lines[0] if {line[name] for line in lines} != {"-"}]
    rows = [[run.label, *(line[name] for name in names)] for run, line in zip(runs, lines, strict=True)]
    return table_part("Settings", ["run", *names], rows)


def _settings(run: Run, knob: KnobWords) -> dict[str, str]:
    config, asked = run.config, run.evaluation.asked
    policy = config["model"].get("policy") or {}
    warmup = config.get("gamma_warmup_steps")
    knobs = asked["knobs"]
    return {
        "task": run.task,
        "knob": f"{knob.name} = {span(sorted(knobs))}" if isinstance(knobs, list) else f"{len(knobs)} subtasks",
        "variant": str(config["variant"]),
        "largest depth D": show(run.max_depth),
        "compute weight \u03b3": show(policy.get("gamma")),
        "\u03b3 warmed up over": f"{warmup:,} steps" if warmup and "gamma" in policy else "-",
        "prior base b": show(policy.get("base")),
        "seed": str(config["seed"]),
        "steps": show(config["steps"]),
        "batch size": show(config.get("batch_size")),
        "learning rate": show(config.get("learning_rate")),
        "evaluated": f"step {asked['step']:,}, {asked['n']:,} instances per knob",
        "depth chosen by": _rule(asked),
    }


def _rule(asked: Mapping[str, Any]) -> str:
    if asked.get("override"):
        return override_words(str(asked["override"]))
    threshold = "" if asked.get("threshold") is None else f" {asked['threshold']:g}"
    return f"{asked['select']}{threshold}" if asked.get("select") else "the policy"


def shrunk_tables(runs: Sequence[Run], paper: Mapping[str, Mapping[str, Any]]) -> list[TablePart]:
    """Return, for each task that the paper has, what sets its runs apart from the paper's."""
    tables = []
    for task in dict.fromkeys(run.task for run in runs):
        pairs = [(run.config, paper[run.name]) for run in runs if run.task == task and run.name in paper]
        if found := differences(pairs):
            title = f"{task.upper()} against the paper's setting"
            tables.append(table_part(title, ["setting", "here", "paper"], found))
    return tables


def origin_table(runs: Sequence[Run]) -> TablePart:
    """Return where each run comes from, and what to type to make it again."""
    rows = [[run.label, _trained(run), Cell(origin(run), wrap=True)] for run in runs]
    return table_part("Origin", ["run", "trained by", "folder and versions"], rows)


def _trained(run: Run) -> str:
    return command("anira", "train", str(run.config.get("preset", "")), "--seed", str(run.config["seed"]))


def origin(run: Run) -> str:
    """Say where a run comes from: folder, date if it is stored, versions, commit, platform."""
    versions = [f"{name} {value}" for name, value in run.origin.get("versions", {}).items()]
    commit = f"commit {run.origin['git']}" if run.origin.get("git") else ""
    facts = [run.name, run.origin.get("date", ""), *versions, commit, run.origin.get("platform", "")]
    return ", ".join(str(fact) for fact in facts if fact)
