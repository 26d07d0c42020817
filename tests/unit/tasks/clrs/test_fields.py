import pytest

from anira.config import UserError
from anira.tasks.clrs.fields import Field, layout, shorten_reals

NUMBER, LIST, MATRIX = (Field("v", dims, True) for dims in (0, 1, 2))


@pytest.mark.parametrize(
    ("field", "value", "upstream", "ours"),
    [
        (NUMBER, 0.646, "0.646", "0.646"),
        (NUMBER, 1.0, "1.0", "1"),
        (LIST, [0.0, 0.05, -0.2], "[0.0 0.05 -0.2]", "[0 0.05 -0.2]"),
        (MATRIX, [[0.0, 0.3], [0.3, 0.0]], "[[0.0 0.3], [0.3 0.0]]", "[[0 0.3], [0.3 0]]"),
        (Field("d", 1, False), [0, 10], "[0 10]", "[0 10]"),
        (Field("b", 2, False), [[-1, 0], [2, 1]], "[[-1 0], [2 1]]", "[[-1 0], [2 1]]"),
        (Field("s", 0, False), 3, "3", "3"),
    ],
)
def test_both_styles(field, value, upstream, ours):
    assert (field.write(value, "upstream"), field.write(value, "anira")) == (upstream, ours)
    assert field.read(upstream) == field.read(ours) == value


def test_integers_and_reals_of_equal_value_do_not_mix():
    """Texts of reals are kept for reuse; 0 and 0.0 are equal, but not written alike."""
    for _ in range(2):
        assert Field("i", 0, False).write(0, "upstream") == "0"
        assert Field("x", 0, True).write(0.0, "upstream") == "0.0"
        assert Field("x", 0, True).write(0.0, "anira") == "0"


@pytest.mark.parametrize(
    ("field", "text", "complaint"),
    [
        (LIST, "0.1 0.2", "v must be a list"),
        (LIST, "[0.1 0.2", "v must be a list"),
        (LIST, "[", "v must be a list"),
        (MATRIX, "[0.1 0.2]", "v must be a matrix"),
        (MATRIX, "[[0 1] [1 0]]", "holds '1]' where a number belongs"),
        (LIST, "[0.1  0.2]", "holds '' where a number belongs"),
        (LIST, "[0.1 nan]", "holds 'nan' where a number belongs"),
        (LIST, "[0.1 1_0]", "holds '1_0' where a number belongs"),
        (Field("d", 1, False), "[1 2.5]", "d holds '2.5' where an integer belongs"),
        (NUMBER, "", "holds '' where a number belongs"),
        (NUMBER, "x" * 99, r"holds 'x+\.\.\.' where"),
    ],
)
def test_what_is_not_a_value_is_refused(field, text, complaint):
    with pytest.raises(UserError, match=complaint):
        field.read(text)


def test_an_empty_list_is_read():
    assert LIST.read("[]") == []


def test_layouts():
    assert layout("key: [x], target: x") == (Field("key", 1, True), Field("target", 0, True))
    assert layout("topo: [i], topo_head: i") == (Field("topo", 1, False), Field("topo_head", 0, False))


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("0.0", "0"),
        ("-0.0", "0"),
        ("-1.0", "-1"),
        ("10.0", "10"),
        ("0.05 0.001 10.05", "0.05 0.001 10.05"),
        ("[[0.0 1.0], [0.5 0.0]]", "[[0 1], [0.5 0]]"),
        ("0 1 2", "0 1 2"),
    ],
)
def test_whole_reals_lose_their_decimals(text, short):
    assert shorten_reals(text) == short
