"""Reading the true answer along and writing one's own: what must agree, and how depth is chosen."""

import polars as pl
import pytest
import torch
from tests.training_support import train_tiny
from tests.unit.evaluation.evaluation_support import TASKS, evaluated, forward, model_for

from anira.config import UserError
from anira.inference import Stepwise
from anira.training.run import load_run

MANO, BREVO, DEPO = TASKS["mano"], TASKS["brevo"], TASKS["depo"]
RUN = {"batch_size": 32, "learning_rate": 0.01, "eval_every": 1000, "checkpoint_every": 1000, "log_every": 1000}
RUN |= {"precision": "float64"}  # so that what is learned is the same on every CPU
TRAINED = {
    "mano": {"task_config": {"modulus": 3, "min_size": 1, "max_size": 2}, "steps": 80},
    "brevo": {"task_config": {"min_nodes": 2, "max_nodes": 4}, "steps": 200},
}


@pytest.fixture(scope="module", params=TRAINED)
def trained(request, tmp_path_factory):
    """A task and a model that is right about some of it."""
    folder = tmp_path_factory.mktemp(request.param)
    path = train_tiny(folder, f"{request.param}-anira-e-smoke", **RUN, **TRAINED[request.param])
    config, model, _ = load_run(path, None)
    return config.make_task(), model.double()


def test_free_decoding_is_right_exactly_where_reading_along_is(trained, tmp_path):
    task, model = trained
    along, free = (
        evaluated(model, task, tmp_path / decode, count=40, decode=decode) for decode in ("parallel", "generated")
    )
    assert 0 < along[0]["correct"].sum() < len(along[0]), "the model must be right about some, not all"
    assert along[0]["correct"].equals(free[0]["correct"])
    assert (free[0]["lenient_correct"] >= free[0]["correct"]).all()
    assert set(free[0]["decode"]) == {"generated"}
    right = along[0].filter("correct")["instance_id"]
    same = [table[1].filter(pl.col("instance_id").is_in(right)) for table in (along, free)]
    rounded = ("expected_depth", "exit_probs", "margin", "ce")
    assert same[0].drop(rounded).equals(same[1].drop(rounded))


@torch.no_grad()
def test_a_free_answer_is_what_greedy_generation_writes(trained, tmp_path):
    task, model = trained
    knob = task.knob.seen[-1]
    instances, tokens = evaluated(model, task, tmp_path / "e", knobs=(knob,), count=20, decode="generated")
    rows = task.rows(seed=0, stream="eval", start=0, count=20, knob=knob)
    for i in range(20):
        start, length = rows.answer_positions(i)[0], len(rows.answer(i))
        prompt = torch.tensor([rows.ids(i)[:start]])
        whole = model.generate(
            prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=length, eos_token_id=None, do_sample=False
        )
        written = whole[0, start:].tolist()
        assert instances["predicted"][i] == task.vocab.decode(written)
        own = tokens.filter(pl.col("instance_id") == i, pl.col("target_kind") == "answer")
        assert own["predicted_id"].to_list() == written
        session = Stepwise(model)
        depths = session.feed(prompt).exit_depth[0].tolist()
        for token in written[:-1]:
            depths += session.feed(torch.tensor([[token]])).exit_depth[0].tolist()
        assert tokens.filter(instance_id=i)["exit_depth"].to_list()[: len(depths)] == depths


def test_probes_are_left_out_where_the_model_wrote_otherwise(trained, tmp_path):
    task, model = trained
    instances, tokens = evaluated(model, task, tmp_path / "e", count=40, decode="generated")
    name = f"probe_{task.probe_specs[0].name}"
    defined = tokens.group_by("instance_id", maintain_order=True).agg(pl.col(name).count() > 0)[name]
    rows = [task.rows(seed=0, stream="eval", start=0, count=40, knob=knob) for knob in task.knob.seen]
    truth = [part.ids(i) for part in rows for i in range(40)]
    read = tokens.group_by("instance_id", maintain_order=True).agg("input_id")["input_id"].to_list()
    assert defined.to_list() == [ids == own for ids, own in zip(truth, read, strict=True)]
    assert defined.n_unique() == 2
    assert instances.height == len(truth)


def test_free_decoding_needs_one_answer_a_row(tmp_path):
    with pytest.raises(UserError, match="--generate needs one answer a row"):
        evaluated(model_for(DEPO), DEPO, tmp_path / "e", decode="generated")


def test_free_decoding_does_not_go_with_forced_depths(tmp_path):
    with pytest.raises(UserError, match="leave out --generate"):
        evaluated(model_for(MANO), MANO, tmp_path / "e", decode="generated", override="permuted")


@pytest.mark.parametrize("policy", ["anira-e", "anira-o", "similarity"])
def test_permuted_depths_are_the_same_ones_elsewhere(tmp_path, policy):
    model = model_for(MANO, policy)
    own, other = (
        evaluated(model, MANO, tmp_path / (override or "own"), count=12, batch_size=5, override=override)
        for override in ("", "permuted")
    )
    assert set(other[0]["override"]) == {"permuted"}
    assert own[1]["exit_depth"].to_list() != other[1]["exit_depth"].to_list()
    batch = pl.col("knob") * 100 + pl.col("instance_id") % 12 // 5  # three batches a knob
    depths = [
        table.group_by(batch.alias("batch"), maintain_order=True).agg(pl.col("exit_depth").sort())
        for _, table in (own, other)
    ]
    assert depths[0].equals(depths[1])
    assert depths[0].height == 3 * len(MANO.knob.seen)
    assert other[1]["executed"].equals(other[1]["exit_depth"])


def test_permuted_answers_come_from_a_run_at_those_depths(tmp_path):
    model = model_for(MANO)
    _, tokens = evaluated(model, MANO, tmp_path / "e", knobs=(3,), count=6, override="permuted")
    rows = MANO.rows(seed=0, stream="eval", start=0, count=6, knob=3)
    for i in range(6):
        mine = tokens.filter(instance_id=i)
        out = forward(model, rows.ids(i), exit_depth=torch.tensor([mine["exit_depth"].to_list()]))
        assert mine["predicted_id"].to_list() == out.logits[0].argmax(-1).tolist()


@pytest.mark.parametrize("policy", ["anira-e", "anira-o", "fixed"])
def test_forced_answers_come_from_a_run_with_every_token_at_that_depth(tmp_path, policy):
    model = model_for(MANO, policy)
    rows = MANO.rows(seed=0, stream="eval", start=0, count=6, knob=3)
    for depth in (1, 2):
        name = f"depth-{depth}"
        instances, tokens = evaluated(model, MANO, tmp_path / name, knobs=(3,), count=6, override=name)
        assert set(instances["override"]) == {name}
        assert set(tokens["exit_depth"]) == set(tokens["executed"]) == {depth}
        for i in range(6):
            forced = torch.full((1, int(rows.lengths[i])), depth)
            out = forward(model, rows.ids(i), exit_depth=forced, output_iteration_states=True)
            assert tokens.filter(instance_id=i)["predicted_id"].to_list() == out.logits[0].argmax(-1).tolist()
            before, after = out.iteration_states[depth - 1][0], out.iteration_states[depth][0]
            change = (after - before).norm(dim=-1) / after.norm(dim=-1)
            assert tokens.filter(instance_id=i)["change"].to_list() == pytest.approx(change.tolist(), rel=1e-4)


@pytest.mark.parametrize("override", ["depth-0", "depth-", "depth-1x", "deep"])
def test_an_override_that_is_none_is_refused(tmp_path, override):
    with pytest.raises(UserError, match="an override is permuted, virtual, depth-3, max-depth-8 or policy-huginn"):
        evaluated(model_for(MANO), MANO, tmp_path / "e", override=override)


RULES = [
    ({}, "median", None),
    ({"select": "mode"}, "mode", None),
    ({"select": "mean"}, "mean", None),
    ({"select": "quantile", "threshold": 0.9}, "quantile", 0.9),
    ({"threshold": 0.9}, "quantile", 0.9),
]


@pytest.mark.parametrize(("asked", "select", "threshold"), RULES)
@pytest.mark.parametrize("decode", ["parallel", "generated"])
def test_the_rule_is_honoured_and_recorded(tmp_path, asked, select, threshold, decode):
    model = model_for(MANO)
    instances, tokens = evaluated(model, MANO, tmp_path / "e", knobs=(4,), count=8, decode=decode, **asked)
    assert instances.select("select", "threshold", "decode").unique().rows() == [(select, threshold, decode)]
    for i in range(8):
        mine = tokens.filter(instance_id=i)
        out = forward(model, mine["input_id"].to_list(), select=select, threshold=threshold)
        assert mine["exit_depth"].to_list() == out.exit_depth[0].tolist()
        assert mine["executed"].to_list() == out.executed[0].tolist()


@pytest.mark.parametrize("asked", [asked for asked, _, _ in RULES], ids=str)
def test_free_decoding_writes_what_it_predicts_under_the_rule(tmp_path, asked):
    model = model_for(BREVO)
    _, tokens = evaluated(model, BREVO, tmp_path / "e", decode="generated", **asked)
    written = tokens.with_columns(pl.col("input_id").shift(-1).over("instance_id").alias("next"))
    answers = written.filter(target_kind="answer")
    assert answers["predicted_id"].equals(answers["next"])


def test_the_rules_differ(tmp_path):
    model = model_for(MANO)
    depths = {
        str(asked): evaluated(model, MANO, tmp_path / str(i), **asked)[1]["exit_depth"].to_list()
        for i, (asked, _, _) in enumerate(RULES)
    }
    assert len({tuple(values) for values in depths.values()}) == 4  # the last two are one


def test_the_default_rule_is_that_of_the_policy(tmp_path):
    for policy, rule in (("anira-e", "mode"), ("anira-o", "median"), ("fixed", ""), ("similarity", "")):
        instances, _ = evaluated(model_for(MANO, policy), MANO, tmp_path / policy, count=2)
        assert set(instances["select"]) == {rule}
