import json
import math
import re

import pytest

from anira.tasks import make_task, task_names


def objects(result):
    assert (result.status, result.err) == (0, "")
    return [json.loads(line) for line in result.out.splitlines()]


@pytest.mark.parametrize("name", task_names())
def test_json_lines_are_the_rows_of_the_task(anira, name):
    task = make_task(name)
    rows = task.rows(seed=3, stream="valid", start=0, count=4)
    found = objects(anira("sample", name, "-n", 4, "--seed", 3, "--split", "valid", "--json"))
    assert len(found) == 4
    for i, row in enumerate(found):
        instance = task.instance(rows, i)
        assert (row["task"], row["stream"], row["seed"], row["index"]) == (name, "valid", 3, i)
        assert (row["question"], row["answer"], row["meta"]) == (instance.question, instance.answer, instance.meta)
        assert (row["knob"], row["split"]) == (rows.knob[i], task.knob.split(int(rows.knob[i])))
        assert row["input_ids"] == rows.ids(i)
        assert row["tokens"] == [task.vocab.tokens[token] for token in rows.ids(i)]
        assert [label for label in row["labels"] if label != -100] == rows.answer(i)
        for probe, values in task.probes(rows, i).items():
            if values.ndim == 1:
                assert [math.nan if v is None else v for v in row["probes"][probe]] == pytest.approx(
                    values.tolist(), nan_ok=True
                )


def test_the_default_is_the_first_training_row(anira):
    (row,) = objects(anira("sample", "mano", "--json"))
    assert row["input_ids"] == make_task("mano").rows(seed=0, stream="train", start=0, count=1).ids(0)


def test_the_knob_and_the_options_of_the_task_arrive(anira):
    for row in objects(anira("sample", "mano", "-n", 20, "--knob", 5, "--modulus", 7, "--json")):
        assert row["knob"] == 5
        assert {int(token) for token in row["tokens"] if token.isdigit()} <= set(range(7))


@pytest.mark.parametrize("name", task_names())
def test_a_question_that_was_printed_can_be_asked_again(anira, name):
    (row,) = objects(anira("sample", name, "--seed", 2, "--json"))
    (again,) = objects(anira("sample", name, "--question", row["question"], "--json"))
    assert (again["question"], again["answer"], again["tokens"]) == (row["question"], row["answer"], row["tokens"])
    assert (again["index"], again["stream"], again["seed"]) == (None, None, None)


@pytest.mark.parametrize("name", task_names())
def test_a_person_sees_question_answer_and_probes(anira, name):
    (row,) = objects(anira("sample", name, "--json"))
    plain, probed = anira("sample", name).out, anira("sample", name, "--probes").out
    assert all(line in plain for line in row["question"].splitlines())
    assert row["answer"] in plain
    assert probed.startswith(plain)
    assert not re.search(r"^token ", plain, re.MULTILINE)
    for probe in make_task(name).probe_specs:
        assert re.search(rf"^{probe.name} ", probed, re.MULTILINE)


def test_many_instances_come_in_order_and_the_legend_once(anira):
    out = anira("sample", "mano", "-n", 3, "--probes").out
    assert [line for line in out.splitlines() if line.startswith("mano ")] == [
        f"mano  train row {i}, seed 0" for i in range(3)
    ]
    assert out.count("anchor input:") == 1


def test_more_than_anybody_reads_is_refused(anira):
    result = anira("sample", "mano", "-n", 10**12)
    assert (result.status, result.out) == (2, "")
    assert result.err == "anira: sample prints at most 1,000,000 instances: anira export mano writes more, to a file\n"
