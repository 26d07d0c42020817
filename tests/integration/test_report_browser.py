"""The report in a real browser: nothing fetched, nothing wider than the screen, legible in light and in dark."""

import io
import os
import re
from dataclasses import replace

import pytest
from PIL import Image
from tests.browser_support import Browser, find_browser
from tests.report_support import FakeRun, write_run

from anira.site.report.about import KnobWords
from anira.site.report.page import build
from anira.site.report.runs import load_runs

pytestmark = pytest.mark.slow

WIDE, PHONE = 1280, 390
VIEWS = [(width, scheme) for width in (WIDE, PHONE) for scheme in ("light", "dark")]

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
var token = (n) => all(".tokens .token")[n];
var shown = () => all(".tokens .token").flatMap((one, n) => (style(one.lastChild).display === "none" ? [] : [n]));
var open = (one) => {
  one.focus();
  const { left, right, top } = one.lastChild.getBoundingClientRect();
  const gap = top - one.getBoundingClientRect().bottom;
  return { shown: shown(), left, right, gap, scroll: document.documentElement.scrollWidth };
};
var middle = (one) => {
  one.scrollIntoView({ block: "center" });
  const box = one.getBoundingClientRect();
  return [box.left + box.width / 2, box.top + box.height / 2];
};
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
    """A report with two tasks, three variants, unseen knobs and rows longer than a phone is wide."""
    root = tmp_path_factory.mktemp("report")
    brevo = FakeRun(task="brevo", knobs=(2, 3, 4, 5, 6), count=20)
    mano = FakeRun(knobs=(1, 2, 3, 4, 5), count=20)
    fakes = [mano, replace(mano, variant="anira-e", slope=0.1), replace(mano, variant="fixed"), brevo]
    folders = [write_run(root, fake) for fake in fakes]
    knobs = {"mano": KnobWords("L", "operators in the expression"), "brevo": KnobWords("N", "nodes of the graph")}
    path = root / "report.html"
    path.write_text(build(load_runs(folders), knobs=knobs).html, encoding="utf-8")
    return path


def show(browser, page, width, scheme, *, scripts=True):
    browser.open(page, width=width, scheme=scheme, scripts=scripts)
    browser.evaluate(TOOLS)
    assert browser.evaluate("innerWidth") == width
    return browser


@pytest.fixture(params=VIEWS, ids=lambda view: f"{view[0]}-{view[1]}")
def view(request, browser, page):
    """The browser with the page open at one width, in one scheme."""
    return show(browser, page, *request.param)


@pytest.fixture
def wide(browser, page):
    return show(browser, page, WIDE, "light")


@pytest.fixture
def phone(browser, page):
    return show(browser, page, PHONE, "light")


def test_the_page_has_no_errors_and_fetches_nothing(view, page):
    assert view.seen("Runtime.exceptionThrown") == []
    assert view.seen("Runtime.consoleAPICalled") == []
    assert view.seen("Log.entryAdded") == []
    requests = {request["request"]["url"] for request in view.seen("Network.requestWillBeSent")}
    assert requests <= {page.as_uri(), "data:,"}


def test_the_page_is_never_wider_than_the_screen(view):
    width = view.evaluate("innerWidth")
    assert view.evaluate("document.documentElement.scrollWidth") <= width
    assert view.evaluate("Math.max(...all('figure svg').map((svg) => svg.getBoundingClientRect().right))") <= width


def test_wide_tables_scroll_inside_their_box(phone):
    assert phone.evaluate("all('.scroll').some((box) => box.scrollWidth > box.clientWidth)")
    assert phone.evaluate("all('.scroll').every((box) => style(box).overflowX === 'auto' && box.tabIndex === 0)")


def test_panels_stand_side_by_side_where_there_is_room(browser, page):
    tops = "all('.panels:first-of-type figure').slice(0, 2).map((figure) => figure.getBoundingClientRect().top)"
    left, right = show(browser, page, WIDE, "light").evaluate(tops)
    assert left == right
    above, below = show(browser, page, PHONE, "light").evaluate(tops)
    assert above < below


def test_everything_is_legible(view):
    """Contrast as WCAG AA asks for: 4.5 for text, 3 for lines that carry meaning."""
    assert view.evaluate("least('p, li, td, th, h1, h2, h3, h4, dd, dt, figcaption, .why, summary', 'color')") >= 4.5
    assert view.evaluate("least('figure text', 'fill')") >= 4.5
    assert view.evaluate("least('figure path[style*=series], figure path[style*=knob]', 'stroke')") >= 3
    ground = "(one) => style(one.parentElement).backgroundColor"
    assert view.evaluate(f"least('.token > b, .token > small', 'color', {ground})") >= 4.5
    assert view.evaluate("Math.min(...all('figure text').map((text) => text.getBoundingClientRect().height))") >= 10


@pytest.mark.parametrize(("width", "scheme"), VIEWS)
def test_what_is_painted_has_the_colours_of_the_scheme(browser, page, width, scheme):
    shown = show(browser, page, width, scheme)
    paper = tuple(shown.evaluate("rgb(paper)"))
    series = [tuple(shown.evaluate(f"rgb(style(document.body).getPropertyValue('--series-{i}'))")) for i in (1, 2)]
    assert min(paper) > 240 if scheme == "light" else max(paper) < 40
    shown.evaluate("document.querySelector('figure').scrollIntoView()")
    picture = Image.open(io.BytesIO(shown.screenshot())).convert("RGB")
    colours = {colour: count for count, colour in picture.getcolors(picture.width * picture.height)}
    assert picture.width == width
    assert max(colours, key=colours.__getitem__) == paper
    assert all(colours.get(colour, 0) > 20 for colour in series)


def test_every_token_opens_its_tip_under_it_and_inside_the_screen(view):
    width, scroll = view.evaluate("[innerWidth, document.documentElement.scrollWidth]")
    tips = view.evaluate("all('.tokens .token').map(open)")
    assert len(tips) > 100
    for number, tip in enumerate(tips):
        assert tip["shown"] == [number]
        assert 0 <= tip["left"] < tip["right"] <= width
        assert 0 < tip["gap"] < 20
        assert tip["scroll"] == scroll


def test_tips_hold_depth_probabilities_and_probes(wide):
    texts = wide.evaluate("all('.tokens .token').map((one) => (one.focus(), one.lastChild.innerText))")
    texts = [" ".join(text.split()) for text in texts]
    assert all(re.search(r"position \d+ depth \d of 4 expected depth \d\.\d\d", text) for text in texts)
    assert all("q(d) 1 2 3 4" in text for text in texts)
    assert any("stack depth" in text for text in texts)
    assert any("frontier ready" in text for text in texts)
    assert any(re.search(r"answer token predicted here \S+ (right|wrong)", text) for text in texts)


@pytest.mark.parametrize("scripts", [True, False])
def test_the_mouse_opens_a_tip_with_and_without_scripts(browser, page, scripts):
    wide = show(browser, page, WIDE, "light", scripts=scripts)
    for number in (3, 5):
        wide.point(*wide.evaluate(f"middle(token({number}))"))
        assert wide.evaluate("shown()") == [number]


def test_the_mouse_wins_over_the_keyboard(wide):
    wide.evaluate("token(1).focus()")
    assert wide.evaluate("shown()") == [1]
    wide.point(*wide.evaluate("middle(token(2))"))
    assert wide.evaluate("shown()") == [2]


def test_a_tap_opens_a_tip_on_a_phone(phone):
    for number in (2, 4):
        phone.tap(*phone.evaluate(f"middle(token({number}))"))
        assert phone.evaluate("shown()") == [number]


def test_the_keyboard_walks_along_a_strip_that_is_one_stop(wide):
    length = wide.evaluate("token(0).parentElement.children.length")
    wide.evaluate("token(0).focus()")
    places = []
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "End", "ArrowRight", "Home", "Tab"):
        wide.press(key)
        places += wide.evaluate("shown()")
    assert places == [1, 2, 1, length - 1, length - 1, 0, length]
    wide.press("Escape")
    assert wide.evaluate("shown()") == []


def test_without_scripts_every_token_is_a_stop(browser, page):
    plain = show(browser, page, WIDE, "light", scripts=False)
    plain.evaluate("token(0).focus()")
    plain.press("Tab")
    assert plain.evaluate("shown()") == [1]
