"""Planted pieces of an evaluation set are found, and nothing else is."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from anira.text.overlap import OverlapFilter, run_hashes

WORDS = st.lists(st.sampled_from(["a", "bc", "Dora", "7", "zwei", "\u00e9t\u00e9", "of"]), min_size=0, max_size=12)


def runs(text, size):
    """Runs of words, the slow way."""
    words = "".join(c if c.isalnum() else " " for c in text.lower()).split()
    return [tuple(words[i : i + size]) for i in range(len(words) - size + 1)]


@given(WORDS, WORDS, st.integers(1, 4), st.sampled_from([" ", ", ", "\n- "]))
def test_it_agrees_with_sets_of_words(items, document, size, between):
    texts, text = " ".join(items), between.join(document)
    expected = bool(set(runs(texts, size)) & set(runs(text, size)))
    assert OverlapFilter([texts], words=size).overlaps(text) == expected


@given(WORDS, st.integers(1, 3))
def test_equal_runs_have_equal_hashes_wherever_they_stand(words, size):
    text = " ".join(words)
    here, there = run_hashes(text, size), run_hashes(f"({text})! {text}", size)
    assert np.array_equal(here, there[: len(here)])
    assert len(here) == 0 or np.array_equal(here, there[-len(here) :])


def test_planted_overlaps_are_found_among_many_documents():
    draw = np.random.default_rng(0)
    items = [" ".join(f"w{n}" for n in draw.integers(0, 500, 40)) for _ in range(50)]
    documents = [" ".join(f"w{n}" for n in draw.integers(0, 500, 300)) for _ in range(200)]
    planted = {3, 77, 199}
    for i in planted:
        documents[i] += ". " + " ".join(items[i % 50].split()[10:23]).upper() + " and more"
    seen = OverlapFilter(items, words=13)
    assert len(seen) == 50 * 28
    assert {i for i, text in enumerate(documents) if seen.overlaps(text)} == planted


def test_short_items_are_counted():
    seen = OverlapFilter(["too short", "three words here"], words=3)
    assert (len(seen), seen.too_short) == (1, 1)
    assert not OverlapFilter([], words=3).overlaps("three words here")
