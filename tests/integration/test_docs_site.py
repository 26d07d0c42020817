"""The documentation site: it is built strictly, asks nothing of the network, and waits for pages that are to come."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config

from docs.scripts import hooks
from docs.scripts.equations import equation
from docs.scripts.task_pictures import TASKS

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build the site; a warning (a dead link, a missing anchor, a page that is in no navigation) is an error."""
    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        patch.setenv("NO_MKDOCS_2_WARNING", "1")
        config = load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder), strict=True)
        config.plugins.on_startup(command="build", dirty=False)
        build(config)
    return folder


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_site_is_built_and_asks_nothing_of_the_network(site):
    pages = {path.relative_to(site).as_posix(): path.read_text() for path in site.rglob("*.html")}
    assert {"index.html", "gallery.html", "mechanisms.html", "reference.html", "contributing.html"} <= set(pages)
    asked = r'<(?:script|img|iframe|link rel="(?:stylesheet|preconnect)")[^>]*(?:src|href)="(?:https?:)?//'
    assert not [name for name, page in pages.items() if re.search(asked, page)]
    assert not [name for name, page in pages.items() if "{{ " in page]
    assert pages["gallery.html"].count("<svg") > 8
    assert pages["mechanisms.html"].count("<math") >= 14
    assert (site / "search" / "search_index.js").is_file()


def test_pages_that_are_to_come_are_left_out_of_the_navigation(tmp_path):
    (tmp_path / "here.md").write_text("# Here")
    config = SimpleNamespace(docs_dir=str(tmp_path), nav=[{"Start": ["here.md", "soon.md"]}, {"Later": ["soon.md"]}])
    assert hooks.on_config(config).nav == [{"Start": ["here.md"]}]


def test_links_that_lead_out_of_the_site_keep_their_text():
    page = SimpleNamespace(file=SimpleNamespace(src_uri="results.md"))
    text = "in [`results/`](../results), [a guide](../guide.md) and [this](x.md)"
    assert hooks.on_page_markdown(text, page, None, None) == "in `results/`, [a guide](../guide.md) and [this](x.md)"


def test_what_is_for_readers_of_the_source_is_not_on_the_site():
    page = SimpleNamespace(file=SimpleNamespace(src_uri="gallery.md"))
    text = "# Gallery\n\n> Not built yet: run `make docs`.\n\nA chart."
    assert hooks.on_page_markdown(text, page, None, None) == "# Gallery\n\nA chart."


def test_the_pictures_of_tasks_are_those_that_the_tasks_draw():
    for name, draw in TASKS.items():
        assert (ROOT / "docs" / "images" / "tasks" / f"{name}.svg").read_text() == draw(), "run `make images`"


def test_an_equation_needs_no_script():
    assert equation(r"q \propto b^{-d}").startswith('<div class="math"><math')
