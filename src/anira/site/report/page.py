"""A report: what some runs show, as one page that needs nothing else, and the tidy table behind it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from anira.config import command
from anira.measure import measure, over_seeds
from anira.measure.claims.alignment import judge_follows
from anira.measure.claims.verdict import Claim
from anira.measure.sizes import unseen_rows
from anira.measure.tidy import make_table
from anira.site.by_knob import KnobTask, knob_section
from anira.site.charts import Legend
from anira.site.page import Page, Section, TablePart, read_notes
from anira.site.report.about import KnobWords, origin_table, settings_table, shrunk_tables
from anira.site.report.answer import answer, is_free, lead_chart, probe_chart
from anira.site.report.runs import Run
from anira.site.report.training import training_section
from anira.site.tables import Column, estimate_table
from anira.site.tokens import MOST_TOKENS, Shown, token_view
from anira.site.verdicts import claim_note, claims_badge

_COST = (
    Column("iterations", "iterations per token"),
    Column("iterations_share", "of full depth"),
    Column("flops_share", "FLOPs, of full depth"),
    Column("kv_share", "KV slots, of full depth"),
    Column("decisions", "decisions per token"),
)


_FEW = 4  # runs whose tokens are all shown


@dataclass(frozen=True, kw_only=True)
class Report:
    """A page and the table behind it."""

    page: Page
    table: pl.DataFrame
    claims: Sequence[Claim]


def summarize(table: pl.DataFrame, knobs: Mapping[str, KnobWords]) -> Report:
    """Make a report of a tidy table alone: what its rows show, task by task."""
    tasks = list(_tasks(table, knobs))
    claims = judge_follows(table)
    page = Page(
        title=f"Does depth follow difficulty? {', '.join(task.title for task in tasks)}",
        badge=claims_badge(claims),
        answer=[*answer(tasks), *_judged_by(tasks, knobs)],
        lead=replace(lead_chart(tasks[0]), name="lead"),
        verdicts=[claim_note(claim) for claim in claims],
        sections=[section for task in tasks for section in _sections(task, is_first=task is tasks[0])],
        home="",
    )
    return Report(page=page, table=table, claims=claims)


def build(
    runs: Sequence[Run],
    *,
    tokens: bool = True,
    knobs: Mapping[str, KnobWords] | None = None,
    paper: Mapping[str, Mapping[str, Any]] | None = None,
) -> Report:
    """Make the report of some runs; the same records give the same bytes.

    What run folders do not say comes from the caller: `knobs` has what tasks call their knob, and `paper` the
    configuration of the paper's run that a run is to be compared with, by the run's name.
    """
    words = knobs or {}
    made = summarize(_table(runs), words)
    tasks = _by_task(runs)
    most = MOST_TOKENS // len(tasks)
    views = [_view(own, words.get(task, KnobWords()), most) for task, own in tasks.items()] if tokens else []
    training = [training_section(own, words.get(task, KnobWords()).name) for task, own in tasks.items()]
    about = [settings_table(runs, words), *shrunk_tables(runs, paper or {}), origin_table(runs)]
    sections = [
        *made.page.sections,
        *views,
        *filter(None, training),
        Section(title="The runs", parts=about),
        Section(title="How to read this page", notes=read_notes("anira.site.report")),
    ]
    again = command("anira", "report", *map(_place, runs))
    return replace(made, page=replace(made.page, sections=sections, command=again))


def _place(run: Run) -> str:
    """Return where a run lies, from where the command is given; pages say nothing of other folders of the machine."""
    folder, here = run.folder.resolve(), Path.cwd()
    return str(folder.relative_to(here)) if here in folder.parents else f"runs/{run.name}"


def _table(runs: Sequence[Run]) -> pl.DataFrame:
    """Measure all runs; a run is known by its experiment, so that seeds of one are seeds."""
    table = measure([folder for run in runs for folder in (*run.forced, run.evaluation.folder)])
    unseen = [row for row in unseen_rows(table) if row["value"] is not None]
    table = pl.concat([table, make_table(unseen)])
    names = {run.run_id: run.experiment for run in runs}
    wanted = {run.evaluation.subtask for run in runs}
    shown = table if wanted == {""} else table.filter(pl.col("subtask").is_in(list(wanted)))
    return shown.with_columns(pl.col("run_id").replace_strict(names).alias("variant"))


def _by_task(runs: Sequence[Run]) -> dict[str, list[Run]]:
    return {task: [run for run in runs if run.task == task] for task in dict.fromkeys(run.task for run in runs)}


def _tasks(table: pl.DataFrame, knobs: Mapping[str, KnobWords]) -> Iterator[KnobTask]:
    """Yield the rows of each task, or of each subtask of one."""
    for (task, subtask), rows in table.group_by("task", "subtask", maintain_order=True):
        names = rows["variant"].unique(maintain_order=True).to_list()
        yield KnobTask(
            name="-".join(filter(None, (str(task), str(subtask)))),
            title=": ".join(filter(None, (str(task).upper(), str(subtask)))),
            knob=knobs.get(str(task), KnobWords()).axis,
            runs=rows,
            seeds=over_seeds(rows),
            legend=Legend({name: name for name in names}, "run", "fixed"),
        )


def _judged_by(tasks: Sequence[KnobTask], knobs: Mapping[str, KnobWords]) -> list[str]:
    """Name the pages that hold runs of these tasks against more than a report does."""
    pages = {name: knobs[name].page for name in knobs if knobs[name].page}
    names = dict.fromkeys(pages[task] for one in tasks if (task := one.runs["task"][0]) in pages)
    return [f"More nulls and controls: {command('anira', 'reproduce', name)}." for name in names]


def _sections(task: KnobTask, *, is_first: bool) -> Iterator[Section]:
    free = is_free(task)
    section = Section(title=task.title, parts=[probe_chart(task), *_probes(task)]) if free else knob_section(task)
    # The first task's first chart leads the page.
    yield replace(section, parts=section.parts[is_first:])
    subjects: dict[str, dict[str, object]] = {name: {"variant": name} for name in task.variants}
    cost = estimate_table(task.seeds, subjects, _COST, title=f"{task.title}: cost", first="run")
    probes = [] if free else _probes(task)
    title = f"{task.title}: cost, and the reference solver's state" if probes else f"{task.title}: cost"
    yield Section(title=title, parts=[cost, *probes])


def _view(runs: Sequence[Run], knob: KnobWords, most: int) -> Section:
    shown = [Shown(label=run.label, max_depth=run.max_depth, evaluation=run.evaluation) for run in _shown(runs)]
    title = f"{runs[0].task.upper()} token by token"
    view = token_view(shown, name=runs[0].task, title=title, knob=knob.name, most=most)
    return Section(title=title, parts=[view], open=True)


def _probes(task: KnobTask) -> list[TablePart]:
    """Return the rank correlation of depth with each probe within instances; nothing for a task without probes."""
    rows = task.seeds.filter(quantity="probe_within")
    if rows.is_empty():
        return []
    names = rows["subset"].unique(maintain_order=True).to_list()
    columns = [Column("probe_within", name.replace("_", " "), name) for name in names]
    subjects: dict[str, dict[str, object]] = {name: {"variant": name} for name in task.variants}
    caption = "Mean over instances of the rank correlation between the depth of tokens and a probe."
    return [estimate_table(task.seeds, subjects, columns, title="Depth and probes", first="run", caption=caption)]


def _shown(runs: Sequence[Run]) -> list[Run]:
    """Return the runs whose tokens are shown: all, or where they are many, one of each experiment."""
    if len(runs) <= _FEW:
        return list(runs)
    return [run for i, run in enumerate(runs) if run.experiment not in {before.experiment for before in runs[:i]}]
