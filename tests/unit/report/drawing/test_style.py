import re
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from anira.report.drawing.style import css_of, knob_looks, styles

VARIANTS = ("anira-e", "anira-o", "fixed", "unshared")


def by_variant(names):
    return styles({name: name for name in names})


def test_our_variants_look_the_same_on_every_page():
    everyone = by_variant(VARIANTS)
    for name in VARIANTS:
        assert by_variant([name])[name] == everyone[name] == by_variant([*reversed(VARIANTS)])[name]


@given(st.lists(st.sampled_from([*VARIANTS, "pondernet", "act", "mor", "calm"]), unique=True, max_size=6))
def test_up_to_six_lines_differ_in_colour_marker_and_dashes(names):
    found = list(by_variant(names).values())
    for part in ("series", "marker", "dashes"):
        assert len({getattr(look, part) for look in found}) == len(names)


def test_a_second_experiment_of_a_variant_looks_different():
    found = styles({"anira-o, gamma 0.1": "anira-o", "anira-o, gamma 0.2": "anira-o", "anira-e": "anira-e"})
    assert len({look.series for look in found.values()}) == 3
    assert found["anira-o, gamma 0.1"] == by_variant(["anira-o"])["anira-o"]


def test_more_lines_than_styles_still_get_one():
    assert len(by_variant(f"policy-{i}" for i in range(20))) == 20


def test_knobs_go_from_one_end_of_the_scale_to_the_other():
    colours = [css_of(look.colour) for look in knob_looks(list(range(3, 17))).values()]
    shares = [int(re.search(r"(\d+)%", colour)[1]) for colour in colours]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0, 100)


def test_neighbouring_knobs_differ_in_marker():
    markers = [look.marker for look in knob_looks(list(range(12))).values()]
    assert all(one != other for one, other in pairwise(markers))


def test_ordinary_colours_are_left_alone():
    assert css_of("fill: #ffffff; stroke: #0072b2") == "fill: #ffffff; stroke: #0072b2"
