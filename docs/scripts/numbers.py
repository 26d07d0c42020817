"""The numbers of the documentation, read from `results/` when the site is built, so that nobody types them.

A page writes `{{ estimate("allocation", "slope", task="brevo", variant="anira-e") }}` and gets `0.35 [0.19, 0.51]`.
"""

import json
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import polars as pl

from anira.measure import SCHEMA
from anira.measure.claims.paper import PAPER_CLAIMS
from anira.measure.tidy import find
from anira.paper.runs import differs_from
from anira.site.tables import estimate_cell
from anira.training import RunFolder

RESULTS: Final = Path(__file__).parents[2] / "results"
NAMES: Final = {
    "anira-e": "ANIRA-E",
    "anira-o": "ANIRA-O",
    "act": "ACT",
    "universal": "Universal Transformer",
    "pondernet": "PonderNet",
    "ouro": "Ouro, stage 1",
    "ouro-2": "Ouro, stage 2",
    "calm": "CALM",
    "depth-adaptive": "Depth-Adaptive",
    "huginn": "Huginn, `latent`",
    "mixture-of-depths": "Mixture-of-Depths",
    "mor-expert": "MoR, expert choice",
    "mor-token": "MoR, token choice",
    "think-at-hard": "Think-at-Hard",
    "oracle-head": "oracle head",
    "confidence": "confidence",
}
"""What policies are called in tables; others by their own names."""
NULLS: Final = ("random", "position", "token-type", "deep-supervised")
"""Policies that know nothing of a token's work, or have no choice."""
_HEAD: Final = ("policy", "accuracy by seed", "at ten letters", "mean depth by letters")


def estimate(table: str, quantity: str, **labels: Any) -> str:
    """Return an estimate of `results/tables/TABLE-seeds.csv` with its interval over seeds."""
    row = find(seeds_table(table), quantity, **labels)
    if row["value"] is None:
        raise ValueError(f"no {quantity} in {table} with {labels}")
    cell = estimate_cell(row)
    return f"{cell.text} {cell.small}".strip().replace("+", "")  # prose says whether it rises or falls


@cache
def seeds_table(name: str) -> pl.DataFrame:
    """Return a table of estimates over seeds."""
    return pl.read_csv(RESULTS / "tables" / f"{name}-seeds.csv", schema=SCHEMA)


@cache
def _verdicts() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = json.loads((RESULTS / "claims.json").read_text())["verdicts"]
    return found


def verdict(claim: str) -> str:
    """Return the verdict on a claim of the paper at cpu scale, in one or two words."""
    return _verdicts()[claim]["verdict"]


def claims() -> str:
    """Return the paper's claims with their verdicts as a Markdown table."""
    rows = [
        (PAPER_CLAIMS[key].sentence, f"**{found['verdict']}**", found["reason"]) for key, found in _verdicts().items()
    ]
    return markdown_table(("claim of the paper", "verdict at cpu scale", "settings that were judged"), rows)


def rule(claim: str) -> str:
    """Return the rule by which a claim is judged."""
    return _verdicts()[claim]["rule"]


def evidence(claim: str, setting: str) -> str:
    """Return the rows behind a verdict in one setting, one per seed."""
    table = pl.read_csv(RESULTS / "tables" / "claims.csv", infer_schema_length=None)
    rows = table.filter(claim=claim, setting=setting).sort("seed")
    head = ("run", "seed", "value", "95% interval over instances")
    cells = [
        (f"`{row['run_id']}`", str(row["seed"]), f"{row['value']:.3f}", f"[{row['low']:.3f}, {row['high']:.3f}]")
        for row in rows.iter_rows(named=True)
    ]
    because = rows.select("verdict", "because").row(0)
    return f"{markdown_table(head, cells)}\n\nVerdict on {setting}: **{because[0]}**, {because[1]}."


@cache
def words_runs() -> pl.DataFrame:
    """Return accuracy and depth by letters of every finished policy run on words over S3, one row per run and knob.

    Columns: label (`run_label`), seed, knob, accuracy, depth.
    """
    paths = sorted(path.parent for path in RESULTS.glob("words-*-cpu/*/config.json"))
    rows = [row for path in paths if (label := run_label(path)) for row in _final_rows(path, label)]
    newest = pl.col("date") == pl.col("date").max().over("label", "seed")
    return pl.DataFrame(rows).filter(newest).drop("date").sort("label", "seed", "knob")


def run_label(run: Path) -> str:
    """Return what a run on words over S3 is called: its policy, `fixed-3` if it was trained at depth 3, or `ouro-2`.

    Other runs, such as those at another price, have no name here.
    """
    config = RunFolder(run).read_config()
    policy, changes = config.model["policy"], {one.split()[0] for one in differs_from(config.preset, config)}
    if config.task_config["group"] != "S3":
        return ""
    if policy["name"] == "fixed":
        return f"fixed-{config.model['max_depth']}" if changes <= {"model.max_depth"} else ""
    if changes == {"init_from", "frozen", "model.policy.stage"}:
        return f"{policy['name']}-{policy['stage']}"
    return "" if changes else str(policy["name"])


def _final_rows(run: Path, label: str) -> Iterable[dict[str, Any]]:
    stored = json.loads((run / "config.json").read_text())
    config = stored["config"]
    for line in map(json.loads, (run / "metrics.jsonl").read_text().splitlines()):
        if line["kind"] == "eval" and line["step"] == config["steps"]:
            yield {
                "label": label,
                "seed": config["seed"],
                "date": stored["date"],
                "knob": line["knob"],
                "accuracy": line["accuracy"],
                "depth": line["depth_answer"],
            }


def policy(name: str) -> str:
    """Return the row of one policy on words over S3 as a Markdown table."""
    return markdown_table(_HEAD, [_policy_cells(name)])


def leaderboard() -> str:
    """Return the rows of all policies on words over S3, the most accurate first."""
    means = words_runs().group_by("label").agg(pl.col("accuracy").mean()).sort("accuracy", descending=True)
    return markdown_table(_HEAD, [_policy_cells(name) for name in means["label"]])


def policy_name(label: str) -> str:
    """Return what a policy is called.

    >>> policy_name("fixed-3"), policy_name("calm")
    ('fixed, trained at depth 3', 'CALM')
    """
    kind, _, depth = label.partition("-")
    return f"fixed, trained at depth {depth}" if kind == "fixed" else NAMES.get(label, label)


def _policy_cells(label: str) -> tuple[str, ...]:
    rows = words_runs().filter(label=label)
    if rows.is_empty():
        raise ValueError(f"no finished run of {label} on words over S3")
    by_seed = rows.group_by("seed").agg(pl.col("accuracy").mean()).sort("seed")["accuracy"]
    hardest = rows.filter(knob=10).sort("seed")["accuracy"]
    depths = rows.group_by("knob").agg(pl.col("depth").mean()).sort("knob")["depth"]
    spent = f"{depths[0]:.0f}" if label.startswith("fixed-") else " ".join(f"{one:.2f}" for one in depths)
    return policy_name(label), _shares(by_seed, 3), _shares(hardest, 2), spent


def _shares(values: Iterable[float], digits: int) -> str:
    """Write shares without their leading zero.

    >>> _shares([0.9991, 1.0], 3)
    '.999 1.000'
    """
    return " ".join(f"{one:.{digits}f}".removeprefix("0") for one in values)


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown.

    >>> print(markdown_table(["knob"], [["3"]]))
    | knob |
    | --- |
    | 3 |
    """
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
