"""The page engine: self-contained, escaped, all files or none."""

import json
import re

import altair as alt
import polars as pl
import pytest

from anira.site import Badge, Cell, ChartPart, Note, Page, Section, TablePart, render
from anira.site.charts import interval_part

HOSTILE = "</script><img src=x onerror=alert(1)>"


def chart(name="one", label="a"):
    data = pl.DataFrame({"x": [1, 2], "y": [3, 4], "label": [label, label]})
    return ChartPart(name=name, title=label, chart=alt.Chart(data).mark_line().encode(x="x:Q", y="y:Q"))


def page(*parts, text="plain"):
    table = TablePart(title=text, head=[Cell(text)], rows=[[Cell(text, text, text), Cell(text, text, text)]])
    section = Section(title=text, text=[text], parts=[table, *parts], notes=[Note(text, text)])
    badge = Badge(text, "open")
    return Page(
        title=text,
        badge=badge,
        answer=[text],
        verdicts=[Note(text, text)],
        sections=[section],
        files=[text],
        command=text,
    )


def test_nothing_that_is_given_is_markup():
    html = render(page(chart(label=HOSTILE), text=HOSTILE))
    assert "<img src=x" not in html
    assert html.count("</script>") == 3
    specs = re.search(r'id="specs">(.*?)</script>', html, re.DOTALL)
    assert HOSTILE in json.dumps(json.loads(specs[1]))


def test_a_page_needs_no_other_file():
    html = render(page(chart()))
    assert len(html.encode()) < 1_200_000
    before, data, *scripts = re.split("<script.*?>", html)
    assert not re.search(r"<(link|img|iframe|style)[^>]+(src|href)=(?!\"data:,\")", before)
    assert (data.count("http"), len(scripts)) == (1, 2), "a chart names its schema, and nothing fetches it"
    assert "window.vegaEmbed" in html
    assert render(page(chart())) == html


def test_a_page_without_charts_does_not_carry_what_draws_them():
    assert len(render(page())) < 15_000


def test_two_charts_of_one_name_are_refused():
    with pytest.raises(ValueError, match="same name"):
        render(page(chart(), chart()))


def test_a_label_with_one_seed_says_so():
    rows = pl.DataFrame(
        {
            "label": ["a"] * 2 + ["b"] * 3,
            "seed": [None, 0, None, 0, 1],
            "value": [1.0] * 5,
            "low": [0.5] * 5,
            "high": [1.5] * 5,
        },
        schema_overrides={"seed": pl.Int64},
    )
    part = interval_part(rows, name="x", title="x", axis="x", order=["b", "a"])
    text = json.dumps(part.chart.to_dict())
    assert '"a (1 seed)"' in text and '"b"' in text and "b (1 seed)" not in text
