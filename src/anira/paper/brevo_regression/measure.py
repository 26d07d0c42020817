"""What is read from the runs: the regression of each, each two of one seed against each other, and the claim."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from anira.measure import over_seeds, verdict_rows
from anira.measure.brevo.regression import regression_rows
from anira.measure.brevo.shares import contrast_rows
from anira.measure.brevo.tokens import AnswerTokens, read_answer_tokens
from anira.measure.claims.knob import Claim
from anira.measure.claims.structure import judge_structure
from anira.measure.records.reading import read_runs
from anira.measure.statistics import bootstrap
from anira.measure.tidy import Row, make_table

NAMES: Final = {"anira-e": "ANIRA-E", "anira-o": "ANIRA-O"}
DRAWS: Final = {"smoke": 100, "cpu": bootstrap.DRAWS, "paper": bootstrap.DRAWS}
"""Resamples behind an interval."""
PAPER: Final[Mapping[str, Mapping[str, Mapping[str, float]]]] = {
    "anira-e": {
        "node_effect": {
            "out_degree_dep": 0.134,
            "dfs_depth": -0.005,
            "frontier_ready": 0.047,
            "newly_enabled": -0.079,
        },
        "final_effect": {
            "num_nodes": 0.059,
            "out_degree_dep": 0.152,
            "remaining": -0.022,
            "frontier_ready": 0.049,
            "newly_enabled": -0.081,
        },
        "final_delta": {
            "num_nodes": 0.2829,
            "out_degree_dep": 0.0441,
            "remaining": 0.0070,
            "frontier_ready": 0.0064,
            "newly_enabled": 0.0055,
        },
        "final_delta_sized": {
            "out_degree_dep": 0.0351,
            "remaining": 0.0075,
            "frontier_ready": 0.0055,
            "newly_enabled": 0.0046,
        },
        "final_retention": {"out_degree_dep": 0.80, "remaining": 1.08, "frontier_ready": 0.86, "newly_enabled": 0.84},
        "node_r2": {"linear": 0.6866, "categorical": 0.7337},
        "node_r2_gain": {"expected_gain": 0.11},
    },
    "anira-o": {
        "node_effect": {
            "out_degree_dep": 0.168,
            "dfs_depth": 0.302,
            "frontier_ready": 0.171,
            "newly_enabled": -0.286,
        },
        "final_effect": {
            "dfs_depth": 0.303,
            "num_nodes": 0.032,
            "newly_enabled": -0.287,
            "frontier_ready": 0.170,
            "out_degree_dep": 0.171,
        },
        "final_delta": {
            "dfs_depth": 0.0516,
            "num_nodes": 0.0483,
            "newly_enabled": 0.0375,
            "frontier_ready": 0.0363,
            "out_degree_dep": 0.0302,
        },
        "final_delta_sized": {
            "dfs_depth": 0.0512,
            "newly_enabled": 0.0372,
            "frontier_ready": 0.0360,
            "out_degree_dep": 0.0285,
        },
        "final_retention": {"dfs_depth": 0.99, "newly_enabled": 0.99, "frontier_ready": 0.99, "out_degree_dep": 0.94},
        "node_r2": {"linear": 0.7000, "categorical": 0.7088},
        "node_r2_gain": {"expected_gain": 0.11},
    },
}
"""Variant, quantity and subset -> what the paper has. Its frontier stands with the nodes that are ready, its subtree
size with the remaining nodes; it does not say for which variant expected depth explains 11% more."""


@dataclass(frozen=True)
class Found:
    """All runs in numbers."""

    runs: pl.DataFrame
    """The tidy table."""
    seeds: pl.DataFrame
    """The same over seeds."""
    claims: Sequence[Claim]


def measured(folders: Sequence[Path], *, draws: int = bootstrap.DRAWS) -> Found:
    """Measure evaluation folders of runs of BREVO that differ in variant and seed."""
    runs = list(read_runs(folders))
    tokens = [read_answer_tokens(run.main) for run in runs]
    beside = [row for run in runs for row in verdict_rows(run, draws=draws)]
    return found_in(make_table([*token_rows(tokens, draws), *beside]))


def found_in(table: pl.DataFrame) -> Found:
    """Return a tidy table with what it says over seeds."""
    return Found(table, over_seeds(table), judge_structure(table, *NAMES))


def token_rows(tokens: Sequence[AnswerTokens], draws: int) -> Iterator[Row]:
    """Yield the regression of each run, then each run of ANIRA-O against that of ANIRA-E with its seed."""
    for one in tokens:
        yield from regression_rows(one, draws=draws)
    early, online = ({one.labels.seed: one for one in tokens if one.labels.variant == name} for name in NAMES)
    for seed in sorted(early.keys() & online.keys()):
        yield from contrast_rows(early[seed], online[seed], draws=draws)
