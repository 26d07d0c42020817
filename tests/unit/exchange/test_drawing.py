import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anira.exchange.drawing import _bands, draw_instance, draw_probes, legend, visible
from anira.tasks import make_task, task_names

MANO = make_task("mano")
QUESTION = MANO.read("+ + 5 3 - 12 17")


def test_a_golden_table():
    assert draw_probes(MANO, QUESTION, 0, width=100).splitlines()[:4] == [
        "position                0  1  2  3  4  5   6   7      8  9     10",
        "token               <bos>  +  +  5  3  -  12  17  <ans>  3  <eos>",
        "supervised                                               *",
        "stack_depth             .  0  1  2  2  1   2   2      .  .      .",
    ]


def test_answers_that_are_no_tokens_of_the_row_stand_where_they_are_due():
    task = make_task("words", {"min_letters": 3, "max_letters": 3})
    rows = task.rows(seed=0, stream="train", start=0, count=1)
    assert draw_probes(task, rows, 0, width=100).splitlines()[:4] == [
        "position           0  1  2  3      4",
        "token          <bos>  4  1  1  <eos>",
        "predicts              4  2  4",
        "t                  .  1  2  3      .",
    ]


def test_an_instance_shows_picture_question_answer_and_meta():
    text = draw_instance(MANO, QUESTION, 0)
    assert "(5 + 3) + (12 - 17) = 3 (mod 23)" in text
    assert re.search(r"question +\+ \+ 5 3 - 12 17 <ans>\n", text)
    assert re.search(r"answer +3\n", text)
    assert re.search(r"L +3 \(seen\)\n", text)
    assert re.search(r"height +2$", text)


def test_a_text_of_several_lines_stays_in_its_column():
    task = make_task("clrs")
    text = draw_instance(task, task.read("sort:\nkey: [0.3 0.1]\npred:"), 0)
    assert text.splitlines()[1:5] == [
        "  question         sort:",
        "                   key: [0.3 0.1]",
        "                   pred:",
        "  answer           [0.1 0.3]",
    ]
    _, tokens, *_ = draw_probes(task, task.read("sort:\nkey: [0.3 0.1]\npred:"), 0, width=999).splitlines()
    assert tokens.split() == [
        "token",
        "<bos>",
        *"sort:",
        r"\n",
        *"key:[0.30.1]",
        r"\n",
        *"pred:",
        r"\n",
        *"[0.10.3]",
        "<eos>",
    ]


@pytest.mark.parametrize("name", task_names())
@pytest.mark.parametrize("width", [60, 80, 200])
def test_tables_keep_to_the_width_and_show_every_token_once(name, width):
    task = make_task(name)
    rows = task.rows(seed=0, stream="train", start=0, count=5)
    for i in range(len(rows)):
        lines = draw_probes(task, rows, i, width=width).splitlines()
        assert max(map(len, lines)) <= width
        shown = " ".join(line.removeprefix("token").strip() for line in lines if line.startswith("token"))
        assert shown.split() == " ".join(visible(task.vocab.tokens[token]) for token in rows.ids(i)).split()
        stars = sum(line.count("*") for line in lines if line.startswith("supervised"))
        due = [word for line in lines if line.startswith("predicts") for word in line.split()[1:]]
        assert due == task.vocab.decode(rows.answer(i)).split() if rows.is_dense(i) else stars == len(rows.answer(i))


def test_vector_probes_are_joined_by_commas():
    task = make_task("brevo")
    table = draw_probes(task, task.read("n01 n03 n02 n03 n03 n04 <query> n04"), 0, width=200)
    assert re.search(r"predecessor_positions .* 10,11 ", table)


@pytest.mark.parametrize("name", task_names())
def test_the_legend_explains_every_probe_and_its_anchor(name):
    task = make_task(name)
    text = legend(task)
    for probe in task.probe_specs:
        assert re.search(rf"{probe.name} +{probe.anchor} +{re.escape(probe.meaning)}", text)
        assert f"anchor {probe.anchor}:" in text


@given(widths=st.lists(st.integers(1, 12), min_size=1, max_size=40), room=st.integers(1, 60))
def test_bands_cover_all_columns_and_are_as_wide_as_possible(widths, room):
    bands = _bands(widths, room=room)

    def used(start, end):
        return sum(widths[start:end]) + 2 * (end - start - 1)

    assert [column for start, end in bands for column in range(start, end)] == list(range(len(widths)))
    assert all(used(start, end) <= room or end == start + 1 for start, end in bands)
    assert all(used(start, end + 1) > room for start, end in bands[:-1])
