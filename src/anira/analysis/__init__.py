"""Whether depth follows difficulty, judged from records: intervals, nulls, controls, cost, verdicts.

From Python, with the folder of a run or of one of its evaluations:

    summary = summarize(choose_evaluation(Path("runs/mano-anira-o-cpu/1f2e3d4c-s0")))
    summary.aligned().slope       # an Estimate: value, low, high, or the reason why there is none
    findings(summary)             # sentences
"""

from anira.analysis.accuracy import Accuracy
from anira.analysis.allocation import Alignment, Depth
from anira.analysis.claims import Claim, judge_claims, make_claim
from anira.analysis.cost import Cost
from anira.analysis.findings import findings, verdict_sentence
from anira.analysis.folders import choose_evaluation, find_evaluations
from anira.analysis.intervals import Estimate, wilson
from anira.analysis.nulls import Null
from anira.analysis.position import PositionControl
from anira.analysis.probes import ProbeCorrelation
from anira.analysis.records import Evaluation, find_subtasks, load_evaluation
from anira.analysis.stored import run_config
from anira.analysis.subtasks import Overview, SubtaskFigures, overview, overview_tables
from anira.analysis.summary import Summary, summarize
from anira.analysis.tables import tables, title
from anira.analysis.verdict import Evidence, Verdict, judge

__all__ = [
    "Accuracy",
    "Alignment",
    "Claim",
    "Cost",
    "Depth",
    "Estimate",
    "Evaluation",
    "Evidence",
    "Null",
    "Overview",
    "PositionControl",
    "ProbeCorrelation",
    "SubtaskFigures",
    "Summary",
    "Verdict",
    "choose_evaluation",
    "find_evaluations",
    "find_subtasks",
    "findings",
    "judge",
    "judge_claims",
    "load_evaluation",
    "make_claim",
    "overview",
    "overview_tables",
    "run_config",
    "summarize",
    "tables",
    "title",
    "verdict_sentence",
    "wilson",
]
