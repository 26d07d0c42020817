"""The engine's manners: who is refused, who waits, what a reader sees, and that nothing is lost."""

import threading
import time

import pytest
import torch
from tests.models_support import random_model, small_config

from anira.config import UserError
from anira.inference import Engine
from anira.inference.engine.sampling import Sampling, choose


@pytest.fixture(scope="module")
def model():
    return random_model(small_config("anira-o"))


def test_what_can_never_fit_is_refused_and_what_does_not_fit_now_waits(model):
    engine = Engine(model, max_slots=60)  # of 5 iterations each: room for 12 tokens
    with pytest.raises(UserError, match=r"may need 65 slots, and the engine has 60"):
        engine.submit([1, 2, 3, 4], max_new_tokens=10)
    handles = [engine.submit([1, 2, 3], max_new_tokens=4) for _ in range(5)]  # 30 slots each
    engine.tick()
    assert engine.stats["running"] == 2 and engine.stats["waiting"] == 3
    engine.run()
    assert [len(handle.result().tokens) for handle in handles] == [4] * 5
    assert engine.stats == {"waiting": 0, "running": 0, "slots": 0, "reserved_slots": 0, "max_slots": 60}


@pytest.mark.parametrize(
    ("prompt", "options", "message"),
    [
        ([], {}, "at least one token"),
        ([99], {}, "tokens must lie between 0 and 19"),
        ([1], {"max_new_tokens": 0}, "max_new_tokens must be at least 1"),
        ([1], {"select": "nonsense"}, "nonsense"),
        ([1], {"exit_depth": 6}, "between 1 and 5"),
        ([1], {"exit_depth": 2, "select": "mode"}, "mean nothing to forced depths"),
        ([1], {"temperature": -1.0}, "temperature must not be negative"),
        ([1], {"top_p": 0.0}, "top_p must lie"),
        ([1], {"buffer": 0}, "buffer must be at least 1"),
    ],
)
def test_bad_requests_are_refused_by_name(model, prompt, options, message):
    with pytest.raises(UserError, match=message):
        Engine(model).submit(prompt, **{"max_new_tokens": 3, **options})


def test_models_that_it_cannot_serve_are_refused():
    with pytest.raises(UserError, match="needs a shared core"):
        Engine(random_model(small_config("fixed", shared_core=False)))


def test_a_stop_token_ends_a_request(model):
    whole = Engine(model).submit([1, 2, 3], max_new_tokens=8).result()
    cut = Engine(model).submit([1, 2, 3], max_new_tokens=8, stop=[whole.tokens[3]]).result()
    first = whole.tokens.index(whole.tokens[3])
    assert cut.tokens == whole.tokens[: first + 1] and cut.reason == "stop" and whole.reason == "length"


def test_a_slow_reader_pauses_its_own_request_only(model):
    engine = Engine(model)
    slow = engine.submit([1, 2, 3], max_new_tokens=12, buffer=2)
    fast = engine.submit([4, 5], max_new_tokens=12)
    assert len(fast.result().tokens) == 12
    assert len(slow.tokens) == 2, "two tokens may wait for their reader"
    assert slow.result().tokens == Engine(model).submit([1, 2, 3], max_new_tokens=12).result().tokens


def test_who_waits_for_a_row_that_a_slow_reader_holds_is_told_so(model):
    engine = Engine(model, max_rows=1)
    slow = engine.submit([1, 2, 3], max_new_tokens=12, buffer=1)
    other = engine.submit([4, 5], max_new_tokens=2)
    with pytest.raises(UserError, match="wait for their readers"):
        other.result()
    with pytest.raises(UserError, match="wait for their readers"):
        engine.run()
    assert len(slow.result().tokens) == 12 and len(other.result().tokens) == 2


def test_an_engine_whose_rows_wait_for_readers_rests(model, monkeypatch):
    engine, ticks = Engine(model, max_rows=1), []
    tick = engine.tick
    monkeypatch.setattr(engine, "tick", lambda: (ticks.append(1), tick()))
    with engine:
        slow, other = (engine.submit([1, 2], max_new_tokens=3, buffer=one) for one in (1, None))
        while not slow.paused:
            time.sleep(0.001)
        before = len(ticks)
        time.sleep(0.1)
        assert len(ticks) - before < 3
        assert len(slow.result().tokens) == len(other.result().tokens) == 3


def test_sampling_depends_on_nothing_but_the_request(model):
    how = {"max_new_tokens": 10, "temperature": 1.3, "top_k": 7, "top_p": 0.9, "seed": 5}
    alone = Engine(model).submit([1, 2, 3], **how).result()
    engine = Engine(model, prompt_tokens=1)
    others = [engine.submit([4, i], max_new_tokens=6, temperature=1.0, seed=i) for i in range(5)]
    among = engine.submit([1, 2, 3], **how)
    assert among.result() == alone
    other = Engine(model).submit([1, 2, 3], **{**how, "seed": 6}).result()
    assert other.tokens != alone.tokens
    assert len({one.result().tokens for one in others}) > 1


def test_draws_have_the_probabilities_asked_for():
    logits = torch.tensor([[2.0, 1.0, 0.0, -1.0]]).repeat(4000, 1)
    how = [Sampling(temperature=0.5, top_k=3, top_p=0.95, seed=seed) for seed in range(4000)]
    counts = torch.bincount(choose(logits, how, [0] * 4000), minlength=4) / 4000
    kept = (logits[0] / 0.5).softmax(-1)[:2]  # together 0.98: the third is beyond 0.95
    torch.testing.assert_close(counts[:2], kept / kept.sum(), atol=0.02, rtol=0)
    assert counts[2:].sum() == 0


def test_a_thread_of_its_own_serves_many_readers(model):
    expected = {i: Engine(model).submit([i, 2], max_new_tokens=5).result() for i in range(1, 6)}
    found = {}
    with Engine(model, max_rows=2) as engine:

        def ask(i):
            found[i] = engine.submit([i, 2], max_new_tokens=5).result()

        readers = [threading.Thread(target=ask, args=(i,)) for i in expected]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join(timeout=60)
    assert found == expected


def test_closing_cancels_what_is_left(model):
    engine = Engine(model).start()
    handle = engine.submit([1], max_new_tokens=10_000)
    next(iter(handle))
    engine.close()
    assert handle.result().reason == "cancelled"
    with pytest.raises(UserError, match="closed"):
        engine.submit([1], max_new_tokens=1)


def test_an_error_reaches_every_reader(model, monkeypatch):
    engine = Engine(model)
    monkeypatch.setattr(engine.stages, "iterate", lambda waves: 1 / 0)
    with engine:
        handle = engine.submit([1], max_new_tokens=3)
        with pytest.raises(ZeroDivisionError):
            handle.result()
    assert handle.reason == "failed"
