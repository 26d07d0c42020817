"""What a report says first: how depth moves in each experiment, and what that is held against."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import polars as pl

from anira.measure import quantity
from anira.measure.lano import PROXIES
from anira.measure.sizes import UNSEEN
from anira.measure.tidy import find
from anira.site.by_knob import DEPTH, KnobTask, knob_chart_part
from anira.site.charts import interval_chart
from anira.site.page import ChartPart
from anira.site.values import amount, interval
from anira.site.verdicts import listed

PROBES: Final = "probe_within"
_NAMED: Final = 3
"""Experiments that one sentence names; more are counted."""
_FREE: Final = "No question is asked: another string may be as good, and exact matches say nothing."


def is_free(task: KnobTask) -> bool:
    """Say whether no tokens are a question, as where a language is learned: a drawn string is not the right answer."""
    return task.seeds.filter(quantity="depth", subset="prompt")["value"].drop_nulls().is_empty()


def answer(tasks: Sequence[KnobTask]) -> list[str]:
    """Say how depth moves: first of all experiments of a task together, where they are several, then of each."""
    return [line for task in tasks for line in _lines(task)]


def lead_chart(task: KnobTask) -> ChartPart:
    """Return the chart that shows the answer: depth by knob, or how depth goes with the reference solver's state."""
    return probe_chart(task) if is_free(task) else knob_chart_part(task, DEPTH)


def probe_chart(task: KnobTask) -> ChartPart:
    """Return the rank correlation of depth with each probe, beside that of shuffled depths."""
    rows = task.legend.of(pl.concat([task.seeds, task.runs]).filter(quantity=PROBES).drop_nulls("value"))
    who = [pl.lit(", "), pl.col("label")] * (len(task.variants) > 1)
    names = pl.col("subset").map_elements(_probe, return_dtype=pl.String)
    label = pl.concat_str(names, *who).alias("label")
    shown = rows.select(label, "seed", "value", "low", "high", "null_low", "null_high")
    return ChartPart(
        name=f"{task.name}-probes",
        title="Rank correlation of depth with the reference solver's state, within instances",
        chart=interval_chart(
            shown, order=shown["label"].unique(maintain_order=True).to_list(), title="rank correlation (Spearman)"
        ),
        caption="Large marks: means over seeds with 95% intervals; grey bars: depth shuffled within instances.",
    )


def _lines(task: KnobTask) -> list[str]:
    if is_free(task):
        return [*(_free_line(task, name) for name in task.variants), _FREE]
    together = [_together(task)] if len(task.variants) > 1 else []
    return [*together, *(_line(task, name) for name in task.variants)]


def _together(task: KnobTask) -> str:
    rising = [name for name in task.variants if (find(task.seeds, "slope", variant=name)["low"] or 0) > 0]
    count = f"{len(rising) or 'none'} of {len(task.variants)} experiments"
    who = listed(rising) if 0 < len(rising) <= _NAMED else count
    return f"{task.title}: answer depth rises with the knob in {who}."


def _line(task: KnobTask, name: str) -> str:
    """Say of an experiment how depth moves with the knob, how often it is right, and whether depth is needed."""
    rows, share = task.seeds, quantity("accuracy")
    slope, right = find(rows, "slope", variant=name), find(rows, "accuracy", variant=name)
    majority, need = find(rows, "majority", variant=name)["value"], find(rows, "need", variant=name)
    seeds = "" if right["n"] == 1 else f" (mean of {right['n']} seeds)"
    lost = "" if need["value"] is None else f" Forced to depth 1 it loses {100 * need['value']:.0f} points."
    return (
        f"{task.title}, {name}: {movement(slope)}; accuracy {amount(right['value'], share)}, the commonest "
        f"answer {amount(majority, share)}{seeds}.{lost}{''.join(_unseen(task, name))}"
    )


def _unseen(task: KnobTask, name: str) -> Iterator[str]:
    """Say what accuracy loses at sizes that training has not shown, where they were evaluated."""
    for split, where in UNSEEN.items():
        drop = find(task.seeds, "drop_unseen", split=split, variant=name)["value"]
        if drop is not None:
            change = f"{abs(100 * drop):.0f} points {'lower' if drop > 0 else 'higher'}"
            yield f" {where[:1].upper()}{where[1:]} accuracy is {change}."


def _free_line(task: KnobTask, name: str) -> str:
    """Say how the depth of an experiment goes with the reference solver's state."""
    rows = task.seeds.filter(quantity=PROBES, variant=name).drop_nulls("value")
    told = [f"{_probe(row['subset'])} {row['value']:+z.2f}" for row in rows.iter_rows(named=True)]
    return f"{task.title}, {name}: rank correlations of depth within instances: {', '.join(told) or 'none is defined'}."


def _probe(name: str) -> str:
    """Write a probe for people; those of LANO's parser as its page does."""
    return PROXIES.get(name, name.replace("_", " "))


def movement(slope: Mapping[str, Any]) -> str:
    """Say how answer depth moves with the knob, from the row of its slope."""
    if slope["value"] is None:
        reason = (slope["reason"] or "there is none").partition(":")[0]
        return f"answer depth has no slope over the knob, because {reason}"
    unit = quantity("slope")
    ends, size = interval(slope["low"], slope["high"], unit), amount(abs(slope["value"]), unit)
    moves = "rises" if slope["value"] > 0 else "falls"
    if size == amount(0.0, unit):
        return f"answer depth does not move with the knob: {size} iterations per unit {ends}".rstrip()
    return f"answer depth {moves} by {size} iterations per unit of the knob {ends}".rstrip()
