"""Models that are not ours: evaluated through the same port, with the same records."""

import polars as pl
import pytest
import torch
from tests.equivalence.test_stock_llama import stock_twin
from tests.models_support import random_model, small_config

from anira.config import UserError
from anira.evaluation import DepthModel, EvaluationConfig, Subject, evaluate
from anira.evaluation.port import AniraModel, StockModel, depth_model
from anira.evaluation.predict import Settings
from anira.measure import measure
from anira.tasks import make_task

TASK = make_task("mano", {"modulus": 3, "min_size": 1, "max_size": 3})
SUBJECT = Subject(run_id="mine/00000000-s0", step=0, variant="fixed", seed=0)
DEPTHS = ("exit_depth", "executed", "iterations", "full_iterations", "kv_slots", "full_kv_slots", "flops", "full_flops")


@pytest.fixture(scope="module")
def ours():
    return random_model(small_config("fixed", vocab_size=len(TASK.vocab), max_depth=1))


def records(folder, model, **config):
    evaluate(model, TASK, EvaluationConfig(count=20, **config), SUBJECT, folder)
    return [
        pl.concat([pl.read_parquet(file) for file in sorted(folder.glob(f"{kind}-*.parquet"))])
        for kind in ("instances", "tokens")
    ]


@pytest.mark.parametrize("decode", ["parallel", "generated"])
def test_a_stock_llama_has_the_records_of_our_model_with_its_weights(ours, decode, tmp_path):
    twin = stock_twin(ours).train()
    for own, other in zip(
        records(tmp_path / "ours", ours, decode=decode), records(tmp_path / "stock", twin, decode=decode), strict=True
    ):
        same = [
            name
            for name in own.columns
            if name not in (*DEPTHS, "select", "expected_depth", "exit_probs", "margin", "lens")
        ]
        assert own.select(same).drop("ce", strict=False).equals(other.select(same).drop("ce", strict=False))
        if "ce" in same:
            torch.testing.assert_close(other["ce"].drop_nulls().to_torch(), own["ce"].drop_nulls().to_torch())
            assert set(other["exit_depth"]) == {1}
        else:
            assert other["flops"].to_list() == [2 * twin.num_parameters() * n for n in other["num_tokens"]]
    assert twin.training, "the mode that the model was in is given back"


def test_measure_reads_the_records_of_a_stock_model(ours, tmp_path):
    records(tmp_path / "stock", stock_twin(ours))
    table = measure([tmp_path / "stock"])
    depth = table.filter(quantity="depth", subset="answer")
    assert set(depth["value"]) == {1.0}
    assert len(table.filter(quantity="accuracy").drop_nulls("knob")) == 3


def test_a_model_of_another_kind_needs_an_object_with_the_members_of_the_port(ours, tmp_path):
    class Uniform(StockModel):
        """Depth 2 everywhere, by somebody else's way of reading."""

        policy, max_depth = "mine", 2

        def read(self, rows, settings):
            said = super().read(rows, settings)
            return type(said)(said.predicted, 2 * said.exit_depth, 2 * said.executed, None, None, ce=said.ce)

        def costs(self, executed, valid, select, **how):
            return {name: 2 * values for name, values in super().costs(executed, valid, select, **how).items()}

    mine = Uniform(stock_twin(ours))
    assert isinstance(mine, DepthModel) and depth_model(mine) is mine
    _, tokens = records(tmp_path / "mine", mine)
    assert set(tokens["exit_depth"]) == {2}
    with pytest.raises(UserError, match="Linear cannot be evaluated"):
        evaluate(torch.nn.Linear(1, 1), TASK, EvaluationConfig(count=1), SUBJECT, tmp_path / "none")


def test_what_a_stock_model_cannot_do_is_refused_before_anything_is_written(ours, tmp_path):
    twin = stock_twin(ours)
    for config, message in (
        ({"select": "mode"}, "has a fixed depth"),
        ({"override": "depth-2"}, "at most depth 1"),
        ({"override": "policy-huginn"}, "attach"),
    ):
        with pytest.raises(UserError, match=message):
            records(tmp_path / "no", twin, **config)
    assert not (tmp_path / "no").exists()


def test_tokens_that_the_model_does_not_have_are_refused(ours):
    rows = make_task("mano", {"modulus": 23, "min_size": 3, "max_size": 3}).rows(
        seed=0, stream="eval", start=0, count=20
    )
    with pytest.raises(UserError, match="tokens, and token"):
        depth_model(stock_twin(ours)).read(rows, Settings())


def test_which_implementation_a_model_gets(ours):
    assert isinstance(depth_model(ours), AniraModel)
    assert isinstance(depth_model(stock_twin(ours)), StockModel)
