"""The figure of CLRS as plain text."""

from collections.abc import Sequence

from anira.analysis.tables import layout
from anira.report.clrs import ClrsRun, summary_rows

COLUMNS = ("subtask", "run", "seen", "interpolation", "extrapolation", "majority, seen", "answer depth", "slope")


def text_tables(runs: Sequence[ClrsRun]) -> str:
    """Return one line a subtask and run: accuracy at seen and unseen sizes, and how depth moves with size."""
    return layout(COLUMNS, [[row[name] for name in COLUMNS] for row in summary_rows(runs)])
