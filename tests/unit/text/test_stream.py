"""The stream of tokens: nothing lost, nothing twice, the same for any number of processes and from any place on."""

import json
import threading
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.text_support import BYTES, all_tokens, documents, make_corpus, make_stream, same, write_lines, write_parquet

from anira.config import UserError
from anira.text.overlap import OverlapFilter
from anira.text.shards import LeftOut


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    return folder, make_corpus(folder)


def stored(stream):
    """A state as a checkpoint stores it."""
    return json.loads(json.dumps(stream.state()))


def test_every_document_comes_once_in_an_epoch_and_then_again(corpus):
    folder, texts = corpus
    expected = all_tokens(texts)
    stream = make_stream(folder)
    taken = stream.take(2 * len(expected))
    assert np.array_equal(taken.ids, np.tile(expected, 2))
    assert np.flatnonzero(taken.starts)[:2].tolist() == [0, len(BYTES.encode(texts[:1])[0])]
    assert taken.starts.sum() == 2 * len(texts) == stream.counts["documents"]
    assert stream.place.epoch == 1


@settings(max_examples=30)
@given(stop=st.integers(0, 3000), more=st.integers(1, 500))
def test_a_stream_goes_on_from_any_token(corpus, stop, more):
    folder, _ = corpus
    whole = make_stream(folder)
    whole.take(stop)
    state = stored(whole)
    again = make_stream(folder)
    again.load_state(state)
    assert stored(again) == state
    assert same(again.take(more), whole.take(more))
    assert stored(again) == stored(whole)


def test_it_goes_on_in_the_middle_of_a_large_line_shard(tmp_path, monkeypatch):
    monkeypatch.setattr("anira.text.shards.BLOCK", 64)  # a line is longer than a block, and a block has several
    texts = [text * (1 + 9 * (i % 3 == 0)) for i, text in enumerate(documents(40))]
    write_lines(tmp_path / "a.jsonl", texts)
    expected = all_tokens(texts)
    for stop in range(0, len(expected), 211):
        stream, again = make_stream(tmp_path), make_stream(tmp_path)
        stream.take(stop)
        again.load_state(stored(stream))
        assert np.array_equal(again.take(50).ids, np.roll(expected, -stop)[:50])


@pytest.mark.parametrize("world", [2, 3])
def test_processes_tokenise_each_document_once_and_hold_the_same_stream(corpus, world, monkeypatch):
    folder, texts = corpus
    monkeypatch.setattr("anira.text.stream._DOCUMENTS", 7)  # shares are uneven
    barrier, blocks = threading.Barrier(world), [None] * world
    encoded, taken = {rank: [] for rank in range(-1, world)}, [None] * world

    def exchange_of(rank):
        def exchange(mine):
            blocks[rank] = mine
            barrier.wait()
            everyone = list(blocks)
            barrier.wait()
            return everyone

        return exchange

    class Counting(type(BYTES)):
        def encode(self, some):
            encoded[self.rank].extend(some)
            return BYTES.encode(some)

    def take(who, **options):
        stream = make_stream(folder, **options)
        stream.tokenizer = Counting(BYTES.tokenizer, "counting")
        stream.tokenizer.rank = who
        return stream.take(len(all_tokens(texts)) - 5)

    def work(rank):
        taken[rank] = take(rank, rank=rank, world=world, exchange=exchange_of(rank))

    threads = [threading.Thread(target=work, args=[rank]) for rank in range(world)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    alone = take(-1)
    assert all(same(one, alone) for one in taken)
    everything = encoded.pop(-1)
    assert Counter(text for mine in encoded.values() for text in mine) == Counter(everything)
    assert set(everything) == set(texts) and len(everything) <= len(texts) + 1  # and the first of the next epoch
    assert min(map(len, encoded.values())) >= len(texts) // world - len(texts) // 7 - 1


def test_what_is_held_out_is_the_rest(corpus):
    folder, texts = corpus
    rest = make_stream(folder, held_out=0.3)
    held = make_stream(folder, held_out=0.3, want_held_out=True)
    parts = [stream.take(10**6, once=True).ids for stream in (rest, held)]
    assert len(parts[0]) + len(parts[1]) == len(all_tokens(texts))
    assert len(parts[1]) > 0
    assert rest.counts["documents"] + rest.counts[LeftOut.HELD_OUT] == len(texts)


def test_what_is_left_out_is_counted(tmp_path):
    plain = "A train leaves at nine and meets another one at noon."
    write_parquet(tmp_path / "a.parquet", ["", None, "x" * 101, plain, "It says: " + plain.upper()])
    (tmp_path / "b.jsonl").write_text('\n{"text": "\\ud800"}\n{"text": null}\n{"text": "fine"}\n')
    stream = make_stream(tmp_path, text={"longest": 100}, overlap=OverlapFilter([plain], words=5))
    assert bytes(stream.take(4, once=True).ids[1:].astype(np.uint8)) == b"fin"
    stream.take(10, once=True)
    assert stream.counts == {"empty": 4, "too long": 1, "not text": 1, "overlapping": 2, "documents": 1}


def test_escapes_stay_as_they_are(tmp_path):
    text = r"\frac{\nu}{2} \n \t"
    write_parquet(tmp_path / "a.parquet", [text])
    ids = make_stream(tmp_path).take(10**3, once=True).ids
    assert BYTES.tokenizer.decode(ids, skip_special_tokens=True) == text


def test_a_document_cannot_pretend_to_end(tmp_path):
    write_parquet(tmp_path / "a.parquet", ["a<eos>b"])
    ids = make_stream(tmp_path).take(100, once=True).ids
    assert (ids == BYTES.eos).sum() == 1


def test_other_data_or_another_tokenizer_are_refused(corpus, tmp_path):
    folder, texts = corpus
    state = stored(make_stream(folder))
    write_parquet(tmp_path / "a.parquet", texts)
    with pytest.raises(UserError, match="shards are not those"):
        make_stream(tmp_path).load_state(state)
    with pytest.raises(UserError, match="tokenizer 'bytes' is not the one"):
        make_stream(folder).load_state({**state, "tokenizer": "other"})
    for damaged in ({}, {**state, "place": {"row": 1}}, {**state, "place": {**state["place"], "row": -1}}):
        with pytest.raises(UserError):
            make_stream(folder).load_state(damaged)


def test_shards_without_a_single_document_are_refused(tmp_path):
    write_parquet(tmp_path / "a.parquet", ["", "", "x" * 50])
    with pytest.raises(UserError, match=r"no document to read in .*: 2 empty, 1 too long"):
        make_stream(tmp_path, text={"longest": 10}).take(10)
