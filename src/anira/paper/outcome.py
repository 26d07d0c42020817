"""The files of a figure: its page, its tables, and the JSON by which the index and the claims know it."""

from collections.abc import Callable, Mapping, Sequence

import polars as pl

from anira.config import json_text, write_file
from anira.paper.setting import Outcome, Setting, UsedRun
from anira.site import Page, write_page


def write_outcome(
    setting: Setting,
    name: str,
    tables: Mapping[str, pl.DataFrame],
    make_page: Callable[[Sequence[str]], Page],
    *,
    runs: Sequence[UsedRun],
    text: str,
) -> Outcome:
    """Write NAME.json, its tables and, as the last file, NAME.html; `make_page` is given the names of the tables."""
    files = write_page(setting.out / f"{name}.html", make_page(list(tables)), tables)
    stored = [{"preset": run.preset, "differs": list(run.differs), "shrunk": list(run.shrunk)} for run in runs]
    path = setting.out / f"{name}.json"
    found = {"experiment": name, "scale": setting.scale, "runs": stored, "claims": {}}
    write_file(path, json_text(found, indent=2) + "\n")
    return Outcome(files=(path, *files), runs=tuple(runs), text=text)
