"""From runs of LANO to the page: expected depth against the parser's work, ANIRA-E and ANIRA-O.

Each run writes strings of its own, from <bos> to <eos>; the parser reads them, and depths are compared with what it
found.
"""

from pathlib import Path
from typing import Final, NamedTuple

from anira.config import UserError
from anira.evaluation import EvaluationConfig, SentencesConfig, evaluate, evaluate_sentences
from anira.paper.files import file_of_run, is_complete, records_folder, write_table
from anira.paper.found_runs import runs_of
from anira.paper.lano.measure import NAMES, Source, measured
from anira.paper.lano.page import make_page
from anira.paper.lano.untrained import MODELS, untrained_depths
from anira.paper.outcome import write_outcome
from anira.paper.setting import Outcome, Setting, UsedRun
from anira.tasks.lano import Lano, entropy_floor, length_distribution
from anira.training import RunFolder
from anira.training.evaluating import subject_of
from anira.training.run import load_run

NAME: Final = "lano"
MARGIN: Final = 16
"""Tokens beyond the longest sentence of the language after which a string is cut."""


class Size(NamedTuple):
    """How much is sampled and read."""

    strings: int
    held_out: int


SIZES: Final = {"smoke": Size(40, 40), "cpu": Size(2000, 500), "paper": Size(2000, 1000)}


def reproduce(setting: Setting) -> Outcome:
    """Make lano.html, .csv and .json."""
    used = [run for variant in NAMES for run in runs_of(f"lano-{variant}-{setting.scale}", setting)]
    sources = [_source(run, SIZES[setting.scale], setting) for run in used]
    setting.tell(f"measuring {len(used)} runs")
    made = measured(sources)
    return write_outcome(
        setting,
        NAME,
        {f"{NAME}.csv": made.runs, f"{NAME}-seeds.csv": made.seeds},
        lambda files: make_page(made, scale=setting.scale, files=files),
        runs=used,
        claims={"follows-complexity": made.claims},
    )


def _source(run: UsedRun, size: Size, setting: Setting) -> Source:
    """Return the records of a run; what is missing is made now."""
    strings = records_folder(run, f"strings-n{size.strings}", setting)
    held_out = records_folder(run, f"held-out-n{size.held_out}", setting)
    grammar = _task(run.folder).grammar()
    if not (is_complete(strings) and is_complete(held_out)):
        setting.tell(f"{run.preset}: {size.strings} strings from {run.folder}")
        marks = 2  # <bos> and <eos>
        longest = len(length_distribution(grammar)) - 1 + marks + MARGIN
        _make_records(run.folder, size, longest, strings, held_out)
    untrained = file_of_run(run, f"untrained-{MODELS}-n{size.strings}.parquet", setting)
    if not untrained.exists():
        setting.tell(f"{run.preset}: the same strings in untrained models")
        write_table(untrained, untrained_depths(RunFolder(run.folder).read_config(), strings))
    return Source(strings, held_out, untrained, entropy_floor(grammar))


def _make_records(folder: Path, size: Size, longest: int, strings: Path, held_out: Path) -> None:
    config, model, step = load_run(folder, None)
    task = config.make_task()
    subject = subject_of(config, step)
    evaluate_sentences(model, task, SentencesConfig(count=size.strings, longest=longest), subject, strings)
    evaluate(model, task, EvaluationConfig(knobs=task.knob.seen, count=size.held_out), subject, held_out)


def _task(folder: Path) -> Lano:
    task = RunFolder(folder).read_config().make_task()
    if not isinstance(task, Lano):
        raise UserError(f"{folder} is a run of task {task.name!r}, not of lano")
    return task
