"""The paper's table of LANO: Spearman of expected depth with proxies of a token's difficulty, for ANIRA-E and ANIRA-O.

Each run writes strings of its own, from <bos> to <eos>; the parser reads them, and depths are compared with what it
found. Beside the paper's figure stand its controls, what models have that were never trained, the true entropy of the
next token, and how well the run has learned the language at all: the share of its strings that are sentences, and its
cross-entropy above the floor.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from anira.config import UserError
from anira.evaluation import EvaluationConfig, SentencesConfig, evaluate, evaluate_sentences
from anira.measure.claims.lano import judge_lano
from anira.measure.lano import lano_figures
from anira.paper.files import file_of_run, is_complete, make_files, records_folder, write_table
from anira.paper.found_runs import runs_of
from anira.paper.lano.page import LanoRun, correlation_table, lano_sheet
from anira.paper.lano.untrained import MODELS, untrained_depths
from anira.paper.setting import Outcome, Setting, UsedRun
from anira.tasks.lano import Lano, entropy_floor, length_distribution
from anira.training import RunFolder
from anira.training.evaluating import subject_of
from anira.training.run import load_run

VARIANTS: Final = ("anira-e", "anira-o")
PAPER: Final = {
    "active_gamma_slice": {"anira-e": 0.666, "anira-o": 0.456},
    "active_beta_end": {"anira-e": -0.264, "anira-o": -0.111},
    "ops_add": {"anira-e": 0.618, "anira-o": 0.463},
    "ops_mul": {"anira-e": 0.645, "anira-o": 0.490},
}
"""Proxy -> variant -> the paper's Spearman correlation with expected depth."""
MARGIN: Final = 16
"""Tokens beyond the longest sentence of the language after which a string is cut."""


@dataclass(frozen=True)
class Size:
    """How much is sampled and read."""

    strings: int
    held_out: int


SIZES: Final = {"smoke": Size(40, 40), "cpu": Size(2000, 500), "paper": Size(2000, 1000)}


def reproduce(setting: Setting) -> Outcome:
    """Make lano.json, lano.csv and lano.html."""
    used = [run for variant in VARIANTS for run in runs_of(f"lano-{variant}-{setting.scale}", setting)]
    shown = [_figures(run, SIZES[setting.scale], setting) for run in used]
    claims = judge_lano([run.figures for run in shown])
    return make_files(
        setting,
        lano_sheet(shown, PAPER, claims),
        runs=used,
        figures=shown,
        tables={"lano": correlation_table(shown, PAPER)},
        claims={"follows-complexity": claims},
        beside={"paper": PAPER},
    )


def _figures(run: UsedRun, size: Size, setting: Setting) -> LanoRun:
    """Make the records that are missing, and compute a run's figures from them."""
    strings = records_folder(run, f"strings-n{size.strings}", setting)
    held_out = records_folder(run, f"held-out-n{size.held_out}", setting)
    task = _task(run.folder)
    if not (is_complete(strings) and is_complete(held_out)):
        setting.tell(f"{run.preset}: {size.strings} strings from {run.folder}")
        _make_records(run.folder, size, _longest(task), strings, held_out)
    untrained = file_of_run(run, f"untrained-{MODELS}-n{size.strings}.parquet", setting)
    if not untrained.exists():
        setting.tell(f"{run.preset}: the same strings in untrained models")
        write_table(untrained, untrained_depths(RunFolder(run.folder).read_config(), strings))
    setting.tell(f"{run.preset}: correlations")
    return LanoRun(
        origin=run.origin,
        start_symbol=task.config.start_symbol,
        floor=entropy_floor(task.grammar()),
        figures=lano_figures(strings, held_out, untrained),
    )


def _longest(task: Lano) -> int:
    marks = 2  # <bos> and <eos>
    return len(length_distribution(task.grammar())) - 1 + marks + MARGIN


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
