"""Charts of training: a quantity over steps, and when sizes are learned."""

import altair as alt
import polars as pl

from anira.measure import quantity
from anira.paper.dynamics.measure import NAMES, Found
from anira.site.charts import Legend, knob_chart
from anira.site.style import GREY
from anira.site.tables import Column

_SIZES = alt.Scale(scheme="viridis")
_COLUMNS = ("label", "seed", "step", "knob", "value", "low", "high")


def order_chart(found: Found) -> alt.TopLevelMixin:
    """Return the step at which each size is learned, a line for each setting."""
    setting = pl.concat_str("task", pl.lit(" "), "variant").alias("variant")
    seeds, runs = (table.with_columns(setting) for table in (found.seeds, found.runs))
    legend = Legend({f"{task} {name}": setting_name(task, name) for task, name in settings(found)}, title="setting")
    column = Column("learned_step", "step at which it is learned")
    return knob_chart(seeds, runs, column, legend=legend, knob=f"size ({'; '.join(found.knobs.values())})")


def depth_chart(found: Found, task: str) -> alt.TopLevelMixin:
    """Return the depth of training batches over steps, a line for each variant, and the largest depth."""
    legend = Legend({name: NAMES[name] for one, name in settings(found) if one == task})
    seeds, runs = (legend.of(table.filter(task=task, quantity="block_depth")) for table in (found.seeds, found.runs))
    largest = alt.Chart(found.seeds.filter(task=task, quantity="max_depth").select("value").unique())
    rule = largest.mark_rule(strokeDash=[4, 3], color=GREY).encode(y="value:Q", tooltip=["value:Q"])
    return alt.layer(*_over_steps(seeds, runs, "mean answer depth of training batches", legend.colour), rule)


def size_chart(found: Found, task: str, variant: str, shown: Column) -> alt.TopLevelMixin:
    """Return a quantity of evaluations over steps, a line for each size."""
    chosen = {"task": task, "variant": variant, "quantity": shown.quantity, "subset": shown.subset}
    label = pl.col("knob").cast(pl.String).alias("label")
    seeds, runs = (table.filter(**chosen).drop_nulls("knob").with_columns(label) for table in (found.seeds, found.runs))
    colour = alt.Color("knob:O", scale=_SIZES, title="size")
    return alt.layer(*_over_steps(seeds, runs, shown.title, colour, shown.quantity))


def settings(found: Found) -> list[tuple[str, str]]:
    """Return task and variant of what differs in more than the seed, variants in the order of their names."""
    pairs = found.seeds.select("task", "variant").unique(maintain_order=True).rows()
    tasks = list(dict.fromkeys(task for task, _ in pairs))
    return [(task, name) for task in tasks for name in NAMES if (task, name) in pairs]


def setting_name(task: str, variant: str) -> str:
    """Return what a page calls a setting."""
    return f"{task.upper()} {NAMES.get(variant, variant)}"


def _over_steps(
    seeds: pl.DataFrame, runs: pl.DataFrame, title: str, colour: alt.Color, name: str = "block_depth"
) -> list[alt.Chart]:
    """Return a line for the mean over seeds, its band, and a small mark for each seed."""
    means, single = (table.select(_COLUMNS).drop_nulls("value").sort("step") for table in (seeds, runs))
    axis = alt.Axis(format="%") if quantity(name).percent else alt.Axis()
    x = alt.X("step:Q", title="training step")
    y = alt.Y("value:Q", title=title, axis=axis, scale=alt.Scale(zero=False))
    base = alt.Chart(means).encode(x=x, color=colour)
    tips = ["label:N", "step:Q", "value:Q"]
    return [
        base.mark_area(opacity=0.15).encode(y=alt.Y("low:Q", title=title), y2="high:Q"),
        base.mark_line().encode(y=y),
        base.mark_point(filled=True, size=45).encode(y=y, tooltip=[*tips, "low:Q", "high:Q"]),
        alt.Chart(single).mark_point(size=12, opacity=0.5).encode(x=x, y=y, color=colour, tooltip=["seed:O", *tips]),
    ]
