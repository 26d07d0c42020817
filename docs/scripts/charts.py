"""Charts of the gallery, drawn from `results/` when the site is built: SVG whose ink follows the page."""

from collections.abc import Callable
from typing import Any, Final

import altair as alt
import polars as pl
import vl_convert

from anira.paper.same_size.verdicts import GROUPS
from anira.site.charts import Legend, forced_chart, interval_chart, knob_chart
from anira.site.style import COLOURS, GREY, themed
from anira.site.tables import Column
from anira.site.verdicts import NAMES
from docs.scripts.numbers import NULLS, policy_name, seeds_table, words_runs

WIDTH: Final = 560
_INK: Final = ("labelColor", "titleColor", "tickColor", "domainColor", "gridColor")
ANIRA: Final = Legend({"anira-e": "ANIRA-E", "anira-o": "ANIRA-O"})
EVERY: Final = Legend(
    {"anira-e": "ANIRA-E", "anira-o": "ANIRA-O", "fixed": "fixed depth", "unshared": "plain transformer"}
)
_SIDES: Final = {
    "anira-e": "left",
    "calm": "above",
    "depth-adaptive": "left",
    "huginn": "above",
    "ouro-2": "left",
    "pondernet": "below",
    "think-at-hard": "left",
    "universal": "left",
}
"""Where the name of a point stands."""
_PLACES: Final[dict[str, dict[str, Any]]] = {
    "right": {"align": "left", "dx": 8},
    "left": {"align": "right", "dx": -8},
    "above": {"align": "center", "dy": -11},
    "below": {"align": "center", "dy": 12},
}
_EXPECTED: Final = Column("expected_depth", "expected depth of answers", "answer")
_DEPTH, _ACCURACY = Column("depth", "mean depth of answers", "answer"), Column("accuracy", "accuracy")


def chart(name: str) -> str:
    """Return a chart as SVG to stand in a page."""
    width = WIDTH - 110 * (name == "rational")  # its names stand to the left
    return f'<div class="chart">{svg(_CHARTS[name](), width=width)}</div>'


def svg(made: alt.TopLevelMixin, ink: str = "currentColor", height: int = 300, width: int = WIDTH) -> str:
    """Return a chart as SVG, its texts and lines in one colour."""
    spec = themed(made) | {"width": width, "height": height}
    config = spec["config"]
    for part in ("axis", "legend"):
        config[part] |= dict.fromkeys(_INK, ink) | ({"gridOpacity": 0.15} if part == "axis" else {})
    return str(vl_convert.vegalite_to_svg(spec)).strip()


def policies_chart(ink: str = "currentColor") -> alt.TopLevelMixin:
    """Return accuracy against depth of all policies on words over S3, and the curve of models at fixed depths."""
    shown = words_runs().filter(~pl.col("label").is_in(NULLS))
    runs = shown.group_by("label", "seed").agg(pl.col("accuracy", "depth").mean()).sort("label", "seed")
    means = runs.group_by("label").agg(pl.col("accuracy", "depth").mean()).sort("depth")
    fixed = pl.col("label").str.starts_with("fixed-")
    x = alt.X("depth:Q", title="mean depth of answers, 1 to 10 letters", scale=alt.Scale(domain=[0.9, 5.6]))
    y = alt.Y("accuracy:Q", title="accuracy", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0.65, 1.01]))
    curve = alt.Chart(means.filter(fixed)).mark_line(color=GREY, point={"color": GREY, "size": 60}).encode(x=x, y=y)
    small = alt.Chart(runs.filter(~fixed)).mark_point(size=14, color=COLOURS[0], opacity=0.5).encode(x=x, y=y)
    large = alt.Chart(means.filter(~fixed)).mark_point(filled=True, size=70, color=COLOURS[0], opacity=1)
    return alt.layer(curve, small, large.encode(x=x, y=y), *_names(means.filter(~fixed), x, y, ink), _curve_name(x, y))


def _names(means: pl.DataFrame, x: alt.X, y: alt.Y, ink: str) -> list[alt.Chart]:
    """Return the names of the points, to their right unless another point is there."""
    side = pl.col("label").replace_strict(_SIDES, default="right", return_dtype=pl.String)
    names = pl.col("label").map_elements(_plain_name, return_dtype=pl.String)
    placed = means.with_columns(side=side, name=names).partition_by("side", as_dict=True)
    return [
        alt.Chart(rows).mark_text(fontSize=11, color=ink, **_PLACES[where]).encode(x=x, y=y, text="name:N")
        for (where,), rows in placed.items()
    ]


def _curve_name(x: alt.X, y: alt.Y) -> alt.Chart:
    place = pl.DataFrame({"depth": [3.8], "accuracy": [0.901], "label": ["models trained at one fixed depth"]})
    made: alt.Chart = alt.Chart(place).mark_text(align="left", fontSize=11, color=GREY).encode(x=x, y=y, text="label:N")
    return made


def _by_knob(task: str, shown: Column, knob: str) -> alt.TopLevelMixin:
    table = seeds_table("allocation").filter(task=task)
    return knob_chart(table, table.clear(), shown, legend=ANIRA, knob=knob)


def _extrapolation() -> alt.TopLevelMixin:
    table = seeds_table("extrapolation")
    return knob_chart(table, table.clear(), _ACCURACY, legend=EVERY, knob="L, operators", edge=3.5)


def _clrs(subtask: str) -> alt.TopLevelMixin:
    table = seeds_table("clrs").filter(subtask=subtask)
    return knob_chart(table, table.clear(), _ACCURACY, legend=ANIRA, knob="n, size of the input")


def _thresholds() -> alt.TopLevelMixin:
    rows = seeds_table("pareto").filter(task="mano", select="quantile")
    wide = rows.filter(pl.col("quantity").is_in(["accuracy", "executed"])).pivot(
        "quantity", index=["variant", "threshold"], values="value"
    )
    named = ANIRA.of(wide).sort("label", "threshold")
    x = alt.X("executed:Q", title="iterations executed, mean over answers", scale=alt.Scale(zero=False))
    y = alt.Y("accuracy:Q", title="accuracy", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0.8, 1.0]))
    line = alt.Chart(named).mark_line(point=True).encode(x=x, y=y, color=ANIRA.colour, order="threshold:Q")
    return alt.layer(line)


def _twins() -> alt.TopLevelMixin:
    """Return expected depth by letters of both policies, over S3 and over Z6."""
    line = pl.concat_str("variant", "task", separator=" ").alias("variant")
    names = {f"{one} {task}": f"{words}, {group}" for one, words in NAMES.items() for task, group in GROUPS.items()}
    table = seeds_table("same-size").with_columns(line).filter(pl.col("variant").is_in(list(names)))
    return knob_chart(table, table.clear(), _EXPECTED, legend=Legend(names), knob="letters")


def _rational() -> alt.TopLevelMixin:
    """Return the regret of each policy's depths minus that of its best constant depth, the most rational first."""
    rows = seeds_table("rational").filter(quantity="regret_less_constant", subset="answer").sort("value")
    named = rows.with_columns(pl.col("variant").map_elements(_plain_name, return_dtype=pl.String).alias("label"))
    return interval_chart(named, named["label"].to_list(), "nats per answer token; left of 0 is better than a constant")


def _plain_name(label: str) -> str:
    return policy_name(label).replace("`", "")


def _forced(task: str) -> alt.TopLevelMixin:
    return forced_chart(seeds_table("allocation").filter(task=task), legend=ANIRA)


_CHARTS: Final[dict[str, Callable[[], alt.TopLevelMixin]]] = {
    "policies": policies_chart,
    "mano-depth": lambda: _by_knob("mano", _DEPTH, "L, operators"),
    "brevo-depth": lambda: _by_knob("brevo", _DEPTH, "N, nodes"),
    "mano-forced": lambda: _forced("mano"),
    "brevo-forced": lambda: _forced("brevo"),
    "extrapolation": _extrapolation,
    "clrs-minimum": lambda: _clrs("minimum"),
    "clrs-sort": lambda: _clrs("sort"),
    "rational": _rational,
    "thresholds": _thresholds,
    "twins": _twins,
}
