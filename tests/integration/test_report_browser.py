"""Pages in a real browser: nothing fetched, the answer on the first screen, nothing wider than it, legible."""

import os
from dataclasses import replace

import pytest
from tests.browser_support import Browser, find_browser
from tests.report_support import FakeRun, write_run

from anira.site import render
from anira.site.report.about import KnobWords
from anira.site.report.page import build
from anira.site.report.runs import load_runs

pytestmark = pytest.mark.slow

WIDE, PHONE = 1280, 390
VIEWS = [(width, scheme) for width in (WIDE, PHONE) for scheme in ("light", "dark")]
FIRST_SCREEN = 900

# What the tests below ask the page; colours are drawn on a pixel, so that every notation becomes red, green, blue.
TOOLS = """
var all = (selector) => [...document.querySelectorAll(selector)];
var style = (element) => getComputedStyle(element);
var pixel = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d");
var rgb = (css) => {
  pixel.clearRect(0, 0, 1, 1);
  pixel.fillStyle = css;
  pixel.fillRect(0, 0, 1, 1);
  return [...pixel.getImageData(0, 0, 1, 1).data].slice(0, 3);
};
var light = (css) => {
  const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  const [r, g, b] = rgb(css).map((c) => linear(c / 255));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
var contrast = (one, other) => {
  const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
};
var paper = style(document.body).backgroundColor;
var least = (selector, property, ground = () => paper) =>
  Math.min(...all(selector).map((one) => contrast(style(one)[property], ground(one))));
var bottom = (selector) => document.querySelector(selector).getBoundingClientRect().bottom;
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    path = find_browser()
    if path is None and os.environ.get("ANIRA_REQUIRE_BROWSER") == "1":
        pytest.fail("ANIRA_REQUIRE_BROWSER is set, and there is no Chromium")
    if path is None:
        pytest.skip("no Chromium on this machine: the report is not looked at")
    with Browser(path, tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A report with two variants, unseen knobs and rows longer than a phone is wide."""
    root = tmp_path_factory.mktemp("report")
    brevo = FakeRun(task="brevo", knobs=(2, 3, 4, 5, 6), count=20)
    folders = [write_run(root, fake) for fake in (brevo, replace(brevo, variant="fixed"))]
    path = root / "report.html"
    report = build(load_runs(folders), knobs={"brevo": KnobWords("N", "nodes of the graph")})
    path.write_text(render(report.page), encoding="utf-8")
    return path


@pytest.fixture(params=VIEWS, ids=lambda view: f"{view[0]}-{view[1]}")
def view(request, browser, page):
    """The browser with the page open at one width, in one scheme."""
    return show(browser, page, *request.param)


def show(browser, page, width, scheme):
    browser.open(page, width=width, scheme=scheme, scripts=True)
    browser.evaluate(TOOLS)
    assert browser.evaluate("innerWidth") == width
    return browser


def test_the_page_has_no_errors_and_fetches_nothing(view, page):
    assert view.seen("Runtime.exceptionThrown") == []
    assert view.seen("Runtime.consoleAPICalled") == []
    assert view.seen("Log.entryAdded") == []
    requests = {request["request"]["url"] for request in view.seen("Network.requestWillBeSent")}
    assert requests <= {page.as_uri(), "data:,"}


def test_verdict_answer_and_chart_stand_on_the_first_screen(view):
    assert view.evaluate("bottom('.badge')") < view.evaluate("bottom('.answer')") < FIRST_SCREEN
    assert view.evaluate("bottom('.chart svg')") < FIRST_SCREEN


def test_nothing_is_wider_than_the_screen_and_wide_tables_scroll_in_their_box(view):
    view.evaluate("all('details').forEach((fold) => (fold.open = true))")
    width = view.evaluate("innerWidth")
    assert view.evaluate("document.documentElement.scrollWidth") <= width
    assert view.evaluate("Math.max(...all('.chart svg').map((svg) => svg.getBoundingClientRect().right))") <= width
    assert view.evaluate("all('.wide').every((box) => style(box).overflowX === 'auto' && box.tabIndex === 0)")


def test_everything_is_legible(view):
    """Contrast as WCAG AA asks for: 4.5 for text."""
    view.evaluate("all('details').forEach((fold) => (fold.open = true))")
    assert view.evaluate("least('p:not(.badge, .answer p), td, th, h1, dd, dt, figcaption, summary', 'color')") >= 4.5
    assert view.evaluate("least('.badge', 'color', (one) => style(one).backgroundColor)") >= 4.5
    assert view.evaluate("least('.chart svg text', 'fill')") >= 4.5
    ground = "(one) => style(one.parentElement).backgroundColor"
    assert view.evaluate(f"least('.token > b', 'color', {ground})") >= 4.5


def test_instances_are_picked_by_knob_and_outcome(browser, page):
    wide = show(browser, page, WIDE, "light")
    said = "document.querySelector('.tokenview').innerText"
    wide.evaluate("var [knob, outcome] = all('.tokenview select')")
    wide.evaluate("knob.value = '5'; knob.dispatchEvent(new Event('change'))")
    assert "N = 5; true answer" in wide.evaluate(said)
    wide.evaluate("outcome.value = 'wrong'; outcome.dispatchEvent(new Event('change'))")
    assert wide.evaluate("all('.strip p.bad').length") >= 1
    before = wide.evaluate("document.querySelector('.picker span').textContent")
    wide.evaluate("all('.picker button')[1].click()")
    assert wide.evaluate("document.querySelector('.picker span').textContent") != before


def test_two_runs_of_one_instance_stand_below_each_other_under_its_picture(browser, page):
    wide = show(browser, page, WIDE, "light")
    heads = "all('.strip > p').map((one) => one.textContent.split(' answers')[0])"
    assert wide.evaluate(heads) == ["anira-o", "fixed"]
    assert wide.evaluate("all('svg.problem rect').length") >= 2
    assert wide.evaluate("document.querySelector('svg.problem').getBoundingClientRect().right") <= WIDE
    wide.evaluate("var beside = all('.tokenview select')[3]; beside.value = 'none'")
    wide.evaluate("beside.dispatchEvent(new Event('change'))")
    assert wide.evaluate(heads) == ["anira-o"]


def test_a_click_in_the_legend_picks_a_run(browser, page):
    wide = show(browser, page, WIDE, "light")
    places = "all('.chart')[0].querySelectorAll('.role-legend-label text')[1].getBoundingClientRect()"
    x, y = (wide.evaluate(f"{places}.{axis}") + 3 for axis in ("x", "y"))
    lines = "[...all('.chart')[0].querySelectorAll('.mark-line path')].map((one) => one.getAttribute('opacity'))"
    assert wide.evaluate(lines) == ["1", "1"]
    wide.click(x, y)
    assert float(wide.evaluate(lines)[0]) < 0.1
    assert wide.evaluate(lines)[1] == "1"


def test_a_token_explains_itself_to_mouse_and_keyboard(browser, page):
    wide = show(browser, page, WIDE, "light")
    panel = "document.querySelector('.panel').innerText"
    assert wide.evaluate(panel).startswith("Point at a token")
    wide.evaluate("all('.tokens .token')[2].focus()")
    assert "position 2" in wide.evaluate(panel)
    wide.press("ArrowRight")
    assert "position 3" in wide.evaluate(panel)
    assert "exit probability" in wide.evaluate(panel)
    wide.press("Tab")
    assert wide.evaluate("document.activeElement.closest('.tokens') !== all('.tokens')[0]")
