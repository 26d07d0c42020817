"""Every kind of page in a real browser: the answer on the first screen, tables in their box, axes with titles."""

import json
import re

import altair as alt
import pytest
from tests.integration.test_report_browser import FIRST_SCREEN, PHONE, WIDE, browser, show
from tests.pages_support import write_pages

__all__ = ["browser"]
pytestmark = pytest.mark.slow
LARGEST = 2_000_000  # bytes


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    return write_pages(tmp_path_factory.mktemp("pages"))


def test_every_page_is_light(pages):
    assert {name: path.stat().st_size for name, path in pages.items() if path.stat().st_size > LARGEST} == {}


def test_every_chart_is_one_of_vega_lite(pages):
    """Pages leave Altair's check out, which takes longer than all the rest; here it is made."""
    found = [
        re.search(r'<script type="application/json" id="specs">(.*?)</script>', path.read_text())
        for path in pages.values()
    ]
    charts = [spec for one in found if one for spec in json.loads(one[1]).values()]
    assert len(charts) > 50
    for spec in charts:
        alt.Chart.from_dict(spec)


# What is wrong with a page, in one call: a browser answers slowly, and there are many pages.
FAULTS = """(() => {
  const faults = [], say = (...facts) => faults.push(facts.join(' '));
  const box = (one) => one.getBoundingClientRect(), page = document.documentElement;
  const answer = [...all('.badge, .answer p'), ...all('.answer + figure .chart svg')];
  const low = Math.max(...answer.map((one) => box(one).bottom));
  if (low > %d) say('the answer reaches down to', Math.round(low));
  if (!all('.answer p:not(.badge)').length) say('no sentence');
  all('details').forEach((fold) => (fold.open = true));
  const check = () => {
    if (page.scrollWidth > innerWidth) say('the page is', page.scrollWidth, 'wide');
    for (const one of all('.wide')) {
      if (box(one).right > box(one.parentElement).right + 1) say('a table leaves its box:', one.ariaLabel);
      if (style(one).overflowX !== 'auto') say('a table does not scroll:', one.ariaLabel);
    }
    for (const place of all('.chart')) {
      const name = place.dataset.chart, axes = [...place.querySelectorAll('.role-axis[aria-label]')];
      const has = (axis, part) => axes.some((one) => one.ariaLabel.startsWith(axis) && one.querySelector(part));
      if (!axes.length) say('not drawn:', name);
      else if (box(place.querySelector('svg')).right > innerWidth) say('too wide:', name);
      if (axes.length && !has('X', '.role-axis-title text')) say('no title under the x axis:', name);
      if (axes.length && !has('Y', '.role-axis-title text, .role-axis-label text')) say('no y axis:', name);
    }
    if (least('.chart svg text', 'fill') < 4.5) say('the text of a chart is hard to read');
  };
  return new Promise((done) => setTimeout(() => done(check() ?? faults), 300));
})()"""


@pytest.mark.parametrize(("width", "scheme"), [(WIDE, "light"), (PHONE, "dark")])
def test_every_page_answers_on_the_first_screen_and_fits_it(browser, pages, width, scheme):  # a fixture
    faults = {}
    for name, path in pages.items():
        view = show(browser, path, width, scheme)
        found = view.evaluate(FAULTS % FIRST_SCREEN)
        errors = [event["exceptionDetails"]["text"] for event in view.seen("Runtime.exceptionThrown")]
        if found or errors:
            faults[name] = [*found, *errors]
    assert faults == {}
