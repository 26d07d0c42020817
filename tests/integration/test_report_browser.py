"""The report in a real browser: nothing fetched, nothing wider than the screen, legible in light and in dark.

A script added to a copy of the page measures it and writes what it found into the document, which Chromium prints.
"""

import html
import io
import json
import os
import re
import shutil
import subprocess
from dataclasses import replace

import pytest
from PIL import Image
from tests.report_support import FakeRun, write_run

from anira.report import KnobWords, build, load_runs

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)
SCHEMES = {"dark": 0, "light": 1}  # as Chromium numbers them
WIDE, PHONE = 1280, 390
VIEWS = [(width, scheme) for width in (WIDE, PHONE) for scheme in SCHEMES]

COLLECT = """<script>
const trouble = [];
addEventListener("error", (event) => trouble.push(`error: ${event.message}`));
addEventListener("unhandledrejection", (event) => trouble.push(`rejection: ${event.reason}`));
addEventListener("securitypolicyviolation", (event) => trouble.push(`fetch: ${event.blockedURI}`));
for (const kind of ["error", "warn"]) console[kind] = (...words) => trouble.push(`${kind}: ${words.join(" ")}`);
</script>"""

MEASURE = """<script>
const root = document.documentElement;
const pixel = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d");
const rgb = (css) => {
  pixel.clearRect(0, 0, 1, 1);
  pixel.fillStyle = css;
  pixel.fillRect(0, 0, 1, 1);
  return [...pixel.getImageData(0, 0, 1, 1).data].slice(0, 3);
};
const light = (css) => {
  const [r, g, b] = rgb(css).map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const contrast = (one, other) => {
  const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
};
const all = (selector) => [...document.querySelectorAll(selector)];
const style = (element) => getComputedStyle(element);
const paper = style(document.body).backgroundColor;
const least = (selector, value, ground) =>
  Math.min(...all(selector).map((one) => contrast(value(style(one)), ground(one))));
const onPaper = () => paper;
const tips = all(".tokens .token").map((token) => {
  token.focus();
  const tip = token.querySelector(".tip"), box = tip.getBoundingClientRect(), own = token.getBoundingClientRect();
  return {
    shown: style(tip).display !== "none", left: box.left, right: box.right, gap: box.top - own.bottom,
    text: tip.innerText, width: root.scrollWidth, open: all(".token:focus").length,
  };
});
const strip = document.querySelector(".tokens"), first = strip.querySelector(".token");
first.focus();
const visit = (key) => {
  document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  return [...strip.children].indexOf(document.activeElement);
};
const found = {
  trouble,
  width: innerWidth,
  scrollWidth: root.scrollWidth,
  requests: performance.getEntriesByType("resource").map((entry) => entry.name),
  paper: rgb(paper),
  series: [1, 2].map((i) => rgb(style(root).getPropertyValue(`--series-${i}`))),
  text: least("p, li, td, th, h1, h2, h3, h4, dd, dt, figcaption, .why, summary", (s) => s.color, onPaper),
  figureText: least("figure text", (s) => s.fill, onPaper),
  figureLines: least("figure path[style*='series'], figure path[style*='knob']", (s) => s.stroke, onPaper),
  tokenText: least(".token > b, .token > small", (s) => s.color, (one) => style(one.parentElement).backgroundColor),
  smallestFigureText: Math.min(...all("figure text").map((text) => text.getBoundingClientRect().height)),
  figures: all("figure svg").map((svg) => svg.getBoundingClientRect().width),
  tops: all(".panels:first-of-type figure").slice(0, 2).map((figure) => figure.getBoundingClientRect().top),
  tips,
  tabStops: strip.querySelectorAll("[tabindex='0']").length,
  keys: ["ArrowRight", "ArrowRight", "ArrowLeft", "End", "Home"].map(visit),
};
document.body.innerHTML = "";
document.body.append(Object.assign(document.createElement("pre"), { id: "found", textContent: JSON.stringify(found) }));
</script>"""


@pytest.fixture(scope="module")
def browser():
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None and os.environ.get("ANIRA_REQUIRE_BROWSER") == "1":
        pytest.fail("ANIRA_REQUIRE_BROWSER is set, and there is no Chromium")
    if found is None:
        pytest.skip("no Chromium on this machine: the report is not looked at")
    return found


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A report with two tasks, three variants, unseen knobs, and long rows."""
    root = tmp_path_factory.mktemp("report")
    brevo = FakeRun(task="brevo", knobs=(2, 3, 4, 5, 6), count=20)
    mano = FakeRun(knobs=(1, 2, 3, 4, 5), count=20)
    fakes = [mano, replace(mano, variant="anira-e", slope=0.1), replace(mano, variant="fixed"), brevo]
    folders = [write_run(root, fake) for fake in fakes]
    knobs = {"mano": KnobWords("L", "operators in the expression"), "brevo": KnobWords("N", "nodes of the graph")}
    path = root / "report.html"
    path.write_text(build(load_runs(folders), knobs=knobs).html, encoding="utf-8")
    return path


def look(browser, page, tmp_path, width, scheme, *flags):
    """Open a page in a browser without a past; return what it prints."""
    profile = tmp_path / "profile"
    view = [f"--window-size={width},900", f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}"]
    command = [browser, *FLAGS, f"--user-data-dir={profile}", *view, *flags, page.as_uri()]
    done = subprocess.run(command, capture_output=True, timeout=120, check=True)
    shutil.rmtree(profile, ignore_errors=True)
    return done.stdout.decode()


@pytest.fixture(scope="module")
def measured(browser, page, tmp_path_factory):
    """What the page says about itself in each view."""
    folder = tmp_path_factory.mktemp("measured")
    copy, source = folder / "measured.html", page.read_text(encoding="utf-8")
    source = source.replace("<title>", f"{COLLECT}<title>", 1)
    copy.write_text(source.replace("</body>", f"{MEASURE}</body>"), encoding="utf-8")
    found = {}
    for width, scheme in VIEWS:
        printed = look(browser, copy, folder, width, scheme, "--dump-dom")
        (result,) = re.findall(r'<pre id="found">(.*?)</pre>', printed, flags=re.DOTALL)
        found[width, scheme] = json.loads(html.unescape(result))
    return found


@pytest.fixture(params=VIEWS, ids=lambda view: f"{view[0]}-{view[1]}")
def view(request, measured):
    assert measured[request.param]["width"] == request.param[0]
    return measured[request.param]


def test_the_page_has_no_errors_and_fetches_nothing(view):
    assert view["trouble"] == []
    assert view["requests"] == []


def test_the_page_is_never_wider_than_the_screen(view):
    assert view["scrollWidth"] <= view["width"]
    assert max(view["figures"]) <= view["width"]
    assert {tip["width"] for tip in view["tips"]} == {view["scrollWidth"]}


def test_panels_stand_side_by_side_where_there_is_room(measured):
    left, right = measured[WIDE, "light"]["tops"]
    assert left == right
    above, below = measured[PHONE, "light"]["tops"]
    assert above < below


def test_everything_is_legible(view):
    """Contrast as WCAG AA asks for: 4.5 for text, 3 for lines that carry meaning."""
    assert view["text"] >= 4.5
    assert view["figureText"] >= 4.5
    assert view["tokenText"] >= 4.5
    assert view["figureLines"] >= 3
    assert view["smallestFigureText"] >= 9


def test_the_page_follows_the_scheme(measured):
    assert min(measured[WIDE, "light"]["paper"]) > 240
    assert max(measured[WIDE, "dark"]["paper"]) < 40


def test_every_token_opens_its_tip_under_it_and_inside_the_screen(view):
    assert len(view["tips"]) > 100
    for tip in view["tips"]:
        assert tip["shown"]
        assert tip["open"] == 1
        assert 0 <= tip["left"] < tip["right"] <= view["width"]
        assert 0 < tip["gap"] < 20


def test_tips_hold_depth_probabilities_and_probes(view):
    texts = [" ".join(tip["text"].split()) for tip in view["tips"]]
    assert all(re.search(r"position \d+ depth \d of 4 expected depth \d\.\d\d", text) for text in texts)
    assert all("q(d)" in text for text in texts)
    assert any("stack depth" in text for text in texts)
    assert any("frontier ready" in text for text in texts)
    assert any(re.search(r"answer token predicted here .* (right|wrong)", text) for text in texts)


def test_the_keyboard_walks_along_a_strip_that_is_one_stop(view):
    assert view["tabStops"] == 1
    right, further, back, end, home = view["keys"]
    assert (right, further, back, home) == (1, 2, 1, 0)
    assert end > 2


@pytest.mark.parametrize(("width", "scheme"), [(WIDE, "light"), (PHONE, "dark")])
def test_what_is_painted_has_the_colours_of_the_scheme(browser, page, measured, tmp_path, width, scheme):
    shot = tmp_path / "shot.png"
    look(browser, page, tmp_path, width, scheme, f"--screenshot={shot}")
    picture = Image.open(io.BytesIO(shot.read_bytes())).convert("RGB")
    assert picture.size[0] == width
    colours = {colour: count for count, colour in picture.getcolors(picture.size[0] * picture.size[1])}
    expected = measured[width, scheme]
    assert max(colours, key=colours.__getitem__) == tuple(expected["paper"])
    assert all(colours.get(tuple(series), 0) > 20 for series in expected["series"])
