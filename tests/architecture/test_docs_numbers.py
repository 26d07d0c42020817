"""Numbers in prose are those of `results/`: pages of results resolve them when built, and the README is checked."""

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from anira.models.policies import policy_class, policy_names
from docs.scripts import numbers

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
CLAIMS = {
    "depth follows the complexity": "follows-complexity",
    "no algorithmic generalisation": "no-generalisation",
    "from easy to hard": "easy-to-hard",
    "two phases": "two-phases",
    "ANIRA-O needs less depth": "o-less-depth",
    "ANIRA-E follows structure": "e-structure-o-state",
    "while reading the question": "reads-while-solving",
    "degrades more gracefully": "o-degrades-gracefully",
}


def test_the_verdicts_of_the_readme_are_the_published_ones():
    rows = [line.split("|")[1:3] for line in README.splitlines() if re.match(r"\| (?!claim|-|\|)[a-zA-Z-]+ .*\|", line)]
    found = {key: word.strip() for claim, word in rows for name, key in CLAIMS.items() if name in claim}
    assert found == {key: numbers.verdict(key) for key in CLAIMS.values()}


def test_the_numbers_of_the_readme_are_the_published_ones():
    slope = numbers.estimate("allocation", "slope", task="brevo", variant="anira-e", split="seen", subset="all")
    assert f"{slope} iterations per node" in README
    drops = [numbers.estimate("extrapolation", "drop_beyond", variant=one, knob=3) for one in ("anira-e", "anira-o")]
    early, online = (f"{float(drop.split()[0]):.0f}" for drop in drops)
    assert f"falls by {early} (ANIRA-E) and {online} points (ANIRA-O)" in README
    means = numbers.words_runs().group_by("label").agg(pl.col("accuracy", "depth").mean())
    ours, fixed = (means.filter(label=label).row(0, named=True) for label in ("anira-e", "fixed-5"))
    assert f"ANIRA-E answers {ours['accuracy']:.1%} at a mean depth of {ours['depth']:.1f}" in README
    assert f"fixed depth 5 answers {fixed['accuracy']:.1%}" in README


def test_the_readme_counts_mechanisms_as_the_package_has_them():
    ours = {name for name in policy_names() if policy_class(name).__module__.startswith("anira.")}
    assert len(ours - {*numbers.NULLS, "fixed"}) == 15
    assert "fifteen mechanisms" in README
    labels = set(numbers.words_runs()["label"]) - {"ouro-2", *numbers.NULLS}
    drawn = [label for label in labels if not label.startswith("fixed-")]
    assert f"of {['twelve', 'thirteen', 'fourteen', 'fifteen'][len(drawn) - 12]} mechanisms" in README


@pytest.mark.parametrize("page", ["gallery.md", "mechanisms.md", "tutorials/check-a-claim.md"])
def test_pages_of_results_have_no_number_that_somebody_typed(page):
    text = (ROOT / "docs" / page).read_text()
    prose = re.sub(r"```.*?```|`[^`]*`|\{\{.*?\}\}|\]\([^)]*\)|arXiv [\d.]+|95% t", "", text, flags=re.DOTALL)
    assert not re.findall(r"\d*\.\d+|\d+ ?%|\d+ points", prose)


def test_who_lies_above_the_curve_of_fixed_depths_is_who_the_gallery_says():
    means = numbers.words_runs().group_by("label").agg(pl.col("accuracy", "depth").mean()).sort("depth")
    curve = means.filter(pl.col("label").str.starts_with("fixed-"))
    above = {
        row["label"]: row["accuracy"] > np.interp(row["depth"], curve["depth"], curve["accuracy"])
        for row in means.iter_rows(named=True)
    }
    assert "ANIRA-E, CALM and Ouro lie above" in (ROOT / "docs" / "gallery.md").read_text()
    assert above["anira-e"] and above["calm"] and above["ouro"]
    assert not above["act"] and not above["mor-token"]


def test_what_is_not_in_the_results_is_an_error():
    with pytest.raises(ValueError, match="no slope in allocation"):
        numbers.estimate("allocation", "slope", task="chess")
    with pytest.raises(ValueError, match="no finished run of guessing"):
        numbers.policy("guessing")
