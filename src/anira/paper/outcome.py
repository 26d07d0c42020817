"""The files of a figure: its page, its tables, and the JSON by which the index and the claims know it."""

from collections.abc import Callable, Mapping, Sequence

import polars as pl

from anira.config import json_text, to_dict, write_file
from anira.measure.claims.knob import Claim
from anira.paper.setting import Outcome, Setting, UsedRun
from anira.site import Page, write_page
from anira.site.tables import page_text


def write_outcome(
    setting: Setting,
    name: str,
    tables: Mapping[str, pl.DataFrame],
    make_page: Callable[[Sequence[str]], Page],
    *,
    runs: Sequence[UsedRun],
    claims: Mapping[str, Sequence[Claim]] | None = None,
) -> Outcome:
    """Write NAME.json, its tables and, as the last file, NAME.html; `make_page` is given the names of the tables."""
    page = make_page(list(tables))
    files = write_page(setting.out / f"{name}.html", page, tables)
    stored = [{"preset": run.preset, "differs": list(run.differs), "shrunk": list(run.shrunk)} for run in runs]
    judged = {key: [to_dict(claim) for claim in made] for key, made in (claims or {}).items()}
    path = setting.out / f"{name}.json"
    found = {"experiment": name, "scale": setting.scale, "runs": stored, "claims": judged}
    write_file(path, json_text(found, indent=2) + "\n")
    return Outcome(files=(path, *files), runs=tuple(runs), text=page_text(page), claims=claims or {})
