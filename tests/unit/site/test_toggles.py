"""What a reader may switch on and off in a chart."""

import altair as alt
import polars as pl

from anira.site.style import themed

TABLE = pl.DataFrame({"label": ["a", "b"], "seed": [0, 1], "knob": [1, 2], "value": [0.1, 0.2]})


def chart(table=TABLE):
    base = alt.Chart(table).encode(x="knob:Q", y="value:Q", color="label:N")
    small = base.mark_point(opacity=0.5).encode(tooltip=["label:N", "seed:O"])
    return alt.layer(base.mark_line(), small, alt.Chart(table).mark_rule().encode(x="knob:Q"))


def test_a_click_in_the_legend_picks_and_a_box_hides_seeds():
    spec = themed(chart())
    line, small, rule = spec["layer"]
    assert line["params"][0]["bind"] == "legend"
    assert line["params"][0]["select"] == {"type": "point", "fields": ["label"], "toggle": "true"}
    assert line["encoding"]["opacity"]["condition"] == {"test": {"and": [{"param": "picked"}]}, "value": 1}
    both = {"test": {"and": [{"param": "picked"}, "seeds"]}, "value": 0.5}
    assert small["encoding"]["opacity"] == {"condition": both, "value": 0}
    assert "opacity" not in rule["encoding"]
    assert [param["name"] for param in spec["params"]] == ["seeds"]


def test_one_seed_has_no_box_and_a_chart_without_colours_no_pick():
    assert "params" not in themed(chart(TABLE.with_columns(seed=0)))
    plain = themed(alt.Chart(TABLE).mark_point().encode(x="knob:Q", y="value:Q"))
    assert "params" not in plain
    assert "opacity" not in plain["encoding"]
