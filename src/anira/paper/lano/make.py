"""From runs of LANO to the page: expected depth against the parser's work, ANIRA-E and ANIRA-O.

Each run writes strings of its own, from <bos> to <eos>; the parser reads them, and depths are compared with what it
found.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple, cast

from anira.evaluation import EvaluationConfig, SentencesConfig, evaluate, evaluate_sentences
from anira.measure import DRAWS, make_table
from anira.measure.claims.lano import judge_work
from anira.measure.lano import lano_rows
from anira.paper.files import file_of_run, is_complete, records_folder, write_table
from anira.paper.found import Found, found_in
from anira.paper.lano.page import make_page
from anira.paper.lano.untrained import MODELS, untrained_depths
from anira.paper.outcome import write_figure
from anira.paper.runs import figure_runs
from anira.paper.setting import Outcome, Setting, UsedRun
from anira.tasks.lano import Lano, entropy_floor, length_distribution
from anira.training import RunFolder
from anira.training.evaluating import subject_of
from anira.training.run import load_run

NAME: Final = "lano"
MARGIN: Final = 16
"""Tokens beyond the longest sentence of the language after which a string is cut."""


STRINGS: Final = {"smoke": 40, "cpu": 2000, "paper": 2000}
"""How many a run writes."""
HELD_OUT: Final = {"smoke": 40, "cpu": 500, "paper": 1000}
"""How many sentences it reads."""


class Source(NamedTuple):
    """The records of one run."""

    strings: Path
    """What it wrote."""
    held_out: Path
    """True sentences that it read."""
    untrained: Path | None
    """Depths that untrained models gave its strings."""
    floor: float
    """The least cross-entropy that any model can have, in nats per token."""


def reproduce(setting: Setting) -> Outcome:
    """Make lano.html, .csv and .json."""
    runs = figure_runs(NAME, setting)
    sources = [_source(run, setting) for run in runs]
    setting.tell(f"measuring {len(runs)} runs")
    found = measured(sources)
    return write_figure(setting, NAME, make_page(found), found.tables(NAME), runs=runs, claims=found.claims)


def measured(sources: Sequence[Source], *, draws: int = DRAWS) -> Found:
    """Measure runs that differ in variant and seed."""
    table = make_table(
        row
        for one in sources
        for row in lano_rows(one.strings, one.held_out, one.untrained, floor=one.floor, draws=draws)
    )
    return found_in(table, {"follows-complexity": judge_work(table)})


def _source(run: UsedRun, setting: Setting) -> Source:
    """Return the records of a run; what is missing is made now."""
    count, read = STRINGS[setting.scale], HELD_OUT[setting.scale]
    strings = records_folder(run, f"strings-n{count}", setting)
    held_out = records_folder(run, f"held-out-n{read}", setting)
    grammar = cast("Lano", RunFolder(run.folder).read_config().make_task()).grammar()
    if not (is_complete(strings) and is_complete(held_out)):
        setting.tell(f"{run.preset}: {count} strings from {run.folder}")
        marks = 2  # <bos> and <eos>
        longest = len(length_distribution(grammar)) - 1 + marks + MARGIN
        config, model, step = load_run(run.folder, None)
        task, subject = config.make_task(), subject_of(config, step)
        evaluate_sentences(model, task, SentencesConfig(count=count, longest=longest), subject, strings)
        evaluate(model, task, EvaluationConfig(knobs=task.knob.seen, count=read), subject, held_out)
    untrained = file_of_run(run, f"untrained-{MODELS}-n{count}.parquet", setting)
    if not untrained.exists():
        setting.tell(f"{run.preset}: the same strings in untrained models")
        write_table(untrained, untrained_depths(RunFolder(run.folder).read_config(), strings))
    return Source(strings, held_out, untrained, entropy_floor(grammar))
