"""The token view: instances of which every token is shown with the depth it got, the same ones for all runs.

All runs of a task are evaluated on the same instances, so a card shows one instance and a strip of tokens for each run
that has it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from anira.measure.records.loading import Evaluation

_MOST_TOKENS = 2400
"""In all strips together: about 1 MB of page."""
_FEWEST_TOKENS = 40


@dataclass(frozen=True, kw_only=True)
class Records:
    """What a run's strips are made from."""

    label: str
    max_depth: int
    evaluation: Evaluation

    @cached_property
    def instances(self) -> pl.DataFrame:
        """What the choice of instances needs to know."""
        columns = ("instance_id", "knob", "question", "answer", "predicted", "correct")
        return self.evaluation.collect(self.evaluation.instances.select(columns).sort("instance_id"))

    @cached_property
    def texts(self) -> dict[int, str]:
        """Token id -> text, as far as the token occurs in an input or is somewhere predicted as a whole answer."""
        found = self.evaluation
        read = found.tokens.select("input_id", "input_text").unique()
        single = found.tokens.filter(target_kind="answer").filter(pl.len().over("instance_id") == 1)
        said = single.join(found.instances, on="instance_id").select("predicted_id", "predicted").unique()
        return dict([*found.collect(said).iter_rows(), *found.collect(read).iter_rows()])

    def tokens(self, instance_id: int) -> pl.DataFrame:
        """Return the token records of one instance in order."""
        chosen = self.evaluation.tokens.filter(pl.col("instance_id") == instance_id)
        return self.evaluation.collect(chosen.sort("position"))


@dataclass(frozen=True, kw_only=True)
class TokenBox:
    """A token at its input position."""

    text: str
    position: int
    depth: int
    shade: int
    """The depth as percent of the largest."""
    answer: bool
    """Whether the token predicted here belongs to the answer."""
    right: bool | None
    predicts: str | None
    expected: float | None
    probs: tuple[float, ...]
    """The exit probabilities of depth 1, 2, ...; empty for a policy without them."""
    probes: tuple[tuple[str, float], ...]


@dataclass(frozen=True, kw_only=True)
class Strip:
    """One run's tokens of an instance."""

    label: str
    right: bool
    predicted: str
    left_out: int
    """Tokens at the start that are not shown, to keep the page light."""
    boxes: tuple[TokenBox, ...]


@dataclass(frozen=True, kw_only=True)
class Card:
    """An instance and what each run made of it."""

    knob: int
    question: str
    answer: str
    strips: tuple[Strip, ...]


def cards(records: Sequence[Records], count: int) -> list[Card]:
    """Choose up to `count` instances and lay them out, from the smallest knob to the largest."""
    chosen = choose(records, count)
    limit = max(_FEWEST_TOKENS, _MOST_TOKENS // max(1, len(chosen) * len(records)))
    return [_card(records, row, limit) for row in chosen.iter_rows(named=True)]


def cards_table(shown: Sequence[Card], task: str) -> pl.DataFrame:
    """Return the boxes of all cards as one table for `--csv`."""
    rows = [
        {
            "task": task,
            "label": strip.label,
            "knob": card.knob,
            "question": card.question,
            "position": box.position,
            "text": box.text,
            "answer": box.answer,
            "correct": box.right,
            "depth": box.depth,
            "expected_depth": box.expected,
            "exit_probs": list(box.probs),
            **{name.replace(" ", "_"): value for name, value in box.probes},
        }
        for card in shown
        for strip in card.strips
        for box in strip.boxes
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def choose(records: Sequence[Records], count: int) -> pl.DataFrame:
    """Return the knob and question of the instances to show, smallest knob first.

    One that some run gets wrong, from the largest knob that has one, and others that all get right at knobs spread
    evenly; where there are too few of these, more of the wrong ones. Instances that more of the runs have come first.
    """
    pool = _pool(records)
    wrong = pool.filter(~pl.col("right")).sort("knob", "first", descending=[True, False])
    right = _spread(pool.filter("right"), max(0, count - min(1, len(wrong))))
    both = pl.concat([right, wrong.head(max(0, count - len(right)))])
    return both.sort("knob", "first").select("knob", "question", "answer")


def _pool(records: Sequence[Records]) -> pl.DataFrame:
    """Return the instances that as many runs as possible have: knob, question, answer, right (by all), first id."""
    keys = ["knob", "question", "answer"]
    tables = [one.instances.select(*keys, "correct", "instance_id").unique(keys, keep="first") for one in records]
    pool = (
        pl.concat(tables)
        .group_by(keys)
        .agg(right=pl.col("correct").all(), first=pl.col("instance_id").min(), runs=pl.len())
    )
    return pool.filter(pl.col("runs") == pl.col("runs").max()).drop("runs")


def _spread(pool: pl.DataFrame, count: int) -> pl.DataFrame:
    """Return `count` instances, knobs in turn; if there are more knobs than that, evenly spaced ones."""
    knobs = pool["knob"].unique().sort().to_list()
    if count < len(knobs):
        knobs = [knobs[round(i * (len(knobs) - 1) / max(1, count - 1))] for i in range(count)]
    turns = pool.filter(pl.col("knob").is_in(knobs)).with_columns(turn=pl.col("first").rank("ordinal").over("knob"))
    return turns.sort("turn", "knob").head(count).drop("turn")


def _card(records: Sequence[Records], row: Mapping[str, Any], limit: int) -> Card:
    strips = []
    for one in records:
        found = one.instances.filter(knob=row["knob"], question=row["question"]).sort("instance_id").head(1)
        strips += [_strip(one, instance, limit) for instance in found.iter_rows(named=True)]
    return Card(knob=row["knob"], question=row["question"], answer=row["answer"], strips=tuple(strips))


def _strip(one: Records, instance: Mapping[str, Any], limit: int) -> Strip:
    tokens = one.tokens(instance["instance_id"])
    return Strip(
        label=one.label,
        right=instance["correct"],
        predicted=instance["predicted"],
        left_out=max(0, len(tokens) - limit),
        boxes=tuple(_box(token, one.texts, one.max_depth) for token in tokens.tail(limit).iter_rows(named=True)),
    )


def _box(token: Mapping[str, Any], texts: Mapping[int, str], max_depth: int) -> TokenBox:
    answer, predicted = token["target_kind"] == "answer", token["predicted_id"]
    probes = {name.removeprefix("probe_"): value for name, value in token.items() if name.startswith("probe_")}
    return TokenBox(
        text=token["input_text"],
        position=token["position"],
        depth=token["exit_depth"],
        shade=round(100 * token["exit_depth"] / max_depth),
        answer=answer,
        right=token["correct"],
        # What a model says about the next token of a prompt was never trained: it would only mislead.
        predicts=texts.get(predicted, f"token {predicted}") if answer else None,
        expected=token["expected_depth"],
        probs=tuple(token["exit_probs"] or ()),
        probes=tuple((name.replace("_", " "), value) for name, value in probes.items() if value is not None),
    )
