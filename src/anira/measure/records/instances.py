"""One row per instance with all that its tokens sum up to: what every estimate by knob is made from."""

import numpy as np
import polars as pl

from anira.config import UserError
from anira.measure.records.loading import Evaluation
from anira.measure.statistics.bootstrap import SMALLEST_STRATUM
from anira.measure.statistics.estimates import Floats, Ints

LABELS = ("run_id", "task", "subtask", "variant", "seed", "step", "select", "threshold", "decode", "override")
"""Columns that are the same in every row of an evaluation."""


def instance_table(evaluation: Evaluation) -> pl.DataFrame:
    """Join instances with the sums over their tokens; sorted by knob, so that equal records give equal numbers.

    Beside the columns of the instance records: `answer_tokens`, `answer_depth`, `prompt_tokens`, `prompt_depth`
    (numbers of tokens and sums of their exit depth), `expected_tokens`, `expected_depth` (the same for the expected
    depth of answer tokens, where there is one) and `unread` (iterations that were executed beyond the one that was
    read out).
    """
    sums = evaluation.tokens.group_by("instance_id").agg(_token_sums())
    table = evaluation.collect(
        evaluation.instances.join(sums, on="instance_id", how="left").sort("knob", "instance_id")
    )
    if table["instance_id"].is_duplicated().any():
        raise UserError(f"{evaluation.folder} has two instances with the same instance_id: evaluate again")
    for name in LABELS:
        if table[name].n_unique() > 1:
            raise UserError(f"{evaluation.folder} mixes records with different {name}: evaluate into one folder each")
    return table


def _token_sums() -> list[pl.Expr]:
    exit_depth, expected = pl.col("exit_depth").cast(pl.Int64), pl.col("expected_depth").cast(pl.Float64)
    is_answer, is_prompt = pl.col("target_kind") == "answer", pl.col("target_kind") == "prompt"
    return [
        is_answer.sum().alias("answer_tokens"),
        exit_depth.filter(is_answer).sum().alias("answer_depth"),
        is_prompt.sum().alias("prompt_tokens"),
        exit_depth.filter(is_prompt).sum().alias("prompt_depth"),
        expected.filter(is_answer).count().alias("expected_tokens"),
        expected.filter(is_answer).sum().alias("expected_depth"),
        (pl.col("executed").cast(pl.Int64) - exit_depth).sum().alias("unread"),
    ]


def few_instances(evaluation: Evaluation) -> list[str]:
    """Say where there are fewer instances than were asked for, or than a bootstrap within a knob needs."""
    table = evaluation.collect(evaluation.instances.group_by("knob").len().sort("knob"))
    asked = evaluation.asked.get("n", 0)
    lines = [f"knob {knob} has {count} of {asked} instances" for knob, count in table.iter_rows() if count < asked]
    few = f"a knob has fewer than {SMALLEST_STRATUM} instances: intervals are rough"
    return [*lines, *([few] if (table["len"] < SMALLEST_STRATUM).any() else [])]


def knob_index(table: pl.DataFrame) -> tuple[list[int], Ints]:
    """Return the knobs in order, and for every instance which of them it has."""
    knobs, index = np.unique(table["knob"].to_numpy(), return_inverse=True)
    return knobs.tolist(), index


def instance_means(table: pl.DataFrame, measure: str) -> Floats:
    """Return the mean `exit_depth` or `expected_depth` over each instance's answer tokens, NaN where it has none."""
    sums, counts = {
        "exit_depth": ("answer_depth", "answer_tokens"),
        "expected_depth": ("expected_depth", "expected_tokens"),
    }[measure]
    means: Floats = table.select(pl.col(sums) / pl.col(counts)).to_series().to_numpy()
    return means
