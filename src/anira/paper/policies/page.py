"""The page of a comparison: who earned its depth, the leaderboard, and the charts behind it."""

from typing import Any, Final

import altair as alt
import polars as pl

from anira.measure import over_seeds, quantity
from anira.paper.found import Found
from anira.paper.policies.measure import FIXED, by_main_rule, policies, row, whole_rows
from anira.paper.policies.verdicts import answer, badge, collapsed_seeds, verdicts
from anira.site import Cell, ChartPart, Note, Page, Section, amount
from anira.site.by_knob import ACCURACY, DEPTH, KnobTask, knob_chart_part
from anira.site.charts import Legend, forced_chart
from anira.site.style import GREY, tooltip
from anira.site.tables import MEANS, Column, estimate_table

COLUMNS: Final = (
    Column("accuracy", "accuracy"),
    Column("accuracy_hardest", "hardest knob"),
    Column("iterations", "iterations per token"),
    Column("above_fixed", "above fixed (iterations)", "iterations"),
    Column("above_fixed", "above fixed (FLOPs)", "flops"),
    Column("need", "need"),
    Column("slope", "slope over knob"),
    Column("spearman_knob", "Spearman with knob"),
)
"""Columns of the leaderboard."""
_MORE: Final = (
    Column("flops", "FLOPs per token"),
    Column("spearman_oracle", "Spearman with oracle depth"),
    Column("regret", "regret", "answer"),
    Column("real_less_virtual", "real minus virtual"),
    Column("settled", "settled tokens"),
    Column("depth", "answer depth", "answer"),
    Column("depth", "prompt depth", "prompt"),
)
_TWIN: Final = (
    Column("accuracy_hardest", "hardest knob"),
    Column("need", "need"),
    Column("depth", "answer depth", "answer"),
    Column("slope", "slope over knob"),
    Column("spearman_knob", "Spearman with knob"),
)
_X: Final = {"iterations": "executed iterations per token", "flops": "FLOPs per token, all of the model"}
_NEEDS: Final = Column("oracle_depth", "mean oracle depth")


def make_page(found: Found, *, knob: str, command: str, twin: Found | None = None) -> Page:
    """Return the page of a comparison, with its abelian twin beside it where there is one."""
    text = "Deciding, probing and reading out cost too. A policy below the grey curve has earned nothing."
    flops = _against_compute(found, "flops", "Accuracy against all FLOPs")
    return Page(
        title=f"Policies on {found.task}: which of them earn their depth?",
        badge=badge(found),
        answer=answer(found),
        lead=_against_compute(found, "iterations", "Accuracy against executed iterations"),
        verdicts=verdicts(found),
        sections=[
            _leaderboard(found),
            Section(title="At equal FLOPs", text=[text], parts=[flops]),
            _depth(found, knob),
            _forced(found),
            *([_twin(found, twin)] if twin is not None else []),
        ],
        command=command,
    )


def ranked(found: Found) -> list[str]:
    """Return the policies, the most accurate first."""
    return sorted(policies(found), key=lambda name: -(row(found, name, "accuracy")["value"] or 0.0))


def _leaderboard(found: Found) -> Section:
    subjects = {Cell(name, _mark(found, name)): {"variant": name, "split": "seen"} for name in ranked(found)}
    table = estimate_table(
        found.seeds,
        subjects,
        COLUMNS,
        title="Leaderboard",
        first="policy",
        caption=f"{MEANS} By each policy's default rule; the most accurate first. Above fixed (iterations) decides.",
        heads=["seeds"],
        more=lambda labels: [_seeds(found, labels["variant"])],
    )
    more = estimate_table(found.seeds, subjects, _MORE, title="Cost, regret and exits", first="policy", caption=MEANS)
    return Section(title="All policies alike", parts=[table, more], notes=_undefined(found))


def _mark(found: Found, name: str) -> str:
    constant, seeds = collapsed_seeds(found, name)
    return "constant by design" if name == "fixed" else "collapsed" if constant == seeds else ""


def _seeds(found: Found, name: str) -> Cell:
    """Return the number of seeds, and from where to where their accuracies go."""
    values = whole_rows(by_main_rule(found.runs)).filter(variant=name, quantity="accuracy")["value"].sort()
    ends = [amount(end, quantity("accuracy")).removesuffix("%") for end in (values[0], values[-1])]
    return Cell(str(len(values)), " to ".join(ends), "lowest and highest accuracy over seeds")


def _undefined(found: Found) -> list[Note]:
    """Say why estimates are undefined, each reason once."""
    reasons: dict[str, list[tuple[str, str]]] = {}
    for one in (*COLUMNS, *_MORE):
        for name in policies(found):
            cell = row(found, name, one.quantity, one.subset)
            if cell["value"] is None and cell["reason"]:
                reasons.setdefault(cell["reason"], []).append((name, one.title))
    heads = {
        reason: [", ".join(dict.fromkeys(own)) for own in zip(*who, strict=True)] for reason, who in reasons.items()
    }
    return [Note(f"Undefined for {who}: {what}", f"{reason}.") for reason, (who, what) in heads.items()]


def _against_compute(found: Found, compute: str, title: str) -> ChartPart:
    caption = (
        "Grey: models trained at fixed depths; a policy below that curve has earned nothing. Large marks: means over "
        "seeds; small marks: seeds; thin lines: other thresholds of the same models."
    )
    return ChartPart(name=compute, title=title, chart=compute_chart(found, compute), caption=caption)


def compute_chart(found: Found, compute: str) -> alt.TopLevelMixin:
    """Return accuracy against compute: the curve of fixed depths, each policy's mean, its seeds and its thresholds."""
    rule = ["variant", "select", "threshold"]
    means = _pairs(found.seeds, compute, rule)
    others = _pairs(over_seeds(by_main_rule(found.runs, "anti")), compute, rule)
    fixed = pl.col("label").str.contains(FIXED)
    swept = pl.concat([others, means.filter(~fixed)]).drop_nulls("threshold")
    seeds = _pairs(by_main_rule(found.runs), compute, ["variant", "seed"]).filter(~fixed)
    x = alt.X("x:Q", title=_X[compute], scale=alt.Scale(zero=False))
    y = alt.Y("y:Q", title="accuracy over knobs of training", scale=alt.Scale(zero=False), axis=alt.Axis(format="%"))
    legend = Legend({name: name for name in policies(found) if name != "fixed"}, "policy")
    curve = alt.Chart(means.filter(fixed).sort("x")).mark_line(
        color=GREY, point=alt.OverlayMarkDef(color=GREY, size=40)
    )
    thin = alt.Chart(swept).mark_line(strokeWidth=1, point=alt.OverlayMarkDef(size=14))
    small = alt.Chart(seeds).mark_point(size=25, opacity=0.6)
    large = alt.Chart(means.filter(~fixed)).mark_point(size=140, filled=True)
    tips = ["label:N", "x:Q", "y:Q"]
    marked: dict[str, Any] = {"x": x, "y": y, "color": legend.colour, "shape": legend.shape}
    return alt.layer(
        curve.encode(x=x, y=y, tooltip=tooltip(*tips)),
        thin.encode(
            x=x,
            y=y,
            color=legend.colour,
            order=alt.Order("threshold:Q"),
            tooltip=tooltip("select:N", "threshold:Q", *tips),
        ),
        small.encode(**marked, tooltip=tooltip("seed:O", *tips)),
        large.encode(**marked, tooltip=tooltip(*tips)),
    )


def _pairs(table: pl.DataFrame, compute: str, by: list[str]) -> pl.DataFrame:
    """Return (compute, accuracy) as columns x and y for each group over all knobs of training, with its `label`."""
    x, y = (
        whole_rows(table).filter(quantity=name).select(*by, pl.col("value").alias(to))
        for name, to in ((compute, "x"), ("accuracy", "y"))
    )
    return x.join(y, on=by, nulls_equal=True).rename({"variant": "label"})


def _legend(found: Found) -> Legend:
    return Legend({name: name for name in policies(found)}, "policy", "fixed")


def _depth(found: Found, knob: str) -> Section:
    seeds, runs = (table.filter(split="seen") for table in (found.seeds, by_main_rule(found.runs)))
    task = KnobTask(name="by-knob", title=found.task, knob="knob", runs=runs, seeds=seeds, legend=_legend(found))
    text = "Oracle depth is what a model needs: the smallest forced depth from which an answer stays right."
    return Section(
        title="Does depth follow the knob?",
        text=[f"The knob is {knob}.", text],
        parts=[knob_chart_part(task, column) for column in (DEPTH, _NEEDS, ACCURACY)],
    )


def _forced(found: Found) -> Section:
    rows = found.seeds.filter(pl.col("variant").is_in(policies(found)), quantity="forced_accuracy", split="seen")
    pairs = rows.select("variant", "subset").unique(maintain_order=True).iter_rows()
    table = estimate_table(
        rows,
        {f"{name}, {subset.replace('-', ' ')}": {"variant": name, "subset": subset} for name, subset in pairs},
        [
            Column("forced_accuracy", f"knob {knob}", labels={"knob": knob})
            for knob in rows["knob"].drop_nulls().unique().sort()
        ],
        title="Accuracy by forced depth and knob",
        first="policy and forced depth",
    )
    chart = ChartPart(
        name="forced",
        title="Forced depth at the hardest knob",
        chart=forced_chart(found.seeds, legend=_legend(found)),
        caption="A flat line means that depth is not needed.",
    )
    return Section(title="Is depth needed?", parts=[chart, table])


def _twin(found: Found, twin: Found) -> Section:
    both = [name for name in policies(found) if name in policies(twin)]
    table = estimate_table(
        pl.concat([found.seeds, twin.seeds]) if twin.task != found.task else found.seeds,
        {name: {"variant": name, "split": "seen"} for name in both},
        [column._replace(small=one.task, labels={"task": one.task}) for column in _TWIN for one in (found, twin)],
        title=f"{found.task} beside {twin.task}",
        first="policy",
    )
    text = (
        f"{twin.task} has the same words over a commutative group: counting is enough, so depth is needed less. A "
        "policy whose depth follows required work, and not length, should spend less there."
    )
    chart = ChartPart(name="twin", title="Answer depth by knob, with the twin", chart=twin_chart(found, twin))
    return Section(title="The abelian twin", text=[text], parts=[table, chart])


def twin_chart(found: Found, twin: Found) -> alt.TopLevelMixin:
    """Return answer depth by knob on a task and its twin: solid and dashed."""
    rows = pl.concat([one.seeds.filter(quantity="depth", subset="answer", split="seen") for one in (found, twin)])
    drawn = _legend(found).of(rows.drop_nulls(["knob", "value"])).select("task", "label", "knob", "value")
    chart: alt.TopLevelMixin = (
        alt.Chart(drawn)
        .mark_line(point=True)
        .encode(
            x=alt.X("knob:Q", title="knob", axis=alt.Axis(tickMinStep=1)),
            y=alt.Y("value:Q", title="mean answer depth", scale=alt.Scale(zero=False)),
            color=_legend(found).colour,
            strokeDash=alt.StrokeDash("task:N", title="task"),
            tooltip=tooltip("label:N", "task:N", "knob:Q", "value:Q"),
        )
    )
    return chart
