"""The explorer: a question, up to three runs side by side, and what every token of each run does.

    explorer = Explorer(load_runs(["runs/mano-anira-o-cpu/73b1b906-s0"]))
    state = explorer.state(explorer.problem("+ 1 2"), [Choice()])     # what a page shows, as plain data
    Path("state.html").write_text(render(state), encoding="utf-8")    # the page as one file, without a server

`anira.explore.app` serves the same page on loopback, where it can ask again. This module imports no web server: that is
an optional extra.
"""

from anira.explore.explorer import Explorer
from anira.explore.page import render
from anira.explore.requests import Choice, RowAddress
from anira.explore.runs import MOST_RUNS, load_runs

__all__ = ["MOST_RUNS", "Choice", "Explorer", "RowAddress", "load_runs", "render"]
