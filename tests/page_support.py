"""What every page must be: well formed, and in need of nothing else."""

import re
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "hr", "img", "input"}


class _Balance(HTMLParser):
    """Keeps the elements that are open; closing another one is an error."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        """An element that is closed where it opens, as in SVG."""

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> at {self.getpos()} closes another element"


def check_page(page):
    """Fail unless a page is well formed and neither runs scripts nor points anywhere but beside itself."""
    parser = _Balance()
    parser.feed(page)
    parser.close()
    assert not parser.open
    assert "<script" not in page
    elsewhere = [place for place in re.findall(r'(?:src|href)="([^"]*)"', page) if not _beside(place)]
    assert not elsewhere


def _beside(place):
    return place.startswith(("#", "data:,")) or re.fullmatch(r"[\w.-]+\.(html|csv|json)", place)
