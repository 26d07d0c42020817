"""Rows of text: parts and processes share a step out without changing it, and packing keeps documents apart."""

import dataclasses
import json

import numpy as np
import pytest
import torch
from tests.text_support import BYTES, documents, make_corpus, write_parquet
from tests.training_support import TINY_MODEL, TINY_RUN

from anira.config import UserError
from anira.models import AniraForCausalLM
from anira.text.stream import Taken
from anira.training.model_folder import adopt_model
from anira.training.text_presets import text_preset
from anira.training.text_source import TextSource, check_text, spans_of, split_spans


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    make_corpus(folder)
    return folder


def text_config(folder, name="text-anira-o-smoke", *, text=None, **changes):
    config = text_preset(name)
    options = dataclasses.replace(config.text, data=str(folder), **(text or {}))
    values = {**TINY_RUN, "max_length": 24, "held_out": 0.2, **changes}
    return adopt_model(dataclasses.replace(config, **values, text=options, model={**config.model, **TINY_MODEL}), {})


def parts(config, *, world=1, steps=2, width=1):
    """All parts that all processes have in some steps, each token with its noise."""
    sources = [TextSource(config, width) for _ in range(world)]
    for rank, source in enumerate(sources):
        source.rank, source.world = rank, world  # the stream is the same without an exchange
    return [[part for source in sources for part in source.step(step)] for step in range(1, steps + 1)]


@pytest.mark.parametrize("packing", ["wrapped", "documents"])
def test_processes_and_parts_share_out_the_same_step(folder, packing):
    """The same instances with the same noise, whoever has them."""

    def instances(made):
        found = []
        for part in made:
            ids, noise = (x.split(part.lengths.tolist()) for x in (part.input_ids[0], part.noise[0]))
            found += [(tuple(i.tolist()), tuple(n.flatten().tolist())) for i, n in zip(ids, noise, strict=True)]
        return sorted(found)

    text = {"packing": packing}
    alone = parts(text_config(folder, text=text))
    for world, accumulation in ((2, 1), (1, 4), (2, 2)):
        shared = parts(text_config(folder, text=text, accumulation=accumulation), world=world)
        for one, other in zip(alone, shared, strict=True):
            assert instances(one) == instances(other)
            assert {float(part.num_answer_tokens) for part in other} == {float(one[0].num_answer_tokens)}
            assert sum(len(part.answers) for part in other) == float(one[0].num_answer_tokens)


def test_rows_follow_the_stream_without_a_gap(folder):
    config = text_config(folder)
    (first,), (second,) = parts(config)
    source = TextSource(config, 0)
    stream = source.stream.take(2 * config.batch_size * config.max_length).ids
    assert np.array_equal(torch.cat([first.input_ids, second.input_ids], 1)[0].numpy(), stream)
    assert (first.lengths == config.max_length).all()


def test_spans_of_documents_end_where_documents_and_rows_do():
    starts = np.zeros(16, dtype=bool)
    starts[[0, 5, 10]] = True
    taken = Taken(np.arange(16, dtype=np.int32), starts)
    assert spans_of(taken, 8, documents=True).lengths.tolist() == [5, 3, 2, 6]
    assert spans_of(taken, 8, documents=False).lengths.tolist() == [8, 8]


def test_parts_have_like_lengths_and_something_to_predict():
    spans = spans_of(Taken(np.zeros(64, np.int32), np.arange(64) % 7 == 0), 16, documents=True)
    made = split_spans(spans, 4)
    assert np.concatenate([part.lengths for part in made]).tolist() == sorted(spans.lengths)
    singles = spans_of(Taken(np.zeros(64, np.int32), np.arange(64) % 16 != 2), 16, documents=True)
    assert all(len(part.lengths) and part.lengths.max() > 1 for part in split_spans(singles, 4))


def test_a_source_goes_on_after_any_step(folder):
    config = text_config(folder, text={"packing": "documents"})
    whole = TextSource(config, 1)
    for step in range(1, 7):
        list(whole.step(step))
        again = TextSource(config, 1)
        again.load_state(json.loads(json.dumps({"step": step, **whole.state()})))
        later = TextSource(config, 1)
        later.load_state({"step": step, **whole.state()})
        for one, other in zip(again.step(step + 1), later.step(step + 1), strict=True):
            assert torch.equal(one.input_ids, other.input_ids) and torch.equal(one.noise, other.noise)
        assert again.state() == later.state() != whole.state()


def test_a_step_can_be_asked_for_twice_and_none_is_left_out(folder):
    source = TextSource(text_config(folder), 0)
    once, twice = list(source.step(1)), list(source.step(1))
    assert torch.equal(once[0].input_ids, twice[0].input_ids)
    with pytest.raises(AssertionError):
        list(source.step(3))


@pytest.mark.parametrize("name", ["text-anira-e-smoke", "gsm-anira-o-smoke", "gsm-fixed-smoke"])
def test_packed_documents_are_documents_alone(folder, name):
    """In float64: logits and depths of documents in packed rows are those of each document by itself."""
    config = text_config(folder, name, text={"packing": "documents"}, accumulation=2)
    torch.manual_seed(0)
    model = AniraForCausalLM(config.model_config()).double().eval()
    source = TextSource(config, 0)
    seen = 0
    for part in source.step(1):
        together = model(part.input_ids, lengths=part.lengths, max_length=part.longest)
        ends = part.lengths.cumsum(0)
        for first, last in zip(ends - part.lengths, ends, strict=True):
            alone = model(part.input_ids[:, first:last])
            torch.testing.assert_close(together.logits[:, first:last], alone.logits, rtol=1e-9, atol=1e-9)
            assert torch.equal(together.exit_depth[:, first:last], alone.exit_depth)
            seen += 1
    assert seen > config.batch_size


def test_validation_is_on_documents_that_training_never_reads(folder):
    config = text_config(folder, eval_count=3, final_count=50)
    source = TextSource(config, 0)
    held_out = bytes(source.held_out.ids[source.held_out.ids < 256].astype(np.uint8))
    read = source.stream.take(10**5, once=True).ids
    trained = bytes(read[read < 256].astype(np.uint8))
    marks = [f"<{i}>".encode() for i in range(60)]
    assert not {mark for mark in marks if mark in held_out} & {mark for mark in marks if mark in trained}
    model = AniraForCausalLM(config.model_config()).train()
    before = source.state()
    (figures,) = source.evaluate(model, 1, 3, folder)
    assert (figures["n"], figures["tokens"]) == (3, 72)
    assert figures["loss"] == pytest.approx(np.log(259), rel=0.1)
    assert 1 <= figures["depth_answer"] <= 3
    assert model.training and source.state() == before


def test_validation_loss_is_the_mean_over_tokens(folder):
    config = text_config(folder, "gsm-fixed-smoke", eval_count=2, text={"packing": "wrapped"})
    source = TextSource(config, 0)
    model = AniraForCausalLM(config.model_config()).eval()
    rows = torch.from_numpy(source.held_out.ids[:48].astype(np.int64)).view(2, 24)
    (figures,) = source.evaluate(model, 1, 2, folder)
    with torch.no_grad():
        expected = model(rows, labels=rows).losses["ce"]
    assert figures["loss"] == pytest.approx(float(expected), rel=1e-5)


def test_what_cannot_begin_is_refused(folder, tmp_path):
    config = text_config(folder)

    def refusal(**changes):
        with pytest.raises(UserError) as caught:
            check_text(dataclasses.replace(config, **changes))
        return str(caught.value)

    assert "max_length must be at least 4" in refusal(max_length=3)
    assert "max_offset shifts the rows of a task" in refusal(max_offset=1)
    assert "nothing to validate on" in refusal(held_out=0.0)
    assert "tokenizer 'bytes' has 259 tokens, and the model's vocab_size is 100" in refusal(
        model={**config.model, "vocab_size": 100}
    )
    assert "there is no tokenizer" in refusal(text=dataclasses.replace(config.text, tokenizer=""))
    assert "holds no tokenizer" in refusal(text=dataclasses.replace(config.text, tokenizer=str(tmp_path)))
    write_parquet(tmp_path / "a.parquet", documents(3))
    few = TextSource(dataclasses.replace(config, text=dataclasses.replace(config.text, data=str(tmp_path))), 0)
    few.config = dataclasses.replace(few.config, held_out=1e-9)
    with pytest.raises(UserError, match="no documents to validate on"):
        few.held_out  # noqa: B018 (it is found when it is asked for)
    assert BYTES.size == 259
