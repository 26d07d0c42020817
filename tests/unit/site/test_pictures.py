"""The pictures of problems: what stands where, and questions that are none."""

import pytest

from anira.site.pictures import picture
from anira.tasks import make_task


def test_a_graph_has_what_a_node_depends_on_to_its_left_in_the_order_of_the_answer():
    question = "n19 n05 n08 n05 n05 n12 n18 n12 n08 n18 n12 n30 <query> n12 <ans>"
    made = picture("brevo", question, "n08 n19 n05 n18 <eos>")
    boxes = {box["text"]: box for box in made["boxes"]}
    assert boxes["n08"]["x"] == boxes["n19"]["x"] < boxes["n05"]["x"] == boxes["n18"]["x"] < boxes["n12"]["x"]
    assert {name: box["turn"] for name, box in boxes.items() if box["turn"]} == {
        "n08": "1",
        "n19": "2",
        "n05": "3",
        "n18": "4",
    }
    kinds = {kind: [name for name, box in boxes.items() if box["kind"] == kind] for kind in ("strong", "faint")}
    assert kinds == {"strong": ["n12"], "faint": ["n30"]}
    assert len(made["lines"]) == 6


@pytest.mark.parametrize("task", ["brevo", "mano"])
def test_every_instance_has_a_picture_in_which_no_two_boxes_overlap(task):
    made = make_task(task)
    rows = made.rows(seed=0, stream="eval", start=0, count=30)
    for i in range(len(rows)):
        shown = made.instance(rows, i)
        boxes = picture(task, shown.question, shown.answer)["boxes"]
        assert len({(box["x"], box["y"]) for box in boxes}) == len(boxes)


@pytest.mark.parametrize(
    ("task", "question"),
    [
        ("words", "1 2 3"),
        ("brevo", "n01 n02 n02 n01 <query> n01"),
        ("brevo", "n01 <query> n01"),
        ("brevo", "<query>"),
        ("mano", "+ 1"),
        ("mano", "1 2"),
        ("mano", ""),
        ("mano", "+ " * 1000),
    ],
)
def test_other_questions_have_none(task, question):
    assert picture(task, question, "") is None
