import re
import xml.etree.ElementTree as ET

import matplotlib as mpl
import polars as pl
import pytest

from anira.site.drawing.figures import accuracy_figure, depth_figure, dynamics_figure
from anira.site.drawing.style import styles

LOOKS = styles({name: name for name in ("anira-e", "anira-o")})
KNOBS = (1, 2, 3)


def table(values, *, seen=KNOBS):
    """One line a label; an interval of 0.1 on both sides."""
    return pl.DataFrame(
        [
            {
                "label": label,
                "knob": knob,
                "split": "seen" if knob in seen else "extrapolation",
                "accuracy": value,
                "depth": value,
                "low": value - 0.1,
                "high": value + 0.1,
                "majority": 0.2,
            }
            for label, line in values.items()
            for knob, value in zip(KNOBS, line, strict=True)
        ]
    )


TWO = {"anira-e": (0.9, 0.8, 0.7), "anira-o": (0.5, 0.6, 0.3)}


def accuracy(values=None, *, seen=KNOBS, name="accuracy"):
    return accuracy_figure(table(values or TWO, seen=seen), LOOKS, name=name, knob="L: operators")


def depth(values=None):
    return depth_figure(table(values or TWO), LOOKS, name="depth", knob="L", max_depth=4)


def dynamics(*, gamma=True):
    rows = [(step, knob, 0.1 * knob, 4.0 - knob) for step in (10, 20) for knob in KNOBS]
    lines = pl.DataFrame(rows, schema=["step", "knob", "accuracy", "depth"], orient="row")
    weights = pl.DataFrame({"step": [10, 20] if gamma else [], "gamma": [0.0, 0.1] if gamma else []})
    return dynamics_figure(lines, weights, name="dynamics", knob="L", max_depth=4)


def markers(svg, series):
    """The heights of the markers of one line, from left to right."""
    found = re.findall(rf'<use href="#\w+" x="([\d.]+)" y="([\d.]+)" style="[^"]*stroke: var\(--series-{series}\)', svg)
    return [float(y) for _, y in sorted((float(x), float(y)) for x, y in found)]


def words(svg):
    return [node.text for node in ET.fromstring(svg).iter() if node.tag.endswith("text")]


@pytest.mark.parametrize("draw", [accuracy, depth, dynamics])
class TestEveryFigure:
    def test_the_same_table_gives_the_same_bytes(self, draw):
        assert draw() == draw()

    def test_text_is_text_and_colours_belong_to_the_page(self, draw):
        svg = draw()
        assert "step" in words(svg) or any("L" in word for word in words(svg))
        assert "var(--ink)" in svg
        assert not re.search(r"#[0-9a-f]{6}\b", re.sub(r"#[mp][0-9a-f]{10}", "", svg))
        assert "font-family" not in svg

    def test_it_describes_itself(self, draw):
        assert re.match(r'<svg viewBox="0 0 \d+ \d+" role="img" aria-label="[^"]{30,}">', draw())

    def test_the_users_own_matplotlib_settings_do_not_matter(self, draw):
        plain = draw()
        with mpl.rc_context({"font.size": 30, "lines.linewidth": 9, "svg.fonttype": "path", "axes.grid": True}):
            assert draw() == plain

    def test_it_leaves_matplotlib_as_it_was(self, draw):
        def settings():
            return {name: value for name, value in mpl.rcParams.items() if name != "backend"}

        before = settings()
        draw()
        assert settings() == before


def test_lines_stand_at_their_values():
    above, below = markers(accuracy(), 1), markers(accuracy(), 2)
    assert above == sorted(above)  # a smaller accuracy stands lower
    assert below[1] < below[0] < below[2]
    assert all(one < other for one, other in zip(above, below, strict=True))
    # equal values stand at equal heights, whatever the line
    level = accuracy({"anira-e": (0.5, 0.5, 0.5), "anira-o": (0.5, 0.5, 0.5)})
    assert len({*markers(level, 1), *markers(level, 2)}) == 1


def test_every_value_has_a_bar_as_long_as_its_interval():
    heights = re.findall(r'<path d="M ([\d.]+) ([\d.]+)\nL \1 ([\d.]+)\n"[^>]*var\(--series-1\)', accuracy())
    lengths = {round(abs(float(low) - float(high)), 3) for _, low, high in heights}
    assert len(heights) == len(KNOBS)
    assert len(lengths) == 1


def test_knobs_that_training_has_not_seen_have_hollow_markers():
    def hollow(svg):
        return len(re.findall(r'<use [^>]*style="fill: var\(--paper\); stroke: var\(--series-1\)', svg))

    assert hollow(accuracy()) == 0
    assert hollow(accuracy(seen=(1,))) == 2


def test_the_bar_of_seen_knobs_ends_where_they_end():
    def width(svg):
        (ends,) = re.findall(r'd="M ([\d.]+) [\d.]+\nL ([\d.]+) [\d.]+\n"[^>]*stroke: var\(--seen\)', svg)
        return float(ends[1]) - float(ends[0])

    assert width(accuracy(seen=(1, 2, 3))) == pytest.approx(2 * width(accuracy(seen=(1, 2))))
    assert "var(--seen)" not in accuracy(seen=())


@pytest.mark.parametrize("figure", [accuracy_figure, depth_figure])
def test_the_end_of_training_is_a_dashed_line_at_its_knob(figure):
    def places(limit):
        more = {} if figure is accuracy_figure else {"max_depth": 4}
        svg = figure(table({"anira-e": TWO["anira-e"]}), LOOKS, name="a", knob="L", limit=limit, **more)
        line = re.findall(r'd="M ([\d.]+) [\d.]+\nL \1 [\d.]+\n"[^>]*stroke-dasharray: 6,4\.8', svg)
        ticks = re.findall(r'<use href="#\w+" x="([\d.]+)" y="[\d.]+" style="[^"]*series-1', svg)
        return [float(x) for x in line], sorted(map(float, ticks))

    line, markers_at = places(2)
    assert line == pytest.approx([markers_at[1]], abs=0.01)
    assert places(None)[0] == []


def test_ids_of_two_figures_on_one_page_do_not_meet():
    one, other = (set(re.findall(r'id="(\w+)"', accuracy(name=name))) for name in ("first", "second"))
    assert one
    assert not one & other


def test_a_value_without_interval_is_drawn_all_the_same():
    bare = table({"anira-o": (1.5, 2.0, 2.5)}).with_columns(low=pl.lit(None, pl.Float64), high=pl.lit(None, pl.Float64))
    assert len(markers(depth_figure(bare, LOOKS, name="depth", knob="L", max_depth=4), 2)) == 3


def test_one_knob_is_enough():
    assert len(markers(accuracy_figure(table(TWO).filter(knob=1), LOOKS, name="a", knob="L"), 1)) == 1


def test_dynamics_show_the_schedule_of_gamma_if_there_is_one():
    title = "weight \u03b3 of the compute loss"
    assert title in words(dynamics())
    assert title not in words(dynamics(gamma=False))
    assert {"accuracy", "depth of answer tokens (iterations)", "step"} <= set(words(dynamics(gamma=False)))
