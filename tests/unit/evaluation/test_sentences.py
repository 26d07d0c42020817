"""Strings that a model writes on its own: where they come from, and what their records say."""

import dataclasses

import numpy as np
import polars as pl
import pytest
import torch
from tests.unit.evaluation.evaluation_support import SUBJECT, model_for, read

from anira.config import UserError
from anira.evaluation import SentencesConfig, evaluate_sentences, sentences
from anira.inference import Stepwise
from anira.tasks import IGNORE, Rows
from anira.tasks.lano import Lano, LanoConfig, token_features

TASK = Lano(LanoConfig(start_symbol=10, packed_length=64))
PAD, BOS, EOS = (TASK.vocab.id(mark) for mark in ("<pad>", "<bos>", "<eos>"))
CONFIG = SentencesConfig(count=40, longest=5)


@pytest.fixture(scope="module", params=["anira-e", "anira-o"])
def model(request):
    """A model that finds no token much likelier than others, so that its strings are of many lengths."""
    found = model_for(TASK, request.param)
    found.lm_head.weight.data *= 0.2
    return found


def strings(model, index=range(40), **changes):
    rows = sentences.sample_rows(model, TASK, dataclasses.replace(CONFIG, **changes), index)
    return [rows.ids(i) for i in range(len(rows))]


def test_a_string_goes_from_bos_to_the_first_mark_or_is_cut(model):
    written = strings(model)
    assert {len(ids) for ids in written} == {2, 3, 4, 5}
    for ids in written:
        assert ids[0] == BOS
        assert not set(ids[1:-1]) & {PAD, BOS, EOS}
        assert ids[-1] in (PAD, BOS, EOS) or len(ids) == CONFIG.longest
    assert any(ids[-1] == EOS for ids in written)
    assert any(ids[-1] in (1, 2, 3) for ids in written)


def test_all_but_bos_is_supervised_and_the_rest_is_padding(model):
    rows = sentences.sample_rows(model, TASK, CONFIG, range(40))
    for i in range(40):
        assert rows.answer_positions(i) == list(range(1, rows.lengths[i]))
        assert rows.answer(i) == rows.ids(i)[1:]
        assert (rows.input_ids[i, rows.lengths[i] :] == PAD).all()
    assert rows.input_ids.shape[1] == rows.lengths.max()
    assert set(rows.knob) == {TASK.knob.maximum}


def test_a_string_depends_on_its_number_and_the_seed_only(model):
    whole = strings(model)
    assert strings(model, range(7, 12)) == whole[7:12]
    assert strings(model, range(3, 4), batch_size=1) == whole[3:4]
    assert strings(model, seed=1) != whole


@torch.no_grad()
def test_tokens_are_drawn_from_the_models_distribution():
    model = model_for(TASK)
    count = 4000
    first = [ids[1] for ids in strings(model, range(count), longest=2)]
    expected = model(torch.tensor([[BOS]])).logits[0, 0].softmax(-1).numpy()
    observed = np.bincount(first, minlength=len(expected)) / count
    assert np.abs(observed - expected).max() < 4 * np.sqrt(0.25 / count)
    second = [ids[2] for ids in strings(model, range(count), longest=3) if ids[1:2] == [3] and len(ids) == 3]
    expected = model(torch.tensor([[BOS, 3]])).logits[0, 1].softmax(-1).numpy()
    observed = np.bincount(second, minlength=len(expected)) / len(second)
    assert np.abs(observed - expected).max() < 4 * np.sqrt(0.25 / len(second))


def test_recorded_depths_are_those_of_decoding(model, tmp_path):
    evaluate_sentences(model, TASK, CONFIG, SUBJECT, tmp_path / "e")
    _, tokens = read(tmp_path / "e")
    for i in range(CONFIG.count):
        mine = tokens.filter(instance_id=i)
        session, depths, expected = Stepwise(model), [], []
        for token in mine["input_id"]:
            step = session.feed(torch.tensor([[token]]))
            depths += step.exit_depth[0].tolist()
            probs = step.exit_log_probs[0].exp()
            expected += (probs @ torch.arange(1, probs.shape[-1] + 1, dtype=probs.dtype)).tolist()
        assert mine["exit_depth"].to_list() == depths
        assert mine["expected_depth"].to_list() == pytest.approx(expected, abs=1e-5)


def written_by_hand(*texts):
    """Return the rows that a model wrote which happened to write these strings."""

    def sample_rows(model, task, config, index):
        ids = [[BOS, *TASK.vocab.encode(text)] for text in texts]
        lengths = np.array([len(row) for row in ids])
        padded = np.array([row + [PAD] * (lengths.max() - len(row)) for row in ids])
        valid = np.arange(padded.shape[1]) < lengths[:, None]
        labels = np.where(valid & (np.arange(padded.shape[1]) > 0), padded, IGNORE)
        return Rows(padded, labels, lengths, np.full(len(ids), TASK.knob.maximum))

    return sample_rows


def test_records_say_which_strings_are_sentences(model, tmp_path, monkeypatch):
    texts = ["3 1 2 1 3 2 <eos>", "3 1 2 1 3 2", "3 1 1 1 <eos>", "3 1 2 1 <eos>", "<eos>", "3 1 <bos>", "3 1 <pad>"]
    monkeypatch.setattr(sentences, "sample_rows", written_by_hand(*texts))
    evaluate_sentences(model, TASK, SentencesConfig(count=7, longest=8), SUBJECT, tmp_path / "e")
    instances, tokens = read(tmp_path / "e")
    assert instances["correct"].to_list() == [True] + [False] * 6
    assert instances["correct"].equals(instances["lenient_correct"])
    assert instances["meta_ended"].to_list() == [1, 0, 1, 1, 1, 0, 0]
    assert instances["meta_possible_tokens"].to_list() == [6, 6, 2, 4, 0, 2, 2]
    assert instances["meta_tokens"].to_list() == [6, 6, 4, 4, 0, 2, 2]
    assert instances["predicted"].to_list() == texts
    assert set(instances["decode"]) == {"generated"}
    assert set(instances["run_id"]) == {SUBJECT.run_id}
    for i, words in enumerate(([3, 1, 2, 1, 3, 2], [3, 1, 2, 1, 3, 2], [3, 1, 1, 1])):
        mine = tokens.filter(instance_id=i)
        features = [one.ops_mul for one in token_features(TASK.grammar(), words)]
        assert mine["probe_ops_mul"].to_list()[: len(words)] == features
        assert mine["probe_ops_mul"].null_count() == len(mine) - len(words)


def test_tokens_keep_the_models_likeliest_ones(model, tmp_path):
    evaluate_sentences(model, TASK, CONFIG, SUBJECT, tmp_path / "e")
    _, tokens = read(tmp_path / "e")
    likely = tokens.filter(pl.col("target_kind") == "answer")["correct"]
    assert 0 < likely.sum() < len(likely)


def test_finished_records_are_not_made_again(model, tmp_path, monkeypatch):
    told = []
    config = dataclasses.replace(CONFIG, batch_size=10)
    evaluate_sentences(model, TASK, config, SUBJECT, tmp_path / "e", progress=told.append)
    assert told == [10, 20, 30, 40]
    before = {path.name: path.read_bytes() for path in (tmp_path / "e").iterdir()}
    monkeypatch.setattr(sentences, "sample_rows", None)
    evaluate_sentences(model, TASK, config, SUBJECT, tmp_path / "e")
    assert {path.name: path.read_bytes() for path in (tmp_path / "e").iterdir()} == before
    with pytest.raises(UserError, match="holds another evaluation"):
        evaluate_sentences(model, TASK, dataclasses.replace(config, seed=1), SUBJECT, tmp_path / "e")


def test_a_training_model_stays_one(tmp_path):
    model = model_for(TASK).train()
    evaluate_sentences(model, TASK, dataclasses.replace(CONFIG, count=2), SUBJECT, tmp_path / "e")
    assert model.training


@pytest.mark.parametrize("changes", [{"count": 0}, {"longest": 1}, {"seed": -1}, {"batch_size": 0}])
def test_bad_sizes_are_refused(changes):
    with pytest.raises(UserError, match="must be at least 1"):
        dataclasses.replace(CONFIG, **changes)
