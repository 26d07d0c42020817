"""What a client may ask for, and how everything else is refused."""

import json

import pytest

from anira.serving.asking import read_asked
from anira.serving.errors import Refused


def asked(**fields):
    return read_asked(json.dumps({"prompt": "a", **fields}).encode())


def refusal(body):
    with pytest.raises(Refused) as found:
        read_asked(body if isinstance(body, bytes) else json.dumps(body).encode())
    assert found.value.status == 400
    return found.value


@pytest.mark.parametrize(
    ("prompt", "prompts"),
    [
        ("one two", ["one two"]),
        ([1, 2], [[1, 2]]),
        (["a", "b"], ["a", "b"]),
        ([[1], [2, 3]], [[1], [2, 3]]),
        (["a", [1]], ["a", [1]]),
    ],
)
def test_prompts_are_text_or_tokens_or_several(prompt, prompts):
    assert asked(prompt=prompt).prompts == prompts


def test_every_option_is_read():
    fields = {"max_tokens": 5, "temperature": 1, "top_p": 0.5, "top_k": 3, "seed": 7, "stream": True, "model": "m"}
    found = asked(**fields, stop="end", select="quantile", threshold=0.5, n=1, echo=False)
    assert {name: getattr(found, name) for name in fields} == fields
    assert (found.stop, found.select, found.threshold, found.has_rule) == (("end",), "quantile", 0.5, True)
    assert asked(exit_depth=2).has_rule and not asked().has_rule


def test_null_is_the_default():
    assert asked(max_tokens=None, stop=None, stream=None, n=None, seed=None) == asked()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b'{"prompt": NaN}', "NaN is not JSON"),
        (b'{"prompt": [Infinity]}', "Infinity is not JSON"),
        (b'{"prompt": "\\ud800"}', "not JSON"),
        (b'{"prompt": "a", "prompt": "b"}', "'prompt' is given twice"),
        (b'{"prompt": ' + b"[" * 100 + b"]" * 100 + b"}", "nested more than 40 levels"),
        (b"[" * 200_000, "nested more than 40 levels"),
        (b'{"prompt": [' + b"9" * 5000 + b"]}", "not JSON"),
        (b"[]", "must be a JSON object"),
        (b"null", "must be a JSON object"),
    ],
)
def test_what_is_not_json_is_refused(body, message):
    found = refusal(body)
    assert message in found.message
    assert found.code == "invalid_json"


@pytest.mark.parametrize(
    ("fields", "param", "message"),
    [
        ({"prompt": None}, "prompt", "is missing"),
        ({"prompt": ""}, "prompt", "must not be empty"),
        ({"prompt": []}, "prompt", "must not be empty"),
        ({"prompt": [[]]}, "prompt", "must not be empty"),
        ({"prompt": ["a", 1]}, "prompt", "must be a string, a list of token ids"),
        ({"prompt": [1, 2.5]}, "prompt", "not a whole number"),
        ({"prompt": [True]}, "prompt", "not a whole number"),
        ({"prompt": {"a": 1}}, "prompt", "not an object"),
        ({"prompt": 3}, "prompt", "not 3"),
        ({"max_tokens": 0}, "max_tokens", "at least 1, not 0"),
        ({"max_tokens": 10**30}, "max_tokens", "at most"),
        ({"max_tokens": "5"}, "max_tokens", "whole number, not '5'"),
        ({"max_tokens": True}, "max_tokens", "whole number, not true"),
        ({"temperature": -1}, "temperature", "must be 0, or lie between"),
        ({"temperature": 1e-9}, "temperature", "must be 0, or lie between"),
        ({"temperature": "hot"}, "temperature", "finite number, not 'hot'"),
        ({"top_p": 0}, "top_p", "more than 0"),
        ({"top_k": 0}, "top_k", "at least 1"),
        ({"seed": -1}, "seed", "at least 0"),
        ({"seed": 1 << 63}, "seed", "at most"),
        ({"stop": ""}, "stop", "not empty"),
        ({"stop": ["a"] * 17}, "stop", "at most 16"),
        ({"stop": "a" * 257}, "stop", "at most 256"),
        ({"stop": [1]}, "stop", "must be a string"),
        ({"stream": "yes"}, "stream", "true or false, not 'yes'"),
        ({"exit_depth": 0}, "exit_depth", "at least 1"),
        ({"threshold": 10**400}, "threshold", "finite number, not a number"),
        ({"n": 2}, "n", "must be 1"),
        ({"n": True}, "n", "must be 1"),
        ({"echo": True}, "echo", "must be false"),
        ({"best_of": 3}, "best_of", "unknown field 'best_of'"),
        ({"max_token": 3}, "max_token", "did you mean 'max_tokens'?"),
        ({"x" * 5000: 3}, "x" * 80, "unknown field"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_is_wrong_is_refused_by_name(fields, param, message):
    found = refusal({"prompt": "a", **fields})
    assert found.param == param
    assert message in found.message
    assert len(found.message) < 300


def test_infinity_that_is_valid_json_is_refused():
    for number in ("1e999", "-1e999"):
        found = refusal(b'{"prompt": "a", "threshold": %s}' % number.encode())
        assert "must be a finite number" in found.message
