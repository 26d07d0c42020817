import json

import pytest

from anira.tasks import make_task, task_names


def test_one_row_a_task(anira):
    lines = anira("tasks").out.splitlines()
    rows = {line.split()[0]: line for line in lines[1 : 1 + len(task_names())]}
    assert list(rows) == task_names()
    expected = f"mano L 3 to 16 1 to 200 L reductions 30 tokens {make_task('mano').summary}"
    assert rows["mano"].split() == expected.split()
    for name in task_names():
        knob = make_task(name).knob
        assert f"{knob.name} of {name}: {knob.meaning}" in lines


@pytest.mark.parametrize("name", task_names())
def test_json_holds_the_facts(anira, name):
    task = make_task(name)
    (facts,) = [facts for facts in json.loads(anira("tasks", "--json").out) if facts["name"] == name]
    assert facts["knob"] == task.knob.name
    assert tuple(facts["seen"]) == task.knob.seen
    assert (facts["minimum"], facts["maximum"]) == (task.knob.minimum, task.knob.maximum)
    assert (facts["cost"], facts["vocab_size"]) == (task.knob.cost, len(task.vocab))
    assert facts["probes"] == [probe.name for probe in task.probe_specs]
