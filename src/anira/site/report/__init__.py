"""The page about runs: what they show by knob, how they were trained, and their tokens."""

from anira.site.report.about import KnobWords
from anira.site.report.page import Report, build, summarize
from anira.site.report.runs import Run, load_runs

__all__ = ["KnobWords", "Report", "Run", "build", "load_runs", "summarize"]
