"""Records against the worked example of BREVO and against recomputation."""

import numpy as np
import polars as pl
import pytest
import torch
from tests.unit.evaluation.evaluation_support import TASKS, evaluated, forward, model_for

from anira.evaluation.port import depth_model
from anira.evaluation.predict import Prediction, Settings, predict
from anira.evaluation.tables import Labels, instance_table, token_table
from anira.inference import forward_cost
from anira.tasks import make_task

LABELS = Labels(
    run_id="run", step=7, variant="anira-o", seed=3, select="median", threshold=None, decode="parallel", override=""
)
# 12 <- 5 18, 5 <- 8 19, 18 <- 8: the example of the task's own documentation.
QUESTION = "n19 n05 n08 n05 n05 n12 n18 n12 n08 n18 <query> n12"
ANSWER = ["n08", "n19", "n05", "n18", "<eos>"]  # at positions 14 .. 18, predicted at 13 .. 17


@torch.no_grad()
def worked_example():
    task = make_task("brevo")
    rows = task.read(QUESTION)
    model = model_for(task)
    return task, rows, model, predict(model, rows, Settings())


@pytest.fixture(scope="module")
def tokens():
    task, rows, _, prediction = worked_example()
    return token_table(task, rows, rows, prediction, LABELS, first=5)


def test_a_position_is_judged_by_the_token_it_predicts(tokens):
    words = f"<bos> {QUESTION} <ans>".split() + ANSWER
    assert tokens["input_text"].to_list() == words
    assert tokens["target_kind"].to_list() == ["prompt"] * 13 + ["answer"] * 5 + ["none"]
    assert tokens["target_id"].to_list() == [*tokens["input_id"].to_list()[1:], None]
    task = make_task("brevo")
    assert task.vocab.decode(tokens.filter(target_kind="answer")["target_id"]).split() == ANSWER
    correct = tokens["correct"].to_list()
    assert correct[:13] == [None] * 13
    assert correct[18] is None
    said = tokens.filter(target_kind="answer")
    assert correct[13:18] == (said["predicted_id"] == said["target_id"]).to_list()
    assert tokens["instance_id"].unique().to_list() == [5]
    assert tokens["knob"].unique().to_list() == [5]


def test_a_probe_of_a_target_stands_where_the_token_is_predicted(tokens):
    """At position 13 n08 is predicted, at 14 n19, at 15 n05, at 16 n18; <eos> has no state of the search."""
    expected = {"in_degree": [0, 0, 2, 1], "remaining": [3, 2, 1, 0], "dfs_depth": [2, 2, 1, 1]}
    for name, values in expected.items():
        assert tokens[f"probe_{name}"].to_list() == [None] * 13 + values + [None] * 2


def test_predecessors_are_given_by_where_they_were_predicted(tokens):
    """n05 depends on n08 and n19, n18 on n08."""
    lists = tokens["predecessor_positions"].to_list()
    assert lists[13:17] == [[], [], [13, 14], [13]]
    assert [*lists[:13], *lists[17:]] == [[]] * 15
    for position, places in enumerate(lists):
        for place in places:
            assert tokens["target_kind"][place] == "answer"
            assert place < position


def test_a_probe_of_an_input_stands_at_its_own_token(tmp_path):
    task = TASKS["mano"]
    _, tokens = evaluated(model_for(task), task, tmp_path / "e", knobs=(3,), count=4)
    rows = task.rows(seed=0, stream="eval", start=0, count=4, knob=3)
    assert {probe.anchor for probe in task.probe_specs} == {"input"}
    for i in range(4):
        for name, values in task.probes(rows, i).items():
            recorded = tokens.filter(instance_id=i)[f"probe_{name}"].to_list()
            assert recorded == [None if np.isnan(value) else np.float32(value) for value in values]


def test_every_probe_of_brevo_is_where_its_anchor_says(tmp_path):
    task = TASKS["brevo"]
    _, tokens = evaluated(model_for(task), task, tmp_path / "e", knobs=(5,), count=10)
    rows = task.rows(seed=0, stream="eval", start=0, count=10, knob=5)
    for i in range(10):
        recorded, probes = tokens.filter(instance_id=i), task.probes(rows, i)
        for position in range(1, rows.lengths[i]):
            here = probes["remaining"][position]
            assert recorded["probe_remaining"][position - 1] == (None if np.isnan(here) else here)
            parents = probes["predecessor_positions"][position]
            before = [int(place) - 1 for place in parents if not np.isnan(place)]
            assert recorded["predecessor_positions"][position - 1].to_list() == before


@pytest.mark.parametrize("policy", ["anira-e", "anira-o", "fixed", "gates"])
@pytest.mark.parametrize("core_layers", [1, 2])
def test_costs_are_those_of_the_executed_iterations(tmp_path, policy, core_layers):
    task = TASKS["brevo"]
    model = model_for(task, policy, num_core_layers=core_layers)
    instances, tokens = evaluated(model, task, tmp_path / "e", count=6)
    for record in instances.iter_rows(named=True):
        mine = tokens.filter(instance_id=record["instance_id"])
        executed = torch.tensor([mine["executed"].to_list()])
        with torch.no_grad():
            ran = model(torch.tensor([mine["input_id"].to_list()])).ran
        spent = forward_cost(model.config, model.policy, executed, ran=ran)
        full = forward_cost(model.config, model.policy, torch.full_like(executed, 5))
        assert record["iterations"] == executed.sum() == spent.iterations
        assert (record["decisions"], record["flops"], record["kv_slots"]) == (
            spent.decisions,
            spent.flops,
            spent.kv_slots,
        )
        assert record["full_iterations"] == 5 * record["num_tokens"]
        assert (record["full_flops"], record["full_kv_slots"]) == (full.flops, full.kv_slots)
    if policy != "fixed":
        assert (instances["iterations"] < instances["full_iterations"]).any()


def margins(probs, **rule):
    """The margins of one row of positions with these exit distributions."""
    task = TASKS["mano"]
    rows = task.read("+ 1 2")
    shape = rows.input_ids.shape
    assert len(probs) <= shape[1]
    padded = np.array([*probs, *[probs[-1]] * (shape[1] - len(probs))], dtype=np.float32)[None]
    ones = np.ones(shape, dtype=np.int64)
    labels = Labels(**{**LABELS.__dict__, **rule})
    table = token_table(task, rows, rows, Prediction(ones, ones, ones, ones, padded), labels, 0)
    return table["margin"].to_list()[: len(probs)]


PROBS = [[0.5, 0.3, 0.2], [0.1, 0.1, 0.8], [0.25, 0.5, 0.25]]


def test_the_margin_of_the_mode_is_its_lead():
    assert margins(PROBS, select="mode") == pytest.approx([0.2, 0.7, 0.25])


def test_the_margin_of_a_quantile_is_the_distance_of_the_nearest_sum_to_its_level():
    """The sums before D are .5 .8, .1 .2 and .25 .75."""
    assert margins(PROBS, select="median") == pytest.approx([0.0, 0.3, 0.25], abs=1e-6)
    assert margins(PROBS, select="quantile", threshold=0.7) == pytest.approx([0.1, 0.5, 0.05], abs=1e-6)


def test_the_mean_has_no_margin_and_a_single_depth_neither():
    assert margins(PROBS, select="mean") == [None] * 3
    assert margins([[1.0]] * 3, select="mode") == [None] * 3


def test_cross_entropy_is_that_of_the_next_token():
    task, rows, model, prediction = worked_example()
    table = token_table(task, rows, rows, prediction, LABELS, 0)
    logits = forward(model, rows.ids(0)).logits[0].log_softmax(-1)
    expected = [-logits[i, token].item() for i, token in enumerate(rows.ids(0)[1:])]
    assert table["ce"][-1] is None
    assert table["ce"].to_list()[:-1] == pytest.approx(expected, rel=1e-5)


def test_an_answer_that_is_another_order_is_lenient_only():
    task, rows, model, prediction = worked_example()
    order = task.vocab.encode("n19 n08 n05 n18 <eos>")  # n19 and n08 do not depend on each other
    predicted = prediction.predicted.copy()
    predicted[0, 13:18] = order
    changed = Prediction(predicted, prediction.exit_depth, prediction.executed, None, None)
    record = instance_table(task, depth_model(model), rows, rows, changed, LABELS, 0, None).row(0, named=True)
    assert (record["correct"], record["lenient_correct"]) == (False, True)
    assert record["predicted"] == "n19 n08 n05 n18 <eos>"
    assert record["answer"] == "n08 n19 n05 n18 <eos>"


def test_batches_of_different_widths_are_joined(tmp_path):
    task = TASKS["brevo"]
    model = model_for(task)
    small, large = (
        evaluated(model, task, tmp_path / str(size), knobs=(3, 5), count=10, batch_size=size) for size in (1, 64)
    )
    for one, other in zip(small, large, strict=True):
        numbers = [name for name, dtype in one.schema.items() if dtype in (pl.Float32, pl.List(pl.Float32))]
        assert one.drop(numbers).equals(other.drop(numbers))
