"""The table from records to its page."""

from typing import Final

from anira.analysis.tables import layout
from anira.config import json_text, write_file
from anira.experiments.setting import Outcome, Setting
from anira.paper.gsm_symbolic.measure import measured
from anira.paper.gsm_symbolic.page import make_page
from anira.paper.gsm_symbolic.runs import find_models, used_run
from anira.paper.gsm_symbolic.tables import terminal_rows
from anira.paper.gsm_symbolic.verdicts import answer, verdicts
from anira.site import write_page
from anira.sweeps.plan import PlannedRun

NAME: Final = "gsm-symbolic"


def reproduce(setting: Setting) -> Outcome:
    """Make gsm-symbolic.html, .csv and .json from the models that were evaluated."""
    folders = find_models(setting)
    setting.tell(f"measuring {len(folders)} models")
    found = measured(folders)
    tables = {f"{NAME}.csv": found.table}
    files = write_page(setting.out / f"{NAME}.html", make_page(found, files=list(tables)), tables)
    runs = tuple(used_run(folder) for folder in folders)
    path = setting.out / f"{NAME}.json"
    stored = [{"preset": run.preset, "differs": [], "shrunk": []} for run in runs]
    write_file(
        path, json_text({"experiment": NAME, "scale": setting.scale, "runs": stored, "claims": {}}, indent=2) + "\n"
    )
    said = [f"{note.head}: {note.text}" for note in verdicts(found)]
    text = "\n".join([*answer(found), "", *said, "", layout(*terminal_rows(found))])
    return Outcome(files=(*files, path), runs=runs, text=text)


def missing(setting: Setting) -> list[PlannedRun]:
    """Return the runs to be trained first: none, because language models are not trained from presets here."""
    find_models(setting)
    return []
