"""The benchmark of LANO's parser: its figures fit together. How large they are is for a quiet machine to say."""

import json

import pytest

from benchmarks import parser as bench


@pytest.fixture
def result(anira):
    found = anira("bench", "parser", "--json", "--sentences", 3, "--repeats", 2)
    assert found.status == 0
    assert len(found.err.splitlines()) == 4
    return json.loads(found.out)


def test_every_figure_stands_beside_its_bar(result):
    bars = {figure["unit"]: (figure["bar"], figure["least"]) for figure in result["figures"]}
    assert bars == {
        "tokens/s": (30_000, True),
        "MB": (1, False),
        "sentences/s": (60_000, True),
        "s": (120, False),
    }
    for figure in result["figures"]:
        assert figure["value"] > 0
        above = figure["value"] >= figure["bar"]
        assert figure["met"] == (above if figure["least"] else not above)
    assert result["plain_sampler_sentences_per_second"] > 0
    assert {"cpu", "python", "numpy", "date"} <= result["machine"].keys()


def test_what_is_computed_from_the_times(monkeypatch):
    """Every part takes two seconds: 2 x 2 of them for 4 sentences, in two passes."""
    monkeypatch.setattr(bench, "_seconds", lambda work: 2.0)
    result = bench.bench(sentences=4, repeats=2, report=lambda text: None)
    values = {figure["unit"]: figure["value"] for figure in result["figures"]}
    lengths = [len(sentence) for sentence in bench._draw(4)]
    assert result["tokens"] == sum(lengths)
    assert values["tokens/s"] == result["probabilities_tokens_per_second"] == sum(lengths) / 4  # median of two rates
    assert values["sentences/s"] == bench.SAMPLED / 2
    assert values["s"] == (4 + 4) * 2000 / 4


def test_memory_is_what_one_string_holds():
    short, long = ([3, 1, 2] * times for times in (2, 100))
    assert 0 < bench._peak(short) < bench._peak(long) < 10**7


def test_the_table_says_what_is_met(anira, monkeypatch):
    figures = [
        bench._figure("features", 29_000.4, "tokens/s", bar=30_000, least=True),
        bench._figure("memory", 0.25, "MB", bar=1, least=False),
    ]
    made = {"machine": bench.machine(), "repeats": 2, "sentences": 3, "tokens": 700}
    monkeypatch.setattr(bench, "bench", lambda **options: made | {"figures": list(map(bench.asdict, figures))})
    lines = anira("bench", "parser").out.splitlines()
    assert lines[-2].split() == ["features", "29,000", "tokens/s", "30,000", "yes", "NO"]
    assert lines[-1].split() == ["memory", "0.25", "MB", "1", "no", "yes"]


@pytest.mark.parametrize("words", [["--sentences", 1, "--repeats", 2], ["--sentences", 0], ["--repeats", 0]], ids=str)
def test_too_little_to_measure_is_an_error(anira, words):
    status, out, err = anira("bench", "parser", *words)
    assert (status, out) == (2, "")
    assert "must be at least" in err
