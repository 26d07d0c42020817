"""The files of a figure: its page, its tables, and the JSON by which the index and the claims know it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from anira.config import json_text, to_dict, write_files
from anira.measure.claims.verdict import Claim
from anira.measure.csv import csv_text
from anira.paper.figures import FIGURES
from anira.paper.setting import Outcome, Setting, UsedRun
from anira.site import SMOKE, Badge, Cell, Page, Section, read_notes, render, table_part
from anira.site.tables import page_text


def write_figure(
    setting: Setting,
    name: str,
    page: Page,
    tables: Mapping[str, pl.DataFrame],
    *,
    runs: Sequence[UsedRun],
    claims: Mapping[str, Sequence[Claim]] | None = None,
    beside: Mapping[str, Any] | None = None,
) -> Outcome:
    """Write NAME.json, its tables and NAME.html, all of them or none; `beside` is what else the JSON says.

    What all pages have is added here: notes, runs, files, the command, and a warning where runs are smoke runs.
    """
    page = whole_page(page, name, setting.scale, list(tables), runs)
    stored = [{"preset": run.preset, "differs": list(run.differs), "shrunk": list(run.shrunk)} for run in runs]
    judged = {key: [to_dict(claim) for claim in own] for key, own in (claims or {}).items()}
    labels = {"experiment": name, "scale": setting.scale, "badge": page.badge.words}
    found = {**labels, **(beside or {}), "runs": stored, "claims": judged}
    contents = {
        f"{name}.json": json_text(found, indent=2) + "\n",
        **{file: csv_text(table) for file, table in tables.items()},
        f"{name}.html": render(page),
    }
    write_files({setting.out / file: text for file, text in contents.items()})
    files = tuple(setting.out / file for file in contents)
    return Outcome(files=files, runs=tuple(runs), text=page_text(page), claims=claims or {})


def whole_page(page: Page, name: str, scale: str, files: list[str], runs: Sequence[UsedRun]) -> Page:
    """Return a figure's page with what all pages have."""
    figure = FIGURES.get(name, FIGURES["policies"])  # a comparison that the user has put together
    notes = Section(title="How to read this page", notes=read_notes(figure.module.rpartition(".")[0]))
    smoke = Badge("smoke run: numbers mean nothing", "open")
    return replace(
        page,
        badge=smoke if scale == "smoke" else page.badge,
        home=page.home if name in FIGURES else "",
        answer=[*page.answer, *[SMOKE] * (scale == "smoke")],
        sections=[*page.sections, notes, *([_runs(runs)] if runs else [])],
        place=figure.place,
        files=files,
        command=page.command or f"anira reproduce {name} --scale {scale}",
    )


def _runs(runs: Sequence[UsedRun]) -> Section:
    """Return which runs a page rests on, and in what they are not their preset or the paper's."""
    rows = [
        [
            f"{run.folder.parent.name}/{run.folder.name}",
            "found" if run.found else f"trained in {run.seconds:.0f} s",
            Cell(", ".join(run.differs) or "as the preset", wrap=True),
            Cell(", ".join(run.shrunk) or "-", wrap=True),
        ]
        for run in runs
    ]
    head = ["run", "how", "here, and in brackets in the preset", "and in the paper"]
    return Section(title="Runs", parts=[table_part(f"{len(runs)} runs", head, rows)])
