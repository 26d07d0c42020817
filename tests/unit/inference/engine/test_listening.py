"""What a server needs of the engine: news without waiting for them, and an error that ends no more than it must."""

import pytest
from tests.models_support import random_model, small_config

from anira.inference import Engine


@pytest.fixture(scope="module")
def model():
    return random_model(small_config("anira-o"))


def test_a_listener_hears_of_every_token_and_of_the_end(model):
    engine, heard = Engine(model), []
    handle = engine.submit([1, 2], max_new_tokens=3, listener=lambda: heard.append((len(handle.tokens), handle.done)))
    engine.run()
    assert heard == [(1, False), (2, False), (3, False), (3, True)]


def test_a_listener_hears_of_a_cancelled_request(model):
    engine, heard = Engine(model), []
    handle = engine.submit([1, 2], max_new_tokens=3, listener=lambda: heard.append(handle.reason))
    handle.cancel()
    engine.run()
    assert heard == ["cancelled"]


def test_an_error_ends_those_that_run_and_those_that_wait_are_answered(model, monkeypatch):
    expected = Engine(model).submit([3, 4], max_new_tokens=3).result()
    engine = Engine(model, max_rows=1)
    enter = engine.stages.enter

    def fail_on_13(ids, *words):
        if 13 in ids:
            raise RuntimeError("13")
        return enter(ids, *words)

    monkeypatch.setattr(engine.stages, "enter", fail_on_13)
    bad = engine.submit([13], max_new_tokens=3)
    good = engine.submit([3, 4], max_new_tokens=3, stop=[])
    with engine:
        assert good.result() == expected
        with pytest.raises(RuntimeError, match="13"):
            bad.result()
        assert engine.working
    assert engine.stats["reserved_slots"] == 0 and not engine.working


def test_an_error_with_nobody_running_ends_the_next_in_line(model, monkeypatch):
    engine = Engine(model)
    monkeypatch.setattr(engine, "_admit", lambda: 1 / 0)
    handles = [engine.submit([1], max_new_tokens=1) for _ in range(2)]
    with engine:
        for handle in handles:
            with pytest.raises(ZeroDivisionError):
                handle.result()
