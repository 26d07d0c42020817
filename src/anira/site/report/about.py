"""What the runs of a report are: their settings, what sets them apart from the paper's, and what made them."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from anira.config import command
from anira.site.report.runs import Run
from anira.site.report.settings import Difference, differences, show


class KnobWords(NamedTuple):
    """What a task calls its knob, and what it counts."""

    name: str = "knob"
    meaning: str = ""

    @property
    def axis(self) -> str:
        """The words under an axis."""
        return f"{self.name}: {self.meaning}" if self.meaning else self.name


class Shrunk(NamedTuple):
    """In what the runs of a task differ from the paper's."""

    task: str
    rows: Sequence[Difference]


def settings_rows(runs: Sequence[Run], knobs: Mapping[str, KnobWords]) -> list[tuple[str, list[str]]]:
    """Return the settings of all runs, one row a setting; rows in which no run has anything are left out."""
    columns = [_settings(run, knobs.get(run.task, KnobWords())) for run in runs]
    rows = [(name, [column[name] for column in columns]) for name in columns[0]]
    return [(name, values) for name, values in rows if set(values) != {"-"}]


def _settings(run: Run, knob: KnobWords) -> dict[str, str]:
    config, labels = run.config, run.summary.labels
    policy = config["model"].get("policy") or {}
    knobs = [row for row in run.summary.accuracy if row.knob is not None]
    warmup = config.get("gamma_warmup_steps")
    threshold = "" if labels.threshold is None else f" {labels.threshold:g}"
    return {
        "task": run.task,
        "knob": f"{knob.name} = {span([row.knob for row in knobs if row.knob is not None])}",
        "seen in training": span([row.knob for row in knobs if row.knob is not None and row.split == "seen"]),
        "variant": config["variant"],
        "largest depth D": show(run.max_depth),
        "compute weight \u03b3": show(policy.get("gamma")),
        "\u03b3 warmed up over": f"{warmup:,} steps" if warmup and "gamma" in policy else "-",
        "prior base b": show(policy.get("base")),
        "seed": str(config["seed"]),
        "steps": show(config["steps"]),
        "batch size": show(config.get("batch_size")),
        "learning rate": show(config.get("learning_rate")),
        "evaluated": f"step {labels.step:,}, {run.summary.instances:,} instances",
        "depth chosen by": f"{labels.select}{threshold}" if labels.select else "the policy",
    }


def span(knobs: Sequence[int]) -> str:
    """Write ascending knobs shortly.

    >>> span([3, 4, 5]), span([10, 20]), span([])
    ('3 to 5', '10, 20', 'none')
    """
    if len(knobs) > 2 and list(knobs) == list(range(knobs[0], knobs[-1] + 1)):
        return f"{knobs[0]} to {knobs[-1]}"
    return ", ".join(map(str, knobs)) or "none"


def shrunk(runs: Sequence[Run], paper: Mapping[str, Mapping[str, Any]]) -> list[Shrunk]:
    """Return, for each task that the paper has, what sets its runs apart from the paper's."""
    pairs = {
        run.task: [(other.config, paper[other.name]) for other in _in_paper(runs, run.task, paper)] for run in runs
    }
    return [Shrunk(task, differences(found)) for task, found in pairs.items() if found]


def _in_paper(runs: Sequence[Run], task: str, paper: Mapping[str, Mapping[str, Any]]) -> list[Run]:
    return [run for run in runs if run.task == task and run.name in paper]


_HEADLINES = ("model.max_depth", "model.hidden_size", "steps", "batch_size")


def in_a_line(runs: Sequence[Run], knob: KnobWords, paper: Mapping[str, Mapping[str, Any]]) -> str:
    """Say what the runs of a task were asked, and the main ways in which that is not what the paper asked."""
    first, against = runs[0], shrunk(runs, paper)
    knobs = [row.knob for row in first.summary.accuracy if row.knob is not None]
    seeds = sorted({int(run.config["seed"]) for run in runs})
    facts = [
        f"{first.task.upper()} with {knob.name} = {span(knobs)}",
        f"largest depth D = {span(sorted({run.max_depth for run in runs}))}",
        f"{' or '.join(dict.fromkeys(show(run.config['steps']) for run in runs))} steps",
        f"seed{'s' * (len(seeds) > 1)} {span(seeds)}",
    ]
    rows = [row for table in against for row in table.rows]
    main = [row for row in rows if row.name in _HEADLINES or row.name.startswith("task_config.")]
    changes = [f"{row.name.rpartition('.')[2].replace('_', ' ')} {row.here} ({row.there})" for row in main]
    shrinking = f" Here, and in brackets in the paper: {', '.join(changes)}." if changes else ""
    return f"{', '.join(facts)}.{shrinking}"


def commands(runs: Sequence[Run]) -> list[str]:
    """Return what to type to make the runs and the page again; overrides of a preset are in the configuration."""
    trained = [
        command("anira", "train", str(run.config.get("preset", "")), "--seed", str(run.config["seed"])) for run in runs
    ]
    return [*dict.fromkeys(trained), command("anira", "report", *(f"runs/{run.name}" for run in runs))]


def origin(run: Run) -> str:
    """Say where a run comes from: folder, date if it is stored, versions, commit, platform."""
    versions = [f"{name} {value}" for name, value in run.origin.get("versions", {}).items()]
    commit = f"commit {run.origin['git']}" if run.origin.get("git") else ""
    facts = [run.name, run.origin.get("date", ""), *versions, commit, run.origin.get("platform", "")]
    return ", ".join(str(fact) for fact in facts if fact)
