import pytest

from anira.config import UserError
from anira.tasks.brevo import Brevo, BrevoConfig

TASK = Brevo(BrevoConfig(max_nodes=12))


@pytest.mark.parametrize(
    "question",
    [
        "n01 n02 n02 n03 <query> n03",
        "<bos> n01 n02 n02 n03 <query> n03",
        "n01 n02 n02 n03 <query> n03 <ans>",
        "  <bos> n01 n02\n n02 n03 <query> n03 <ans> ",
    ],
)
def test_markers_at_the_ends_and_spaces_are_optional(question: str) -> None:
    rows = TASK.read(question)
    assert TASK.vocab.decode(rows.ids(0)) == "<bos> n01 n02 n02 n03 <query> n03 <ans> n01 n02 <eos>"


def test_the_query_need_not_be_a_sink_and_may_have_many_dependents() -> None:
    rows = TASK.read("n01 n02 n02 n03 n02 n04 n02 n05 n02 n06 n02 n07 <query> n02")
    assert TASK.vocab.decode(rows.answer(0)) == "n01 <eos>"
    assert rows.knob.tolist() == [7]


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ("", "edges, one <query> and one node"),
        ("n01 n02", "edges, one <query> and one node"),
        ("n01 n02 <query>", "edges, one <query> and one node"),
        ("n01 n02 <query> n02 n01", "edges, one <query> and one node"),
        ("n01 n02 <query> n02 <query> n02", "edges, one <query> and one node"),
        ("n01 n02 n03 <query> n02", "3 nodes precede <query>"),
        ("n01 <ans> <query> n02", "<ans> cannot stand where a node is expected"),
        ("n01 n02 <query> <eos>", "<eos> cannot stand where a node is expected"),
        ("n01 n02 n01 n02 <query> n02", "the edge n01 n02 is written 2 times"),
        ("n01 n06 n02 n06 n03 n06 n04 n06 n05 n06 <query> n06", "n06 depends on 5 nodes directly; at most 4"),
        ("n01 n01 <query> n01", "cycle: n01 n01"),
        ("n03 n04 n01 n02 n02 n01 <query> n04", "cycle: n0[12] n0[12] n0[12]"),
        ("n01 n02 <query> n01", "n01 depends on nothing"),
        ("n01 n02 <query> n05", "n05 depends on nothing"),
        ("<query> n05", "n05 depends on nothing"),
        ("n01 n13 <query> n13", "unknown token 'n13'"),
        ("n1 n2 <query> n2", "unknown token 'n1'"),
    ],
)
def test_what_is_wrong_is_said(question: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        TASK.read(question)
