"""The paper's regression of BREVO: coefficients of the features of a node, for ANIRA-E and ANIRA-O.

Everything is read from the evaluation at the end of each run; runs of the two variants with the same seed are compared.
"""

from typing import Final

from anira.config import to_dict
from anira.measure.brevo.contrast import Read, contrast, judge_contrasts, match_runs
from anira.measure.brevo.regression import brevo_regression
from anira.measure.brevo.tokens import read_answer_tokens
from anira.measure.records.loading import load_evaluation
from anira.paper.brevo_regression.page import regression_sheet
from anira.paper.brevo_regression.tables import PaperVariant, RegressionRun, coefficient_table, fit_table, stage_table
from anira.paper.files import make_files
from anira.paper.found_runs import runs_of
from anira.paper.setting import Outcome, Setting, UsedRun

VARIANTS: Final = ("anira-e", "anira-o")
DRAWS: Final = {"smoke": 100, "cpu": 1000, "paper": 1000}
"""Resamples behind an interval."""
PAPER: Final = {
    "anira-e": PaperVariant(
        coefficients={"out_degree_dep": 0.134, "dfs_depth": -0.005, "frontier_ready": 0.047, "newly_enabled": -0.079},
        final={
            "num_nodes": 0.059,
            "out_degree_dep": 0.152,
            "remaining": -0.022,
            "frontier_ready": 0.049,
            "newly_enabled": -0.081,
        },
        delta_linear={
            "num_nodes": 0.2829,
            "out_degree_dep": 0.0441,
            "remaining": 0.0070,
            "frontier_ready": 0.0064,
            "newly_enabled": 0.0055,
        },
        delta_categorical={
            "out_degree_dep": 0.0351,
            "remaining": 0.0075,
            "frontier_ready": 0.0055,
            "newly_enabled": 0.0046,
        },
        retention={"out_degree_dep": 0.80, "remaining": 1.08, "frontier_ready": 0.86, "newly_enabled": 0.84},
        r2_linear=0.6866,
        r2_categorical=0.7337,
        expected_gain=0.11,
    ),
    "anira-o": PaperVariant(
        coefficients={"out_degree_dep": 0.168, "dfs_depth": 0.302, "frontier_ready": 0.171, "newly_enabled": -0.286},
        final={
            "dfs_depth": 0.303,
            "num_nodes": 0.032,
            "newly_enabled": -0.287,
            "frontier_ready": 0.170,
            "out_degree_dep": 0.171,
        },
        delta_linear={
            "dfs_depth": 0.0516,
            "num_nodes": 0.0483,
            "newly_enabled": 0.0375,
            "frontier_ready": 0.0363,
            "out_degree_dep": 0.0302,
        },
        delta_categorical={
            "dfs_depth": 0.0512,
            "newly_enabled": 0.0372,
            "frontier_ready": 0.0360,
            "out_degree_dep": 0.0285,
        },
        retention={"dfs_depth": 0.99, "newly_enabled": 0.99, "frontier_ready": 0.99, "out_degree_dep": 0.94},
        r2_linear=0.7000,
        r2_categorical=0.7088,
        expected_gain=0.11,
    ),
}
"""The paper's tables; its frontier is read as the nodes that are ready, its subtree size as the remaining nodes."""


def reproduce(setting: Setting) -> Outcome:
    """Make brevo-regression.json, its page, and a CSV each for coefficients, stages and fits."""
    draws = DRAWS[setting.scale]
    used = {variant: runs_of(f"brevo-{variant}-{setting.scale}", setting) for variant in VARIANTS}
    read = {variant: [_read(run, draws, setting) for run in runs] for variant, runs in used.items()}
    matched = match_runs(read["anira-e"], read["anira-o"])
    contrasts = [contrast(early, online, draws=draws) for early, online in matched]
    claims = judge_contrasts(contrasts)
    all_runs = [run for runs in used.values() for run in runs]
    figures = [one for group in read.values() for _, one in group]
    shown = [RegressionRun(origin=run.origin, figures=one) for run, one in zip(all_runs, figures, strict=True)]
    return make_files(
        setting,
        regression_sheet(shown, contrasts, claims, PAPER),
        runs=all_runs,
        figures=shown,
        tables={
            "brevo-regression": coefficient_table(shown, PAPER),
            "brevo-regression-stages": stage_table(shown, PAPER),
            "brevo-regression-fits": fit_table(shown, PAPER),
        },
        claims={"e-structure-o-state": claims},
        beside={
            "paper": {variant: to_dict(one) for variant, one in PAPER.items()},
            "contrasts": [{"seed": one.seed, "runs": one.runs, **to_dict(one)} for one in contrasts],
        },
    )


def _read(run: UsedRun, draws: int, setting: Setting) -> Read:
    setting.tell(f"{run.preset}: regression")
    tokens = read_answer_tokens(load_evaluation(run.folder / "records" / "final"))
    return tokens, brevo_regression(tokens, draws=draws)
