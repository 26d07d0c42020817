"""From questions to records: what they hold, and that an interrupt loses nothing but the batch it met."""

import numpy as np
import polars as pl
import pytest
import torch
from tests.gsm_support import SHOTS, byte_tokenizer, tiny_anira, tiny_llama, write_data

from anira.config import UserError
from anira.evaluation.gsm_symbolic import GsmConfig, Loaded, at_depth, evaluate_gsm_symbolic, read_problems
from anira.evaluation.gsm_symbolic.decoding import Written
from anira.evaluation.gsm_symbolic.evaluate import Prompts, make_labels
from anira.evaluation.gsm_symbolic.tables import token_table
from anira.evaluation.gsm_symbolic.unfinished import Unfinished
from anira.evaluation.records import RecordFolder
from anira.inference import row_costs
from anira.tasks.gsm_symbolic import is_right, make_prompt, make_shot

EXAMPLES = tuple(make_shot(**one) for one in SHOTS)
CONFIG = GsmConfig(limit=4, batch_size=2, max_new_tokens=6)


@pytest.fixture(scope="module")
def loaded():
    return Loaded(tiny_anira(), byte_tokenizer(), "tiny")


@pytest.fixture(scope="module")
def problems(tmp_path_factory):
    return read_problems(str(write_data(tmp_path_factory.mktemp("data"))))


@pytest.fixture(scope="module")
def folder(tmp_path_factory, loaded, problems):
    made = tmp_path_factory.mktemp("run") / "final"
    evaluate_gsm_symbolic(loaded, problems, EXAMPLES, CONFIG, made)
    return made


def read(folder, knob):
    return RecordFolder(folder).read(knob)


def test_instances_say_what_was_asked_and_written(folder, problems, loaded):
    instances, _ = read(folder, 2)
    rows = problems.by_split["p2"][:4]
    written = Prompts(loaded, EXAMPLES, CONFIG).answers(rows)
    assert instances["question"].to_list() == [one.question for one in rows]
    assert instances["predicted"].to_list() == [one.text for one in written]
    right = [is_right(one.text, row.gold) for one, row in zip(written, rows, strict=True)]
    assert instances["correct"].to_list() == right
    assert instances["meta_template"].to_list() == [one.template for one in rows]
    assert instances["meta_shared"].to_list() == [1] * 4
    assert set(instances["decode"]) == {"generated"}
    assert read(folder, 0)[0]["meta_shared"].to_list() == [1, 0, 1, 0]


def test_tokens_begin_with_the_question_and_have_the_depths_of_decoding(folder, problems, loaded):
    instances, tokens = read(folder, 0)
    tokenizer = loaded.tokenizer
    (one,) = Prompts(loaded, EXAMPLES, CONFIG).answers(problems.by_split["main"][:1])
    rows = tokens.filter(instance_id=instances["instance_id"][0])
    text = tokenizer.decode(rows["input_id"].to_list())
    assert text.startswith("Q: Tom has 2 cups")
    head = instances["meta_example_tokens"][0]
    assert rows["exit_depth"].to_list() == one.tokens["exit_depth"][head:].tolist()
    answer = rows.filter(target_kind="answer")
    assert answer["target_id"].to_list() == list(one.ids)
    assert rows["exit_depth"].n_unique() > 1
    assert (rows["exit_probs"].list.len() == 3).all()


def test_where_nothing_is_written_the_prompt_predicts_nothing(loaded, problems):
    depths = {name: np.array([1, 2, 3]) for name in ("exit_depth", "executed")}
    silent = Written((5, 6, 7), (), (8, 9), "", depths, True)
    spoken = Written((5, 6), (8, 0), (8, 0), "x", depths, True)
    labels, rows = make_labels(loaded, CONFIG), problems.by_split["p1"][:2]
    table = token_table(loaded.tokenizer, rows, [silent, spoken], labels, first=4, heads=[1, 0])
    assert table["instance_id"].to_list() == [4, 4, 5, 5, 5]
    assert table["input_id"].to_list() == [6, 7, 5, 6, 8]
    assert table["target_id"].to_list() == [7, None, 6, 8, 0]
    assert table["target_kind"].to_list() == ["prompt", "none", "prompt", "answer", "answer"]
    assert table["exit_depth"].to_list() == [2, 3, 1, 2, 3]


def test_costs_are_those_of_the_whole_row_less_those_of_the_examples(folder, problems, loaded):
    instances, _ = read(folder, 0)
    (one,) = Prompts(loaded, EXAMPLES, CONFIG).answers(problems.by_split["main"][:1])
    head, model = instances["meta_example_tokens"][0], loaded.model
    executed = torch.tensor(one.tokens["executed"][None])
    whole, before = (row_costs(model.config, model.policy, part) for part in (executed, executed[:, :head]))
    assert instances["iterations"][0] == executed[:, head:].sum()
    assert instances["kv_slots"][0] == whole["kv_slots"] - before["kv_slots"]
    flops = [sum(cost[name] for name in cost if name.endswith("flops")) for cost in (whole, before)]
    assert instances["flops"][0] == flops[0] - flops[1]


def test_forced_depths_leave_no_probabilities(tmp_path, loaded, problems):
    evaluate_gsm_symbolic(loaded, problems, EXAMPLES, at_depth(CONFIG, 2), tmp_path / "depth-2")
    instances, tokens = read(tmp_path / "depth-2", 1)
    assert set(tokens["exit_depth"]) == {2}
    assert tokens["exit_probs"].null_count() == len(tokens)
    assert set(instances["override"]) == {"depth-2"}


def test_a_stock_model_is_recorded_at_depth_one(tmp_path, problems):
    stock = Loaded(tiny_llama(), byte_tokenizer(), "llama")
    evaluate_gsm_symbolic(stock, problems, EXAMPLES, CONFIG, tmp_path / "final")
    instances, tokens = read(tmp_path / "final", 0)
    assert (set(instances["variant"]), set(tokens["exit_depth"])) == ({"fixed"}, {1})
    assert (instances["flops"] == 2 * stock.model.num_parameters() * instances["num_tokens"].cast(pl.Int64)).all()


def test_an_interrupted_evaluation_goes_on_where_it_stopped(tmp_path, loaded, problems, folder, monkeypatch):
    calls = []
    whole = Prompts.tables

    def stopping(self, rows, *rest):
        calls.append(len(rows))
        if len(calls) == 4:
            raise KeyboardInterrupt
        return whole(self, rows, *rest)

    monkeypatch.setattr(Prompts, "tables", stopping)
    with pytest.raises(KeyboardInterrupt):
        evaluate_gsm_symbolic(loaded, problems, EXAMPLES, CONFIG, tmp_path / "final")
    told = []
    larger = GsmConfig(limit=4, batch_size=3, max_new_tokens=6)  # another batch size is the same evaluation
    evaluate_gsm_symbolic(loaded, problems, EXAMPLES, larger, tmp_path / "final", progress=told.append)
    assert calls == [2, 2, 2, 2, 2, 3, 1], "two questions of P1 were kept, Main was whole"
    assert sum(told) == 12
    for knob in range(3):
        for mine, theirs in zip(read(tmp_path / "final", knob), read(folder, knob), strict=True):
            floats = [name for name, kind in mine.schema.items() if kind.is_float() or name == "exit_probs"]
            assert mine.drop(floats).equals(theirs.drop(floats))
    assert not (tmp_path / "final" / "unfinished").exists()
    evaluate_gsm_symbolic(loaded, problems, EXAMPLES, CONFIG, tmp_path / "final")
    assert len(calls) == 7, "what is complete is not answered again"


def test_half_a_part_is_none(tmp_path):
    parts = Unfinished(tmp_path / "final", {"n": 4})
    table = pl.DataFrame({"instance_id": [0, 1]})
    parts.write(1, 0, table, table)
    parts.write(1, 2, table, table)
    assert parts.done(1) == {0, 1, 2, 3}
    assert parts.done(0) == set()
    (tmp_path / "final" / "unfinished" / "tokens-k001-000002-2.parquet").unlink()
    assert Unfinished(tmp_path / "final", {"n": 4}).done(1) == {0, 1}
    with pytest.raises(UserError, match="parts of another evaluation"):
        Unfinished(tmp_path / "final", {"n": 5})


def test_another_evaluation_in_the_same_folder_is_refused(folder, loaded, problems):
    with pytest.raises(UserError, match="holds another evaluation"):
        evaluate_gsm_symbolic(loaded, problems, EXAMPLES[:1], CONFIG, folder)


@pytest.mark.parametrize(
    ("config", "complaint"),
    [
        (GsmConfig(depth=4), "at most depth 3: 4 cannot be forced"),
        (GsmConfig(select="nonsense"), "nonsense"),
    ],
)
def test_what_the_model_cannot_do_is_refused(config, complaint, loaded):
    with pytest.raises(UserError, match=complaint):
        make_labels(loaded, config)


def test_options_that_mean_nothing_are_refused():
    stock = Loaded(tiny_llama(), byte_tokenizer(), "llama")
    with pytest.raises(UserError, match="LlamaForCausalLM has a fixed depth: leave out --select"):
        make_labels(stock, GsmConfig(select="mode"))
    with pytest.raises(UserError, match="--batch-size must be at least 1, not 0"):
        GsmConfig(batch_size=0)
    with pytest.raises(UserError, match="mean nothing to forced depths"):
        GsmConfig(depth=2, select="mode")


def test_prompts_that_do_not_fit_are_refused_before_anything_is_written(tmp_path, problems):
    stock = Loaded(tiny_llama(), byte_tokenizer(), "llama")
    longest = max(len(make_prompt(EXAMPLES, one.question)) for one in problems.by_split["p2"])
    config = GsmConfig(limit=4, max_new_tokens=2048 - longest + 1)
    with pytest.raises(UserError, match="exceeds the 2048 positions of llama"):
        evaluate_gsm_symbolic(stock, problems, EXAMPLES, config, tmp_path / "final")
    assert not (tmp_path / "final").exists()
