"""Every kind of page, from planted records: what the tests of pages in a browser look at."""

from collections.abc import Iterator
from pathlib import Path

from tests.report_support import FakeRun, write_run
from tests.unit.measure.brevo_support import Graphs
from tests.unit.measure.parse_state_support import Questions
from tests.unit.paper import (
    test_allocation,
    test_brevo_regression,
    test_claims,
    test_clrs,
    test_cost,
    test_credit,
    test_dynamics,
    test_extrapolation,
    test_gsm_symbolic,
    test_lano,
    test_mano_parse_state,
    test_pareto,
    test_policies,
    test_rational,
    test_same_size,
    test_without_need,
    test_wordmath,
)

from anira.paper.index import write_index
from anira.paper.outcome import whole_page
from anira.site import render
from anira.site.page import Page
from anira.site.report import KnobWords, build, load_runs


def write_pages(root: Path) -> dict[str, Path]:
    """Write all pages below a folder; return them by name."""
    pages = {}
    for name, page in [*figures(root), *reports(root)]:
        pages[name] = root / f"{name}.html"
        pages[name].write_text(render(page), encoding="utf-8")
    claims = {"follows-complexity": [test_claims.claim("mano anira-e", [test_claims.UP] * 3)]}
    test_claims.store(root / "stored", "allocation", claims)
    test_claims.make(root / "stored")
    return {**pages, "claims": root / "stored" / "claims.html", "index": write_index(root / "stored")}


def figures(root: Path) -> Iterator[tuple[str, Page]]:
    """Yield the pages of the paper's figures, of the comparison of policies and of word problems."""
    effects = {"dfs_depth": 0.3, "out_degree_dep": 0.2}
    graphs = [Graphs(effects=effects), Graphs(variant="anira-o", effects=effects, draw=1)]
    questions = [Questions(seed=seed, draw=seed, n=60) for seed in range(3)]
    compared = test_policies.planted(root / "policies", 1)
    found = {
        test_allocation: test_allocation.planted(root / "allocation", test_allocation.rising, seeds=1),
        test_brevo_regression: test_brevo_regression.found(root / "brevo", *graphs),
        test_clrs: test_clrs.planted(root / "clrs"),
        test_cost: test_cost.planted(3.5),
        test_dynamics: test_dynamics.plant(root / "dynamics"),
        test_extrapolation: test_extrapolation.planted(root / "extrapolation"),
        test_lano: test_lano.planted(root / "lano"),
        test_mano_parse_state: test_mano_parse_state.found(root / "parse", *questions),
        test_pareto: test_pareto.found(root / "pareto", lambda knob, number: 1 + number % 2),
        test_credit: test_credit.planted(seeds=1),
        test_rational: test_rational.planted(root / "rational", seeds=1),
        test_same_size: test_same_size.planted(root / "same-size", seeds=1),
        test_without_need: test_without_need.planted(root / "without-need", seeds=1),
        test_wordmath: [test_wordmath.planted(root / "wordmath", seeds=1)],
    }
    for module, one in found.items():
        yield whole(module.__name__.rpartition("test_")[2].replace("_", "-"), module.make_page(one))
    words = {"knob": "K: a number", "command": "anira compare", "twin": compared}
    yield whole("policies", test_policies.make_page(compared, **words))
    models = test_gsm_symbolic.measured_of(test_gsm_symbolic.planted(root / "gsm"))
    yield whole("gsm-symbolic", test_gsm_symbolic.make_page(models))


def whole(name: str, page: Page) -> tuple[str, Page]:
    """Return a page as `anira reproduce` completes it."""
    return name, whole_page(page, name, "cpu", ["table.csv"], [])


def reports(root: Path) -> Iterator[tuple[str, Page]]:
    """Yield reports: of two runs, of tasks with and without a picture, and of many runs."""
    knobs = {"mano": KnobWords("L", "operators"), "brevo": KnobWords("N", "nodes of the graph")}
    fakes = {
        "two": [FakeRun(task="brevo", knobs=(3, 4, 5, 6), count=20, variant=name) for name in ("anira-o", "fixed")],
        "many": [
            FakeRun(seed=seed, count=10, knobs=(1, 2, 3), variant=name, changes={"batch_size": size})
            for name in ("anira-e", "anira-o")
            for size in (64, 128)
            for seed in range(3)
        ],
        "words": [FakeRun(task="words", knobs=(2, 3, 4), count=20)],
        "depo": [FakeRun(task="depo", knobs=(1, 2, 3), count=12)],
        "lano": [FakeRun(task="lano", knobs=(4,), count=12)],
        "clrs": [FakeRun(task="clrs", knobs=(4, 5, 6, 7, 8), count=12)],
    }
    for name, some in fakes.items():
        folders = [write_run(root / f"{name}-{i}", fake) for i, fake in enumerate(some)]
        yield f"report-{name}", build(load_runs(folders), knobs=knobs).page
