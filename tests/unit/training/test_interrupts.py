"""The first signal is noted, another one obeyed; signals that come twice at once are one."""

import signal
import threading

import pytest

from anira.config import Interrupted
from anira.training import interrupts
from anira.training.interrupts import Interrupts


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still unless told."""
    now = [100.0]
    monkeypatch.setattr(interrupts.time, "monotonic", lambda: now[0])
    return now


@pytest.fixture(autouse=True)
def heeded():
    """A shell that starts a job in the background lets it ignore SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_noted_once_and_obeyed_the_second_time(clock, number):
    before, told = signal.getsignal(number), []
    with Interrupts(lambda: told.append("at once")) as asked:
        assert asked.asked == 0
        signal.raise_signal(number)
        signal.raise_signal(number)  # `timeout` signals the process, then its group
        assert (asked.asked, told) == (number, ["at once"])
        clock[0] += 1
        with pytest.raises(Interrupted) as caught:
            signal.raise_signal(number)
        assert caught.value.status == 128 + number
    assert signal.getsignal(number) is before


def test_a_signal_that_is_ignored_stays_so():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Interrupts(pytest.fail) as asked:
            signal.raise_signal(signal.SIGINT)
            assert asked.asked == 0
    finally:
        signal.signal(signal.SIGINT, before)


def test_in_a_thread_nothing_is_done():
    seen = []

    def work():
        with Interrupts(pytest.fail) as asked:
            seen.append(asked.asked)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [0]
