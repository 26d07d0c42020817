"""The page of LANO from planted strings: what it says follows the verdict, and nothing on it is empty or markup."""

import re

import pytest
from tests.unit.measure.lano_support import Strings, write_strings, write_untrained

from anira.paper.lano.make import Source, measured
from anira.paper.lano.page import answer, make_page
from anira.site import render
from anira.site.tables import page_text
from anira.site.verdicts import claims_badge


def source(folder, plan):
    write_strings(folder, plan)
    return Source(folder, folder, write_untrained(folder / "untrained.parquet", folder, (-0.05, 0.05)), 0.411)


def planted(root):
    """ANIRA-E follows the parser in three seeds, ANIRA-O has one."""
    following = [
        source(root / f"e{seed}", Strings(n=30, effect=0.3, seed=seed, draw=seed, impossible=5)) for seed in range(3)
    ]
    return measured([*following, source(root / "o", Strings(n=30, variant="anira-o", draw=3))], draws=20)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return planted(tmp_path_factory.mktemp("lano"))


def test_the_answer_follows_the_verdicts(found):
    assert claims_badge(found.claims["follows-complexity"]).words == "supported: 1 of 1 setting supports it"
    first, second, *numbers = answer(found)
    assert first == "Expected depth follows the parser's work, more than in untrained models, in LANO ANIRA-E."
    assert second == "There is no verdict yet on LANO ANIRA-O."
    assert [line.split(":")[0] for line in numbers] == ["ANIRA-E", "ANIRA-O"]


def test_the_page_has_the_papers_values_and_is_escaped(found):
    page = make_page(found)
    text = page_text(page)
    line = next(line for line in text.splitlines() if re.match("multiplications +ANIRA-E", line))
    assert "+0.645" in line
    html = render(page)
    assert "Hollow: the paper" in html


def test_without_sentences_a_sentence_stands_for_the_charts(tmp_path):
    page = make_page(measured([source(tmp_path / "s", Strings(n=12, impossible=12))], draws=10))
    grammatical = next(section for section in page.sections if section.title.endswith("that are sentences"))
    assert "there is nothing to correlate" in grammatical.text[0]
    assert not grammatical.parts
    assert page.answer[0] == "It cannot be judged in LANO ANIRA-E."
    assert page.verdicts[0].text.endswith("only 0% of its strings are sentences of the language.")
