"""The study of rational depth on planted runs: policies that a constant depth beats, equals or is beaten by."""

import pytest
from tests.measure_support import Planted, write_run

from anira.measure.statistics.estimates import Estimate
from anira.measure.tidy import Labels, make_row, make_table
from anira.paper.found import found_in
from anira.paper.rational.make import POLICIES, measured, plan
from anira.paper.rational.page import make_page
from anira.paper.rational.verdicts import GAP, answer, badge, judged, priced, state, verdicts
from anira.site import Badge, render

KNOBS = (1, 2, 4)
OWN = {"rational": lambda knob, number: knob, "constant": lambda knob, number: 4, "hasty": lambda knob, number: 1}
"""The required depth is the knob: one policy runs just that, one all iterations, one the first alone."""


def planted(root, *, seeds=3):
    folders, labels = {}, {}
    for seed in range(seeds):
        for name, own in OWN.items():
            run = Planted(
                own=own, required=lambda knob, number: knob, variant=name, knobs=KNOBS, seed=seed, count=4 + seed
            )
            folder = write_run(root, run)
            folders[run.run_id], labels[run.run_id] = sorted((folder / "records").iterdir()), name
    return measured(folders, labels, draws=20)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return planted(tmp_path_factory.mktemp("rational"))


def test_who_stops_where_it_pays_is_more_rational(found):
    """The best constant is depth 4: it is right everywhere, and iterations are cheap."""
    assert {name: state(found, name) for name in OWN} == {"rational": "more", "constant": "level", "hasty": "less"}
    assert judged(found) == ["rational", "constant", "hasty"]
    assert badge(found) == Badge("1 of 3 more rational", "yes")
    assert answer(found)[0].startswith("The depths that rational chose cost less")
    assert found.row("regret", variant="rational", subset="answer")["value"] == pytest.approx(0.0)
    # Of three sizes one needs depth 4; the others save three and two iterations at 0.02 nats.
    assert found.row(GAP, variant="rational", subset="answer")["value"] == pytest.approx(-0.02 * (3 + 2) / 3)
    assert found.row("too_early", variant="hasty", subset="answer", knob=4)["value"] == 1.0


def test_other_prices_are_reported_too(found):
    dear = found.row(GAP, variant="rational", subset=priced(0.08))
    assert dear["value"] == pytest.approx(-0.08 * (3 + 2) / 3)
    assert "100.0% of answer tokens" not in verdicts(found)[0].text


def tidy(gaps):
    """Return a table with these differences, one per seed."""
    rows = []
    for seed, gap in enumerate(gaps):
        run = {"run_id": f"a-s{seed}", "task": "words", "subtask": "", "policy": "a", "variant": "a", "seed": seed}
        labels = Labels(**run, step=1, select="", threshold=None, decode="parallel")
        rows.append(make_row(labels, GAP, Estimate(gap), n=10, subset="answer"))
    return found_in(make_table(rows))


def test_seeds_that_disagree_are_level_and_two_are_too_few():
    assert state(tidy([-0.1, 0.1, -0.1]), "a") == "level"
    assert badge(tidy([-0.1, 0.1, -0.1])) == Badge("none of 1 more rational", "no")
    assert state(tidy([-0.1, -0.1001]), "a") == "unknown"
    assert badge(tidy([-0.1, -0.1001])) == Badge("no verdict yet", "open")


def test_the_page_shows_every_policy(found):
    html = render(make_page(found))
    assert all(f"{name}: " in html for name in OWN)
    assert '"regret"' in html


def test_the_plan_is_that_of_the_comparison_over_s3():
    runs = plan("smoke")
    variants = [run.config.variant for run in runs]
    assert set(variants) == set(POLICIES)
    assert {name: variants.count(name) for name in ("anira-o", "ouro")} == {"anira-o": 3, "ouro": 6}  # two stages
    assert runs[0].config.task_config["group"] == "S3"
