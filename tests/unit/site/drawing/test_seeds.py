"""What every seed says about a claim: each row can be told from all others, and stands on its side of zero."""

import re

from anira.measure.claims.knob import make_claim
from anira.measure.claims.verdict import Evidence
from anira.measure.statistics.estimates import Estimate
from anira.site.drawing.seeds import seeds_figure

UP, DOWN = Estimate(0.3, 0.2, 0.4), Estimate(-30.0, -40.0, -20.0)
EXPERIMENTS = ("mano anira-e", "mano anira-o")
LONG = "among operators with r_t = 1 depth rises with s_t, at equal position and d_t"


def claim(text, experiment, estimates):
    return make_claim(text, experiment, [(f"s{i}", Evidence(i, one)) for i, one in enumerate(estimates)])


def words(svg):
    return [re.sub(r"<[^>]*>", "", found).strip() for found in re.findall(r"<text.*?</text>", svg, flags=re.DOTALL)]


def height(svg):
    return float(re.search(r'viewBox="0 0 \S+ (\S+)"', svg)[1])


def test_settings_that_are_measured_twice_stand_under_what_was_measured():
    rows = [claim(text, name, [UP] * 3) for name in EXPERIMENTS for text in ("first", "second")]
    shown = [text for text in words(seeds_figure(rows, name="a")) if text in {"first", "second", *EXPERIMENTS}]
    assert shown == [*EXPERIMENTS, "first", *EXPERIMENTS, "second"], "a title comes after what it is above"


def test_long_words_are_broken_into_lines_that_fit():
    name = "clrs strongly_connected_components anira-o, select median"
    svg = seeds_figure([claim(LONG, name, [UP] * 3)], name="a")
    lines = words(svg)
    assert max(map(len, lines)) <= 62
    assert " ".join(lines).count("strongly_connected_components") == 1
    assert height(svg) > height(seeds_figure([claim("short", "mano", [UP] * 3)], name="a"))


def test_every_seed_with_an_interval_is_drawn():
    markers = [
        seeds_figure([claim("a", "b", [UP, DOWN, Estimate(0.1, reason="few")][:n])], name="a").count("<use")
        for n in (1, 2, 3)
    ]
    assert markers[1] == markers[0] + 1 == markers[2]


def test_the_description_names_everything():
    svg = seeds_figure([claim(LONG, "mano anira-e", [UP])], name="a")
    assert f'aria-label="Estimates of every seed on either side of zero: {LONG} (mano anira-e)."' in svg
