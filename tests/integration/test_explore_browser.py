"""The explorer in a real browser, served on loopback: edits, sliders, keys, comparison and export."""

import time

import pytest
from tests.explore_support import QUESTION, mano_run
from tests.integration.test_report_browser import PHONE, TOOLS, WIDE, browser
from tests.training_support import Child

__all__ = ["browser"]
pytestmark = pytest.mark.slow
DRAWN = "all('.run .said').length === 2 && !all('.waiting').length"
_PATIENCE = 60.0  # seconds; only a page that is broken takes more than a few


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """Where an explorer of two runs listens."""
    root = tmp_path_factory.mktemp("explore")
    runs = [mano_run(root, policy) for policy in ("anira-o", "fixed")]
    child = Child(root, "explore", *runs, "--question", QUESTION, "--port", 0)
    child.wait_for_line(root / "stderr")
    yield child.out.strip()
    child.kill()


@pytest.fixture(params=[(WIDE, "light"), (PHONE, "dark")], ids=["wide-light", "phone-dark"])
def view(request, browser, address):  # a fixture
    """The browser with the explorer open, all answers drawn."""
    width, scheme = request.param
    browser.open(address, width=width, scheme=scheme)
    browser.evaluate(TOOLS)
    until(browser, DRAWN)
    return browser


def until(browser, expression):
    """Wait until something is true in the page, and return what it is."""
    deadline = time.monotonic() + _PATIENCE
    while not (found := browser.evaluate(expression)):
        assert time.monotonic() < deadline, f"{expression}: {browser.evaluate('document.body.innerText')}"
        time.sleep(0.05)
    return found


def change(browser, selector, value, event):
    """Give a control a value, and let the page know."""
    browser.evaluate(
        f"(() => {{ const one = document.querySelector({selector!r}); one.value = {value!r}; "
        f"one.dispatchEvent(new Event({event!r}, {{ bubbles: true }})); }})()"
    )


def no_faults(view, address):
    assert view.seen("Runtime.exceptionThrown") == []
    assert [event for event in view.seen("Log.entryAdded") if event["entry"]["level"] == "error"] == []
    requests = {request["request"]["url"] for request in view.seen("Network.requestWillBeSent")}
    assert all(url.startswith((address, "data:,", "blob:")) for url in requests), requests


def test_it_fits_the_screen_is_legible_and_every_control_has_a_name(view, address):
    assert view.evaluate("document.documentElement.scrollWidth") <= view.evaluate("innerWidth")
    assert view.evaluate("least('p, h1, h2, h3, label, td, th', 'color')") >= 4.5
    ground = "(one) => style(one.parentElement).backgroundColor"
    assert view.evaluate(f"least('.token > *', 'color', {ground})") >= 4.5
    change(view, ".run select", "quantile", "change")  # with its slider
    until(view, DRAWN)
    shown = "all('input, select, textarea, button').filter((one) => one.offsetParent)"
    assert view.evaluate(f"{shown}.length") >= 10
    unnamed = f"{shown}.filter((one) => !(one.ariaLabel || one.labels?.length || one.innerText))"
    assert view.evaluate(f"{unnamed}.length") == 0
    no_faults(view, address)


def test_a_question_is_changed_and_a_mistake_is_one_line(view, address):
    change(view, "#question", "* 2 3", "input")
    until(view, "document.querySelector('#truth').innerText.includes('(L = 1, typed by hand)')")
    until(view, "all('.tokens').every((one) => one.children.length === 5)")
    until(view, DRAWN)
    change(view, "#question", "* 2 <b>x</b>", "input")
    mistake = until(view, "document.querySelector('#mistake').innerText")
    assert mistake.startswith("unknown token '<b>x</b>'")
    assert view.evaluate("all('#mistake b').length") == 0


def test_the_slider_decodes_again_and_the_other_run_stays(view, address):
    said = "all('.cost').map((one) => one.innerText)"
    change(view, ".run select", "quantile", "change")
    until(view, DRAWN)
    view.evaluate("all('.run input[type=range]')[0].focus()")
    view.press("Home")
    low = until(view, f"{DRAWN} && all('.run input[type=number]')[0].value === '0.05' && {said}")
    view.press("End")
    high = until(view, f"{DRAWN} && {said}[0] !== {low[0]!r} && {said}")
    assert float(low[0].split()[0]) < float(high[0].split()[0])
    assert low[1] == high[1]
    no_faults(view, address)


def test_arrows_move_over_the_tokens_of_all_runs_at_once(view):
    view.evaluate("all('.tokens')[0].children[0].focus()")
    view.press("ArrowRight")
    panels = "all('.panel').map((one) => one.innerText)"
    assert all("position 1" in text for text in view.evaluate(panels))
    assert "exit probability" in view.evaluate(panels)[0]
    view.press("End")
    assert all("says after it" in text for text in view.evaluate(panels))
    assert view.evaluate("style(document.activeElement).outlineStyle") == "solid"
    view.press("Tab")
    assert view.evaluate("document.activeElement.closest('.tokens') !== all('.tokens')[0]")


def test_rows_are_picked_with_buttons_and_by_number(view, address):
    press = "all('#picker button').find((one) => one.innerText === {!r}).click()"
    change(view, "#picker input", "3", "change")  # the knob
    until(view, "document.querySelector('#truth').innerText.includes('(L = 3, row 0 ')")
    first = view.evaluate("document.querySelector('#question').value")
    view.evaluate(press.format("next"))
    until(view, "document.querySelector('#truth').innerText.includes('row 1 ')")
    assert view.evaluate("document.querySelector('#question').value") != first
    view.evaluate(press.format("previous"))
    until(view, f"document.querySelector('#question').value === {first!r}")
    view.evaluate(press.format("random"))
    until(view, f"document.querySelector('#question').value !== {first!r} && {DRAWN}")
    assert view.evaluate("all('#picture rect').length") == 7
    no_faults(view, address)


def test_the_page_is_saved_and_shows_the_same_without_a_server(view, address, tmp_path):
    change(view, "#question", "* 2 3", "input")
    until(view, "document.querySelector('#truth').innerText.includes('(L = 1,')")
    until(view, f"all('.tokens')[0].children.length === 5 && {DRAWN}")
    change(view, ".run select", "forced depth", "change")
    until(view, DRAWN)
    shown = "all('.said, .cost, .tokens').map((one) => one.innerText)"
    until(view, "all('.run')[0].querySelector('.cost').innerText.startsWith('3 of 3')")
    expected, width = view.evaluate(shown), view.evaluate("innerWidth")
    view.call("Page.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    view.evaluate("document.querySelector('#export').click()")
    until(view, "document.querySelector('#saved').innerText === 'saved as explore-mano.html'")
    page = tmp_path / "explore-mano.html"
    while not page.is_file():
        time.sleep(0.05)
    no_faults(view, address)
    view.open(page, width=width, scheme="light")
    view.evaluate(TOOLS)
    assert view.evaluate(shown) == expected
    assert "depth forced to 3" in view.evaluate("all('.run')[0].innerText")
    assert view.evaluate("all('textarea, select, input, button').length") == 0
    assert view.evaluate("document.documentElement.scrollWidth") <= width
    no_faults(view, page.as_uri())
