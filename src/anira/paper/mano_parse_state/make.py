"""The paper's figure of MANO's question tokens and its piecewise model: does depth follow the state of the parse?

Everything is read from the records of the evaluation that ends a run. The paper shows ANIRA-E and exit depth; here
ANIRA-O and expected depth stand beside them.
"""

from typing import Final

from anira.measure.claims.parse_state import judge_reading
from anira.measure.mano.parse_state import parse_state_figures
from anira.paper.files import make_files
from anira.paper.found_runs import runs_of
from anira.paper.mano_parse_state.page import parse_state_sheet
from anira.paper.mano_parse_state.tables import (
    ParseStateRun,
    contrast_table,
    explained_table,
    model_table,
    state_table,
)
from anira.paper.setting import Outcome, Setting, UsedRun

NAME: Final = "mano-parse-state"
CLAIM: Final = "reads-while-solving"
VARIANTS: Final = ("anira-e", "anira-o")
PAPER: Final = {
    ("operand", 1, "constant"): 2.678,
    ("operand", 2, "constant"): 1.511,
    ("operator", 0, "constant"): 1.000,
    ("operator", 1, "constant"): 4.088,
    ("operator", 1, "s_t"): 0.625,
    ("operator", 1, "d_t"): 0.261,
    ("operator", 2, "constant"): 1.104,
    ("operator", 2, "d_t"): 0.337,
}
"""Kind of token, r_t and term -> the paper's coefficient for ANIRA-E."""
PAPER_R2: Final = 0.63


def reproduce(setting: Setting) -> Outcome:
    """Make mano-parse-state.json, four tables as CSV, and mano-parse-state.html."""
    used = [run for variant in VARIANTS for run in runs_of(f"mano-{variant}-{setting.scale}", setting)]
    shown = [_figures(run, setting) for run in used]
    claims = judge_reading([run.figures for run in shown])
    tables = {
        NAME: state_table(shown),
        f"{NAME}-model": model_table(shown, PAPER),
        f"{NAME}-contrasts": contrast_table(shown),
        f"{NAME}-explained": explained_table(shown),
    }
    sheet = parse_state_sheet(shown, claims, PAPER, PAPER_R2)
    return make_files(
        setting, sheet, runs=used, figures=shown, tables=tables, claims={CLAIM: claims}, beside={"paper_r2": PAPER_R2}
    )


def _figures(run: UsedRun, setting: Setting) -> ParseStateRun:
    setting.tell(f"{run.preset}: depth by the state of the parse")
    return ParseStateRun(origin=run.origin, figures=parse_state_figures(run.folder / "records" / "final"))
