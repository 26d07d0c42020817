"""What a report shows of one task: findings, figures, tables and tokens of its runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import polars as pl
from markupsafe import Markup

from anira.site.drawing.figures import accuracy_figure, depth_figure, dynamics_figure, forced_figure
from anira.site.drawing.style import Style, css_of, knob_looks, legend, styles
from anira.site.report.about import KnobWords
from anira.site.report.findings import Findings, findings, need_sentence
from anira.site.report.runs import Run
from anira.site.report.summary import Row, probe_rows, rows_table, summary_rows
from anira.site.report.tables import accuracy_table, depth_table, dynamics_table, forced_table, gamma_table
from anira.site.report.tokens import Card, Records, cards, cards_table


class Panel(NamedTuple):
    """A figure of one run."""

    label: str
    svg: Markup


class KnobKey(NamedTuple):
    """How the lines of a knob look in the figures of training, or those of a forced depth."""

    knob: int
    colour: str
    marker: str


@dataclass(frozen=True, kw_only=True)
class TaskPart:
    """The part of the page about one task, and by name the tables behind it."""

    title: str
    knob: KnobWords
    max_depth: int
    looks: Mapping[str, Style]
    """By experiment: the legend."""
    run_looks: Mapping[str, Style]
    """By label of the run."""
    findings: Findings
    accuracy: Markup
    depth: Markup
    summary: Sequence[Row]
    probes: Sequence[Row]
    forced: Sequence[Panel]
    depth_key: Sequence[KnobKey]
    dynamics: Sequence[Panel]
    knob_key: Sequence[KnobKey]
    gamma_warmup: bool
    """Whether a compute warm-up shaped what the figures of training show."""
    cards: Sequence[Card]
    tables: Mapping[str, pl.DataFrame]


def task_part(runs: Sequence[Run], knob: KnobWords, instances: int) -> TaskPart:
    """Compute and draw all there is to show of the runs of one task."""
    run_looks = styles({run.label: run.experiment for run in runs})
    looks = legend(run_looks)
    task, max_depth = runs[0].task, max(run.max_depth for run in runs)
    tables = {
        "accuracy_by_knob": accuracy_table(runs),
        "depth_by_knob": depth_table(runs),
        "forced_by_knob": forced_table(runs),
        "dynamics": dynamics_table(runs),
        "gamma": gamma_table(runs),
    }
    summary, probes = summary_rows(runs, knob=knob.name), probe_rows(runs)
    shown = cards(_records(runs), instances)
    accuracy = accuracy_figure(tables["accuracy_by_knob"], run_looks, name=f"accuracy-{task}", knob=knob.axis)
    depth = depth_figure(tables["depth_by_knob"], run_looks, name=f"depth-{task}", knob=knob.axis, max_depth=max_depth)
    return TaskPart(
        title=": ".join(filter(None, (task.upper(), runs[0].evaluation.subtask))),
        knob=knob,
        max_depth=max_depth,
        looks=looks,
        run_looks=run_looks,
        findings=findings([[run for run in runs if run.experiment == name] for name in looks], knob=knob.name),
        accuracy=Markup(accuracy),
        depth=Markup(depth),
        summary=summary,
        probes=probes,
        forced=_forced(runs, tables["forced_by_knob"], knob),
        depth_key=_key(tables["forced_by_knob"]["depth"]),
        dynamics=_dynamics(runs, tables["dynamics"], tables["gamma"], knob),
        knob_key=_key(tables["dynamics"]["knob"]),
        gamma_warmup=any(run.config.get("gamma_warmup_steps") for run in runs),
        cards=shown,
        tables={
            **tables,
            "summary": rows_table(summary, runs),
            "probes": rows_table(probes, runs),
            "tokens": cards_table(shown, task),
        },
    )


def _records(runs: Sequence[Run]) -> list[Records]:
    """Return the records to show tokens of: one run an experiment, and none whose depth never varies, if others do."""
    first = {run.experiment: run for run in reversed(runs)}
    chosen = [run for run in runs if run is first[run.experiment]]
    varied = [run for run in chosen if run.adaptive]
    return [Records(label=run.label, max_depth=run.max_depth, evaluation=run.evaluation) for run in varied or chosen]


def _dynamics(runs: Sequence[Run], table: pl.DataFrame, gamma: pl.DataFrame, knob: KnobWords) -> list[Panel]:
    """Draw the training of each run that was evaluated while it trained."""
    panels = []
    for i, run in enumerate(runs):
        own, weight = table.filter(label=run.label), gamma.filter(label=run.label)
        if len(own):
            name = f"dynamics-{run.task}-{i}"
            svg = dynamics_figure(own, weight, name=name, knob=knob.name, max_depth=run.max_depth)
            panels.append(Panel(run.label, Markup(svg)))
    return panels


def _forced(runs: Sequence[Run], table: pl.DataFrame, knob: KnobWords) -> list[Panel]:
    """Draw what forced depths are worth, for each run of which it was evaluated, with a sentence on the need."""
    panels = []
    for i, run in enumerate(runs):
        own = table.filter(label=run.label)
        if len(own):
            svg = forced_figure(own, name=f"forced-{run.task}-{i}", knob=knob.axis)
            panels.append(Panel(f"{run.label}: {need_sentence(run, knob.name)}", Markup(svg)))
    return panels


def _key(values: pl.Series) -> list[KnobKey]:
    """Return how lines look that differ in a number."""
    looks = knob_looks(values.drop_nulls().unique().sort().to_list())
    return [KnobKey(knob, css_of(look.colour), look.marker) for knob, look in looks.items()]
