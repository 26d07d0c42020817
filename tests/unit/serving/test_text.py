"""Text in pieces is the text of the whole, and stop strings are found wherever tokens end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.serving_support import tokenizer

from anira.serving.text import TextStream
from anira.text import load_tokenizer

BYTES = load_tokenizer("bytes").tokenizer


def decode_bytes(ids):
    return BYTES.decode(list(ids), skip_special_tokens=True)


def decode_words(ids):
    return tokenizer().decode(list(ids), skip_special_tokens=True)


def joined(stream, ids):
    return "".join(stream.add(i) for i in ids) + stream.finish()


@pytest.mark.parametrize("decode", [decode_bytes, decode_words])
@given(ids=st.lists(st.integers(0, 255), max_size=120))
def test_any_tokens(decode, ids):
    ids = ids if decode is decode_bytes else [i % 20 for i in ids]
    assert joined(TextStream(decode), ids) == decode(ids)


@given(text=st.text(max_size=80))
def test_characters_come_whole(text):
    stream, ids = TextStream(decode_bytes), list(text.encode())
    pieces = [stream.add(i) for i in ids] + [stream.finish()]
    assert "".join(pieces) == text
    if "\ufffd" not in text:
        assert not any("\ufffd" in piece for piece in pieces)


@given(
    text=st.text(alphabet="ab \u00e9", max_size=60),
    stops=st.lists(st.text(alphabet="ab \u00e9", min_size=1), max_size=3),
)
def test_the_text_ends_before_the_stop_string_that_is_complete_first(text, stops):
    ends = [place + len(stop) for stop in stops if (place := text.find(stop)) >= 0]
    stream = TextStream(decode_bytes, stops)
    found = joined(stream, text.encode())
    assert stream.stopped == bool(ends)
    if not ends:
        assert found == text
    else:
        seen = text[: min(ends)]
        assert found == text[: min(seen.find(stop) for stop in stops if stop in seen)]


def test_nothing_comes_after_a_stop():
    stream = TextStream(decode_bytes, ["b"])
    assert joined(stream, b"abab") == "a"


def test_long_texts_are_decoded_in_windows():
    sizes = []

    def decode(ids):
        sizes.append(len(ids))
        return decode_bytes(ids)

    text = "tr\u00e8s " * 200
    assert joined(TextStream(decode), text.encode()) == text
    assert max(sizes) < 40
