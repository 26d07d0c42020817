"""One page that shows whether depth follows difficulty, made from run folders alone.

report = build(load_runs([Path("runs/mano-anira-o-cpu/1f2e3d4c-s0")]))
Path("report.html").write_text(report.html)
"""

from anira.measure.csv import csv_text
from anira.site.report.about import KnobWords
from anira.site.report.page import Report, build
from anira.site.report.runs import Run, load_runs

__all__ = ["KnobWords", "Report", "Run", "build", "csv_text", "load_runs"]
