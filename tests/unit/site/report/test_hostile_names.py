"""Names and texts of runs that try to be something else: markup, formulas of charts, commands to a terminal."""

import json
from html.parser import HTMLParser

import polars as pl
import pytest
from tests.report_support import FakeRun, write_run
from tests.sealing_support import edit_json, seal_run

from anira.config import UserError
from anira.site import render
from anira.site.report.about import KnobWords
from anira.site.report.page import build
from anira.site.report.runs import load_runs

HOSTILE = [
    '"><script>alert(1)</script>',
    "</script><script>alert(1)</script>",
    "' onmouseover='alert(1)",
    "{{ 7 * 7 }}{% raw %}",
    "$\\frac{1}{$",
    '<!-- --> ]]> &amp; viewBox="0 0 1 1" font-family: x',
    "#0101ff #010101",
    "\x1b]0;title\x07\x00\r\u202e",
]


class Elements(HTMLParser):
    """The elements of a page with their attributes."""

    def __init__(self):
        super().__init__()
        self.found, self.text = [], []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text.append(data)


def read(html):
    parser = Elements()
    parser.feed(html)
    return parser


def shape(html):
    """The page's elements and the names of their attributes, whatever they say."""
    return [(tag, sorted(attrs)) for tag, attrs in read(html).found]


def spoiled(folder, text):
    """Put a text wherever a run folder says something in words."""
    stored = json.loads((folder / "config.json").read_text())
    stored["config"] |= {"variant": text, "preset": text, "learning_rate": text}
    stored["config"]["task_config"]["modulus"] = text
    stored |= {"git": text, "platform": text, "versions": {text: text}}
    (folder / "config.json").write_text(json.dumps(stored))
    for path in (folder / "records" / "final").glob("*.parquet"):
        table = pl.read_parquet(path)
        named = [name for name in ("variant", "question", "answer", "predicted", "input_text") if name in table.columns]
        table.with_columns(pl.lit(text).alias(name) for name in named).write_parquet(path)
    edit_json(folder / "records" / "final" / "evaluation.json", variant=text)
    return seal_run(folder)


def page(folder, words):
    return render(build(load_runs([folder]), knobs={"mano": KnobWords(words, words)}).page)


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return page(spoiled(write_run(tmp_path_factory.mktemp("plain"), FakeRun(count=8)), "plain"), "plain")


@pytest.mark.parametrize("text", HOSTILE)
def test_a_report_shows_them_and_stays_the_page_it_is(tmp_path, plain, text):
    html = page(spoiled(write_run(tmp_path, FakeRun(count=8)), text), text)
    assert shape(html) == shape(plain)
    assert not [one for one in html if not one.isprintable() and one not in "\n\t"]


def test_half_a_character_is_an_error_with_a_name(tmp_path):
    folder = spoiled(write_run(tmp_path, FakeRun(count=8)), "plain")
    (folder / "config.json").write_text((folder / "config.json").read_text().replace("plain", "\\udcff"))
    with pytest.raises(UserError, match=r"is not a run: .* surrogates not allowed"):
        load_runs([folder])


def test_folders_with_odd_names_are_shown(tmp_path):
    runs = []
    for name in ("a\x1b", "b\x1b"):
        runs.append(tmp_path / name)
        write_run(tmp_path / "made", FakeRun(count=8)).rename(runs[-1])
    labels = [run.label for run in load_runs(runs)]
    assert [label.endswith("\\x1b)") for label in labels] == [True, True]
    assert "\x1b" not in render(build(load_runs(runs)).page)
