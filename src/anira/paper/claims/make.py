"""The page of claims: what the figures that were made at this scale say about each claim of the paper.

Verdicts are computed by the figures from their records, and stored in their JSON; this one gathers them from there.
"""

from collections.abc import Sequence
from typing import Any

from anira.config import UserError, from_dict
from anira.measure.claims.paper import PAPER_CLAIMS
from anira.measure.claims.verdict import Claim
from anira.paper.claims.page import JudgedClaim, claims_table, make_page
from anira.paper.figures import FIGURES
from anira.paper.outcome import write_figure
from anira.paper.setting import Outcome, Setting
from anira.paper.stored import read_stored

NAME = "claims"


def reproduce(setting: Setting) -> Outcome:
    """Make claims.json, claims.csv and claims.html from the files of the other figures."""
    made = {name: found for name in FIGURES if name != NAME and (found := read_stored(setting.out, name))}
    if not made:
        raise UserError(f"{setting.out} has no page yet that judges a claim: anira reproduce all makes them")
    other = {name: found["scale"] for name, found in made.items() if found["scale"] != setting.scale}
    if other:
        name, scale = next(iter(other.items()))
        raise UserError(f"{setting.out / name}.json is of scale {scale}, not {setting.scale}: use another --out")
    judged = [_judged(key, made) for key in PAPER_CLAIMS]
    missing = [name for name, figure in FIGURES.items() if name not in (NAME, *made) and not figure.plan]
    verdicts = {one.key: {"verdict": one.word, "reason": one.verdict.reason, "rule": one.paper.rule} for one in judged}
    return write_figure(
        setting,
        NAME,
        make_page(judged, missing),
        {f"{NAME}.csv": claims_table(judged)},
        runs=[],
        beside={"verdicts": verdicts},
    )


def _judged(key: str, made: dict[str, dict[str, Any]]) -> JudgedClaim:
    """Gather what figures say about a claim, and in what their runs were smaller than the paper's."""
    found = {name: _claims(name, one_made["claims"].get(key, [])) for name, one_made in made.items()}
    speaking = [name for name, claims in found.items() if claims]
    shrunk: dict[str, list[str]] = {}
    for run in [run for name in speaking for run in made[name]["runs"]]:
        own = shrunk.setdefault(run["preset"].split("-")[0], [])
        own += [line for line in run["shrunk"] if line not in own]
    return JudgedClaim(
        key=key, settings=tuple((name, claim) for name in speaking for claim in found[name]), shrunk=shrunk
    )


def _claims(name: str, stored: Sequence[dict[str, Any]]) -> list[Claim]:
    try:
        return [from_dict(Claim, one) for one in stored]
    except UserError as error:
        raise UserError(f"{name}.json has claims of another form; make it again with anira reproduce {name}") from error
