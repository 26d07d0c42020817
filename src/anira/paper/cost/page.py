"""The page: what the model's own depths save of time, memory and FLOPs, and what deciding costs."""

from collections.abc import Sequence
from typing import Any, Final

import polars as pl

from anira.measure import FEWEST, quantity
from anira.paper.cost.charts import batch_size, batches, depth_chart, saved_chart
from anira.paper.found import Found
from anira.site import Badge, ChartPart, Page, Section, TablePart, Tone, amount
from anira.site.charts import MARKS
from anira.site.tables import MEANS, Column, estimate_table
from anira.site.verdicts import named

_MEASURED: Final = (
    Column("iterations", "mean depth d", "own"),
    Column("iterations_share", "d/D", "own"),
    Column("slots_expected", "(d + 1)/D", "own"),
    Column("time_ratio", "time", "own"),
    Column("core_time_ratio", "time of the core", "own"),
    Column("deciding_ratio", "time of deciding", "own"),
    Column("core_bytes_ratio", "KV bytes, core", "own"),
    Column("cache_bytes_ratio", "bytes, whole cache", "own"),
    Column("token_time", "time per token", "own", small="ms"),
)
_FLOPS: Final = (
    Column("execution_flops", "execution", "own"),
    Column("execution_ratio", "of full depth", "own"),
    Column("decision_flops", "decision", "own"),
    Column("decision_ratio", "of execution", "own"),
    Column("other_flops", "prelude, coda, head", "own"),
    Column("flops_ratio", "all, of full depth", "own"),
)
_RECORDS: Final = (
    Column("iterations", "mean depth d"),
    Column("iterations_share", "d/D"),
    Column("kv_share", "KV slots"),
    Column("flops_share", "FLOPs, whole model"),
    Column("decisions", "decisions per token"),
)
_SIZES: Final = {"parameters": "all", "decider_parameters": "deciding", "decider_share": "share"}
_SHARES: Final = "Shares are of the same rows and weights at full depth without a decider."
_LINES: Final = (
    f"{MARKS} Hollow marks: the same weights without a decider, every token at one depth. The paper expects the dotted "
    "line, d/D. Dashed: (d + 1)/D, since an early exit keeps one more slot."
)
Subjects = dict[Any, dict[str, Any]]


def make_page(found: Found) -> Page:
    """Return the page."""
    tasks = found.runs.filter(subset="own")["task"].unique(maintain_order=True)
    title = "What the models' own depths cost"
    return Page(
        title="What does depth save?",
        badge=badge(found),
        answer=answer(found),
        lead=ChartPart(name="saved", title=title, chart=saved_chart(found), caption=_LINES),
        sections=[
            *(_section(found.part(task=task)) for task in tasks),
            _records(found),
            _parameters(found),
            Section(title="Where it was measured", text=[found.words["machine"]]),
        ],
    )


def badge(found: Found) -> Badge:
    """Say in how many settings time surely falls: the interval over seeds lies below full depth's."""
    judged = times(found).filter(pl.col("n") >= FEWEST)
    if judged.is_empty():
        return Badge(f"no verdict on time: fewer than {FEWEST} seeds", "open")
    less, more = int((judged["high"] < 1).sum()), int((judged["low"] > 1).sum())
    tone: Tone = "yes" if less == len(judged) else "no" if more and not less else "open"
    return Badge(f"less time in {less or 'none'} of {len(judged)}", tone)


def times(found: Found) -> pl.DataFrame:
    """Return the time of own depths over seeds, for each task, variant and batch size."""
    return found.seeds.filter(quantity="time_ratio", subset="own")


def answer(found: Found) -> list[str]:
    """Say what is saved, and whether time is."""
    depth, slots, flops, time = (
        _span(found, name) for name in ("iterations_share", "core_bytes_ratio", "flops_ratio", "time_ratio")
    )
    return [
        f"At their own depths models run {depth} of the core's iterations, keep {slots} of its keys and values, and "
        f"take {flops} of all FLOPs and {time} of the time."
    ]


def _span(found: Found, name: str) -> str:
    """Write the smallest and the largest mean over seeds among the settings."""
    values = found.seeds.filter(quantity=name, subset="own")["value"].drop_nulls()
    ends = dict.fromkeys(amount(value, quantity(name)) for value in sorted(values)[:: max(1, len(values) - 1)])
    return " to ".join(ends)


def _section(found: Found) -> Section:
    title, repeated = found.task.upper(), "Intervals are about repeating the measurement."
    means, single = (_subjects(found, seeds=seeds) for seeds in (False, True))
    ways: Subjects = {
        (name, way): {**labels, "subset": way}
        for name, labels in means.items()
        for way in found.seeds.filter(quantity="time_ratio", **labels)["subset"]
    }
    flops = f"{title}: FLOPs per token, counted"
    return Section(
        title=title,
        parts=[
            *_charts(found),
            _table(found.seeds, means, _MEASURED, f"{title}: measured", MEANS),
            _table(found.seeds, means, _FLOPS, flops, MEANS),
            _table(found.seeds, ways, _MEASURED, f"{title}: own and forced depths", MEANS, ("model", "depths")),
            _table(found.runs, single, _MEASURED, f"{title}: measured, each run", repeated, ("run",)),
        ],
    )


def _charts(found: Found) -> list[ChartPart]:
    drawn = [("time_ratio", decode, f"Time, {batch_size(decode)} at once") for decode in batches(found)]
    drawn.append(("core_bytes_ratio", batches(found)[-1], "Keys and values of the core, bytes"))
    return [
        ChartPart(
            name=f"{found.task}-{name}-{decode}", title=title, chart=depth_chart(found, name, decode), caption=_LINES
        )
        for name, decode, title in drawn
    ]


def _subjects(found: Found, *, seeds: bool) -> Subjects:
    """Return the lines of a table: models and batch sizes, and seeds if they are asked for."""
    own = found.runs.filter(quantity="time_ratio", subset="own")
    subjects: Subjects = {}
    for variant, decode, seed in own.select("variant", "decode", "seed").iter_rows():
        name = f"{named(variant)}, {batch_size(decode)} at once"
        labels = {"variant": variant, "decode": decode}
        subjects |= {f"{name}, seed {seed}": {**labels, "seed": seed}} if seeds else {name: labels}
    return subjects


def _table(
    table: pl.DataFrame,
    subjects: Subjects,
    columns: Sequence[Column],
    title: str,
    caption: str,
    first: tuple[str, ...] = ("model",),
) -> TablePart:
    return estimate_table(table, subjects, columns, title=title, first=first, caption=f"{caption} {_SHARES}")


def _models(found: Found, subset: str) -> Subjects:
    """Return tasks and variants whose parameters were counted."""
    pairs = found.seeds.filter(quantity="parameters", subset=subset).select("task", "variant").iter_rows()
    return {f"{task.upper()} {named(name)}": {"task": task, "variant": name} for task, name in pairs}


def _records(found: Found) -> Section:
    caption = f"{MEANS} Shares are of the same model with every token at full depth and its decider asked."
    title = "All tokens of the last evaluation, counted"
    table = estimate_table(found.seeds, _models(found, "all"), _RECORDS, title=title, caption=caption)
    return Section(title="All evaluated tokens, from the records", parts=[table])


def _parameters(found: Found) -> Section:
    said = "The paper: about 8%; 5.1 million in all and 0.4 million deciding on MANO, 13.7 and 1.0 million elsewhere."
    parts = {"all": ("Parameters of these runs", ""), "paper": ("Parameters of the paper's presets", said)}
    tables = [
        estimate_table(
            found.seeds,
            _models(found, subset),
            [Column(name, title, subset) for name, title in _SIZES.items()],
            title=title,
            caption=caption,
        )
        for subset, (title, caption) in parts.items()
    ]
    return Section(title="The decider's share of the parameters", parts=tables)
