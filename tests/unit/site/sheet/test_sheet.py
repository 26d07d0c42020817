"""A sheet: what is given stands on the page and in the text, and what is not leaves no trace."""

import re

from tests.page_support import check_page

from anira.site.drawing.style import styles
from anira.site.sheet.sheet import Section, Sheet, Table, sheet_page, sheet_text

LOOKS = styles({"anira-e, seed 0": "anira-e, <b>", "anira-e, seed 1": "anira-e, <b>"})
ROWS = [{"L": "1", "depth": "2.49 <i>"}, {"L": "2", "depth": "3.20"}]


def sheet(*sections):
    runs = [{"label": "anira-e, <b>", "step": "9,000", "run": "mano/x-s0"}]
    return Sheet(name="brevo-regression", title="Depth & size", runs=runs, sections=sections)


def test_everything_given_is_shown():
    section = Section(
        title="MANO",
        text=["First <p>."],
        looks=LOOKS,
        panels=['<svg viewBox="0 0 1 1"><g/></svg>'],
        tables=[Table("by L", ROWS), Table("more", [{"x": "y"}], folded=True)],
        below="Bars are intervals.",
    )
    page = sheet_page(sheet(section))
    for text in ("Depth &amp; size", "First &lt;p&gt;.", "2.49 &lt;i&gt;", "Bars are intervals.", "9,000", "mano/x-s0"):
        assert text in page
    assert '<svg viewBox="0 0 1 1"><g/></svg>' in page
    assert page.count("</svg>anira-e, &lt;b&gt;</li>") == 1, "an entry of the legend, for both seeds"
    assert re.search(r"<details>\s*<summary>more</summary>", page)
    check_page(page)


def test_what_is_empty_leaves_nothing():
    page = sheet_page(sheet(Section(title="Nothing", looks=LOOKS, tables=[Table("none", [])])))
    for word in ('class="legend"', 'class="panels"', "<figure>", 'class="quiet"', 'aria-label="none"'):
        assert word not in page
    assert "<summary>The 1 run behind this page</summary>" in page


def test_the_text_has_the_tables_that_are_not_folded():
    folded = Table("more", [{"x": "y"}], folded=True)
    text = sheet_text(sheet(Section(title="MANO", tables=[Table("by L", ROWS), folded]), Section(title="Empty")))
    assert text.splitlines()[0] == "MANO"
    assert "3.20" in text
    assert "Empty" not in text
    assert "y" not in text
