"""The study of alignment without need on planted runs: how many rise, and settings that cannot be judged."""

import polars as pl
import pytest
import torch
from tests.measure_support import Planted, write_run
from tests.models_support import random_model, small_config

from anira.measure.statistics.estimates import Estimate
from anira.measure.tidy import Labels, make_row, make_table
from anira.paper.found import measure_labelled
from anira.paper.without_need.make import compared
from anira.paper.without_need.page import make_page
from anira.paper.without_need.runs import STEPS, TWIN, draw_decider, plan
from anira.paper.without_need.verdicts import EVERY, NULLS_NAME, answer, badge, invalid, rises, verdict, verdicts
from anira.site import Badge, render

KNOBS = (1, 2, 4)


def one(knob, number):
    return 1


OWN = {"anira-e": lambda knob, number: knob, "anira-o": lambda knob, number: 2, "random": one, "fixed": lambda *_: 4}


def planted(root, *, seeds=3):
    """Depth 1 is enough everywhere; ANIRA-E's depth rises over Z6 all the same."""
    tables = []
    for task in (TWIN, STEPS):
        folders, labels = {}, {}
        for seed in range(seeds):
            own = {**OWN, "anira-e": OWN["anira-e"] if task == TWIN else one}
            sizes = {"knobs": KNOBS, "seed": seed, "count": 5, "required": one}
            runs = {name: Planted(own=depth, variant=name, **sizes) for name, depth in own.items()}
            runs["fixed-1"] = Planted(own=one, variant="fixed", max_depth=1, **sizes)
            for name, run in runs.items():
                folder = write_run(root / task, run, ("",))
                folders[run.run_id], labels[run.run_id] = sorted((folder / "records").iterdir()), name
        tables.append(measure_labelled(task, folders, labels, draws=20))
    return compared(pl.concat(tables))


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return planted(tmp_path_factory.mktemp("without-need"))


def test_a_quarter_of_the_runs_rise_and_no_null_does(found):
    counts = {
        key: (
            found.row("rising", task=key[0], variant=key[1])["value"],
            found.row("rising", task=key[0], variant=key[1])["n"],
        )
        for key in ((TWIN, "anira-e"), (TWIN, EVERY), (STEPS, EVERY), (EVERY, EVERY), (EVERY, NULLS_NAME))
    }
    assert list(counts.values()) == [(1.0, 3), (0.5, 6), (0.0, 6), (0.25, 12), (0.0, 6)]
    assert verdict(found) == "open" and not invalid(found)
    assert badge(found) == Badge("rising without need is open", "open")
    assert answer(found)[0].startswith("Depth rises with difficulty in 3 of 12 runs (25.0%")
    assert "0 of 6 runs" in answer(found)[1]
    assert [note.head for note in verdicts(found)] == ["words over Z6", "word problems step by step"]


def tidy(slopes, loss=0.0):
    """Return a table with these slopes (value and lower end) over Z6, one per seed."""
    rows = []
    for seed, (value, low) in enumerate(slopes):
        estimates = {
            ("anira-e", "slope"): Estimate(value, low, value),
            ("fixed", "accuracy_hardest"): Estimate(1.0),
            ("fixed-1", "accuracy_hardest"): Estimate(1.0 - loss),
        }
        for (variant, name), estimate in estimates.items():
            run = {"run_id": f"{variant}-s{seed}", "task": TWIN, "subtask": "", "policy": variant, "variant": variant}
            labels = Labels(**run, seed=seed, step=1, select="", threshold=None, decode="parallel")
            rows.append(make_row(labels, name, estimate, n=10))
    return compared(make_table(rows))


def test_a_slope_counts_from_its_smallest_size_and_with_an_interval_above_zero():
    assert rises({"value": 0.05, "low": 0.01})
    assert not rises({"value": 0.049, "low": 0.04})
    assert not rises({"value": 0.3, "low": -0.1})
    assert not rises({"value": None, "low": None})


def test_common_and_rare():
    assert verdict(tidy([(0.3, 0.2)] * 8)) == "common"
    assert verdict(tidy([(0.0, -0.1)] * 20)) == "rare"


def test_where_depth_is_needed_there_is_no_verdict():
    assert badge(tidy([(0.3, 0.2)] * 8, loss=0.03)) == Badge("no verdict", "open")
    assert "words over Z6" in answer(tidy([(0.3, 0.2)] * 8, loss=0.03))[-1]


def test_the_page_shows_every_line(found):
    html = render(make_page(found))
    assert "anira-e, words over Z6" in html and "every policy" in html


def test_the_plan_has_policies_nulls_and_both_fixed_depths():
    names = [(run.config.variant, run.config.model["max_depth"]) for run in plan(TWIN, "smoke")]
    assert {name: [one for one, _ in names].count(name) for name in ("anira-o", "random", "fixed", "ouro")} == {
        "anira-o": 3,
        "random": 3,
        "fixed": 6,
        "ouro": 6,
    }
    assert ("fixed", 1) in names
    assert not any(run.config.variant == "position" for run in plan(STEPS, "smoke"))


def test_a_decider_drawn_anew_gives_tokens_other_depths_and_leaves_the_backbone_alone():
    model = random_model(small_config("anira-e", {"zero_start": True}))
    before = {name: value.clone() for name, value in model.named_parameters()}
    ids = torch.arange(12)[None] % 9
    model.config.initializer_range = 2.0
    draw_decider(model, seed=1)
    changed = {name for name, value in model.named_parameters() if not torch.equal(value, before[name])}
    assert changed and all(".policy." in f".{name}" for name in changed)
    assert model.eval()(ids).exit_depth.unique().numel() > 1
    again = [value.clone() for value in model.policy.parameters()]
    draw_decider(model, seed=1)
    assert all(torch.equal(a, b) for a, b in zip(again, model.policy.parameters(), strict=True))
