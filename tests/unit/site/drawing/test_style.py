import re
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from anira.site.drawing.style import css_of, knob_looks, legend, styles, thinness

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
    found = by_variant(["anira-o, gamma 0.1", "anira-o, gamma 0.2", "anira-e"])
    assert len({look.series for look in found.values()}) == 3
    assert found["anira-o, gamma 0.1"].series == by_variant(["anira-o"])["anira-o"].series


def test_seeds_look_like_their_variant_and_share_an_entry_of_the_legend():
    runs = {f"{variant}, seed {seed}": variant for variant in ("anira-e", "anira-o") for seed in range(4)}
    found = styles(runs)
    assert {label: found[label] for label in runs} == {label: by_variant(VARIANTS)[runs[label]] for label in runs}
    assert legend(found) == by_variant(["anira-e", "anira-o"])


def test_lines_are_thinner_where_seeds_share_a_look():
    e, o = by_variant(["anira-e", "anira-o"]).values()
    assert thinness([e, o]) == 1
    assert thinness([e, o, e]) < 1


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
