"""The page: what the model's own depths save of time, memory and FLOPs, and what deciding costs."""

from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from anira.measure import FEWEST, quantity
from anira.measure.tidy import find
from anira.paper.cost.charts import batch_size, batches, depth_chart, saved_chart
from anira.paper.cost.measure import Found
from anira.site import SMOKE, Badge, Cell, ChartPart, Page, Section, TablePart, Tone, amount, read_notes
from anira.site.charts import Legend
from anira.site.tables import Column, estimate_cell, estimate_table

NAMES: Final = {"anira-e": "ANIRA-E", "anira-o": "ANIRA-O"}
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
_WAYS: Final = ("iterations_share", "time_ratio", "core_bytes_ratio", "cache_bytes_ratio", "token_time")
_RECORDS: Final = (
    Column("iterations", "mean depth d"),
    Column("iterations_share", "d/D"),
    Column("kv_share", "KV slots"),
    Column("flops_share", "FLOPs, whole model"),
    Column("decisions", "decisions per token"),
)
_SIZES: Final = ("parameters", "decider_parameters", "decider_share")
_SEEDS: Final = "Means over seeds with 95% t intervals."
_SHARES: Final = "Shares are of the same rows and weights at full depth without a decider."
_MARKS: Final = (
    "Large marks: own depths, means over seeds with 95% t intervals; small marks: seeds. Hollow marks: the same "
    "weights without a decider, every token at one depth. Dotted: d/D; dashed: (d + 1)/D."
)
Subjects = Mapping[str, Mapping[str, object]]


def make_page(found: Found, *, scale: str, files: Sequence[str]) -> Page:
    """Return the page."""
    tasks = found.runs.filter(subset="own")["task"].unique(maintain_order=True)
    return Page(
        title="What does depth save?",
        badge=badge(found),
        answer=[*answer(found), *[SMOKE] * (scale == "smoke")],
        lead=ChartPart(
            name="saved",
            title="What the models' own depths cost",
            chart=saved_chart(found),
            caption="Large marks: means over seeds of a task, model and batch size; small marks: seeds. The paper "
            "expects the dotted line, d/D. Dashed: (d + 1)/D, since an early exit keeps one more slot.",
        ),
        sections=[
            *(_section(found, task, is_open=i == 0) for i, task in enumerate(tasks)),
            _records(found),
            _parameters(found),
            Section(title="Where it was measured", text=[found.machine]),
            Section(title="How to read this page", notes=read_notes("anira.paper.cost")),
        ],
        files=files,
        command=f"anira reproduce cost --scale {scale}",
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
    number = len(times(found))
    return [
        f"At their own depths the models run {depth} of the core's iterations, keep {slots} of its keys and values, "
        f"and take {flops} of all FLOPs, decisions included.",
        f"Time is {time} of that at full depth, over {number} setting{'s' * (number > 1)} (task, model, batch size).",
    ]


def _span(found: Found, name: str) -> str:
    """Write the smallest and the largest mean over seeds among the settings."""
    values = found.seeds.filter(quantity=name, subset="own")["value"].drop_nulls()
    ends = dict.fromkeys(amount(value, quantity(name)) for value in sorted(values)[:: max(1, len(values) - 1)])
    return " to ".join(ends)


def _section(found: Found, task: str, *, is_open: bool) -> Section:
    title = task.upper()
    means = _subjects(found, task, seeds=False)
    single = _subjects(found, task, seeds=True)
    return Section(
        title=title,
        parts=[
            *_charts(found, task),
            _table(found.seeds, means, _MEASURED, f"{title}: measured", "model"),
            _table(found.seeds, means, _FLOPS, f"{title}: FLOPs per token, counted", "model"),
            _ways_table(found, task),
            _table(found.runs, single, _MEASURED, f"{title}: measured, each run", "run"),
        ],
        open=is_open,
    )


def _charts(found: Found, task: str) -> list[ChartPart]:
    shown = [("time_ratio", decode, f"Time, {batch_size(decode)} at once") for decode in batches(found)]
    shown.append(("core_bytes_ratio", batches(found)[-1], "Keys and values of the core, bytes"))
    return [
        ChartPart(
            name=f"{task}-{name}-{decode}",
            title=title,
            chart=depth_chart(found, task, name, decode, title="of that at full depth", legend=Legend(NAMES)),
            caption=_MARKS,
        )
        for name, decode, title in shown
    ]


def _subjects(found: Found, task: str, *, seeds: bool) -> Subjects:
    """Return the lines of a table: models and batch sizes, and seeds if they are asked for."""
    own = found.runs.filter(task=task, quantity="time_ratio", subset="own")
    subjects: dict[str, dict[str, object]] = {}
    for variant, decode, seed in own.select("variant", "decode", "seed").iter_rows():
        name = f"{NAMES.get(variant, variant)}, {batch_size(decode)} at once"
        labels = {"task": task, "variant": variant, "decode": decode}
        subjects |= {f"{name}, seed {seed}": {**labels, "seed": seed}} if seeds else {name: labels}
    return subjects


def _table(table: pl.DataFrame, subjects: Subjects, columns: Sequence[Column], title: str, first: str) -> TablePart:
    of = "Intervals are about repeating the measurement." if first == "run" else _SEEDS
    return estimate_table(table, subjects, columns, title=title, first=first, caption=f"{of} {_SHARES}")


def _ways_table(found: Found, task: str) -> TablePart:
    """Return own and forced depths side by side."""
    rows = []
    for name, labels in _subjects(found, task, seeds=False).items():
        for way in found.seeds.filter(quantity="time_ratio", **labels)["subset"]:
            cells = [find(found.seeds, one, subset=way, **labels) for one in _WAYS]  # type: ignore[arg-type]
            rows.append([Cell(name), Cell(way), *map(estimate_cell, cells)])
    titles = {column.quantity: column for column in _MEASURED}
    head = [Cell("model"), Cell("depths"), *(titles[name].head for name in _WAYS)]
    return TablePart(title=f"{task.upper()}: own and forced depths", head=head, rows=rows, caption=_SEEDS)


def _models(found: Found, subset: str) -> Subjects:
    """Return tasks and variants whose parameters were counted."""
    pairs = found.seeds.filter(quantity="parameters", subset=subset).select("task", "variant").iter_rows()
    return {f"{task.upper()} {NAMES.get(name, name)}": {"task": task, "variant": name} for task, name in pairs}


def _records(found: Found) -> Section:
    caption = f"{_SEEDS} Shares are of the same model with every token at full depth and its decider asked."
    title = "All tokens of the last evaluation, counted"
    table = estimate_table(found.seeds, _models(found, "all"), _RECORDS, title=title, first="model", caption=caption)
    return Section(title="All evaluated tokens, from the records", parts=[table])


def _parameters(found: Found) -> Section:
    caption = (
        "The paper: about 8%; 5.1 million in all and 0.4 million deciding on MANO, 13.7 and 1.0 million elsewhere."
    )
    tables = [
        estimate_table(
            found.seeds,
            _models(found, subset),
            [Column(name, title, subset) for name, title in zip(_SIZES, ("all", "deciding", "share"), strict=True)],
            title=title,
            first="model",
            caption=caption if subset == "paper" else "",
        )
        for subset, title in (("all", "Parameters of these runs"), ("paper", "Parameters of the paper's presets"))
    ]
    return Section(title="The decider's share of the parameters", parts=tables)
