"""The token view: instances whose every token is shown with the depth that it got, the same ones for all runs.

A reader picks an instance by knob and by outcome, and one run or two whose tokens stand one below the other. The page
holds as many instances of each knob, right ones and wrong ones, as keep it light; a script lays out what is picked.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import polars as pl

from anira.measure.records.loading import Evaluation
from anira.site.page import TokensPart
from anira.site.pictures import picture

MOST_TOKENS: Final = 3000
"""In all strips of a page together: well below 1 MB."""
_LONGEST: Final = 400
"""Tokens of a strip; the earliest ones of a longer row are left out."""
_KEYS: Final = ("knob", "question", "answer")


@dataclass(frozen=True, kw_only=True)
class Shown:
    """A run whose tokens are shown."""

    label: str
    max_depth: int
    evaluation: Evaluation

    @cached_property
    def instances(self) -> pl.DataFrame:
        """What the choice of instances needs to know."""
        columns = ("instance_id", *_KEYS, "predicted", "correct", "num_tokens")
        table = self.evaluation.collect(self.evaluation.instances.select(columns).sort("instance_id"))
        return table.unique(_KEYS, keep="first", maintain_order=True)

    @cached_property
    def texts(self) -> dict[int, str]:
        """Token id -> text, as far as the token occurs in an input or is somewhere predicted as a whole answer."""
        found = self.evaluation
        read = found.tokens.select("input_id", "input_text").unique()
        single = found.tokens.filter(target_kind="answer").filter(pl.len().over("instance_id") == 1)
        said = single.join(found.instances, on="instance_id").select("predicted_id", "predicted").unique()
        return dict([*found.collect(said).iter_rows(), *found.collect(read).iter_rows()])


def token_view(runs: Sequence[Shown], *, name: str, title: str, knob: str, most: int = MOST_TOKENS) -> TokensPart:
    """Return the view of some runs of the task of this name."""
    chosen = choose(runs, most)
    names = list(dict.fromkeys(probe for run in runs for probe in run.evaluation.probes))
    strips = [list(_strips(run, chosen, names)) for run in runs]
    instances = [
        {
            "knob": row["knob"],
            "answer": row["answer"],
            "picture": picture(name, row["question"], row["answer"]),
            "strips": [strip for own in strips for strip in own if strip["of"] == i],
        }
        for i, row in enumerate(chosen.iter_rows(named=True))
    ]
    data = {
        "knob": knob,
        "runs": [run.label for run in runs],
        "max_depth": max(run.max_depth for run in runs),
        "probes": [name.replace("_", " ") for name in names],
        "instances": instances,
    }
    return TokensPart(name=name, title=title, data=data)


def choose(runs: Sequence[Shown], most: int) -> pl.DataFrame:
    """Return instances that most runs share: as many right and wrong ones of each knob as fit.

    An instance counts as right if all runs get it right. Columns: knob, question, answer, right.
    """
    tables = [run.instances.select(*_KEYS, "correct", "instance_id", "num_tokens") for run in runs]
    pool = (
        pl.concat(tables)
        .group_by(_KEYS)
        .agg(pl.col("correct").all().alias("right"), pl.col("instance_id", "num_tokens").min(), pl.len().alias("runs"))
        .filter(pl.col("runs") == pl.col("runs").max())
    )
    turn = pl.col("instance_id").rank("ordinal").over("knob", "right")
    ranked = pool.with_columns(turn).sort("instance_id", "knob", "right")
    spent = (pl.col("num_tokens").clip(0, _LONGEST) * pl.col("runs")).cum_sum()
    kept = ranked.filter((spent <= most) | (pl.int_range(pl.len()) == 0))
    return kept.sort("knob", "right", "instance_id").select(*_KEYS, "right")


def _strips(run: Shown, chosen: pl.DataFrame, probes: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield one run's tokens of each chosen instance that it has."""
    wanted = chosen.with_row_index("of").join(run.instances, on=list(_KEYS))
    tokens = run.evaluation.tokens.filter(pl.col("instance_id").is_in(wanted["instance_id"].to_list()))
    table = run.evaluation.collect(tokens.sort("instance_id", "position")).partition_by("instance_id", as_dict=True)
    for row in wanted.iter_rows(named=True):
        own = table[(row["instance_id"],)]
        yield {
            "of": row["of"],
            "run": run.label,
            "right": row["correct"],
            "predicted": row["predicted"],
            "left_out": max(0, len(own) - _LONGEST),
            "tokens": [_token(token, run.texts, probes) for token in own.tail(_LONGEST).iter_rows(named=True)],
        }


def _token(token: Mapping[str, Any], texts: Mapping[int, str], probes: Sequence[str]) -> dict[str, Any]:
    """Return what the view shows of a token; what it does not have is left out."""
    predicted = token["predicted_id"]
    values = [token.get(f"probe_{name}") for name in probes]
    found = {
        "text": token["input_text"],
        "position": token["position"],
        "depth": token["exit_depth"],
        "expected": None if token["expected_depth"] is None else round(token["expected_depth"], 3),
        "probs": [round(q, 3) for q in token["exit_probs"] or ()],
        "probes": values if any(value is not None for value in values) else [],
    }
    if token["target_kind"] == "answer":
        # What a model says about the next token of a prompt was never trained: it would only mislead.
        found |= {
            "predicts": texts.get(predicted, f"token {predicted}"),
            "right": token["correct"],
            "truth": texts.get(token["target_id"]),
            "lens": token.get("lens"),
        }
    return {key: value for key, value in found.items() if value not in (None, [], {})}
