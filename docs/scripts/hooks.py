"""What the documentation site adds to mkdocs: numbers and charts from `results/`, equations, and a patient navigation.

In a page, `{{ name(...) }}` calls one of `MACROS`; a fence called `math` becomes MathML, which needs no script.
"""

import logging
import re
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, StrictUndefined
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from docs.scripts import charts, numbers
from docs.scripts.commands import commands

ROOT: Final = Path(__file__).parents[2]
MACROS: Final = {
    "chart": charts.chart,
    "claims": numbers.claims,
    "commands": commands,
    "estimate": numbers.estimate,
    "evidence": numbers.evidence,
    "leaderboard": numbers.leaderboard,
    "policy": numbers.policy,
    "rule": numbers.rule,
    "verdict": numbers.verdict,
}
COPIED: Final = {"contributing.md": "CONTRIBUTING.md", "changelog.md": "CHANGELOG.md"}
"""Pages that are files of the repository's root."""
_MACRO = re.compile(r"\{\{ (.+?) \}\}")
_OUTSIDE = re.compile(r"\[([^\]]+)\]\(\.\./[^)]+\)")
"""A link to a file of the repository, which has no address in the site."""
_DOCS = re.compile(r"`docs/([\w-]+\.md)`")
_UNBUILT = re.compile(r"^> Not built yet: .*\n\n?", re.MULTILINE)
"""What a page says to those who read its source."""
_log = logging.getLogger("mkdocs.hooks.anira")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Leave entries of the navigation out whose pages are not there."""
    folder = Path(config.docs_dir)

    def known(entry: Any) -> Any:
        if isinstance(entry, dict):
            kept = {name: known(below) for name, below in entry.items()}
            return {name: below for name, below in kept.items() if below}
        if isinstance(entry, list):
            return [one for one in map(known, entry) if one]
        if (folder / entry).is_file() or entry in COPIED:
            return entry
        _log.info("%s is not there: left out of the navigation", entry)
        return None

    config.nav = known(config.nav)
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are files of the repository's root."""
    for page, source in COPIED.items():
        text = _DOCS.sub(r"[\1](\1)", (ROOT / source).read_text())
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Resolve macros, drop what the source alone says, and keep only the text of links that lead out of the site."""
    environment = Environment(undefined=StrictUndefined, autoescape=False)
    environment.globals |= MACROS

    def called(found: re.Match[str]) -> str:
        value = environment.compile_expression(found[1], undefined_to_none=False)()
        if not isinstance(value, str):
            raise ValueError(f"{page.file.src_uri}: {found[0]} is no text")
        return value

    return _OUTSIDE.sub(_inside, _MACRO.sub(called, _UNBUILT.sub("", markdown)))


def _inside(found: re.Match[str]) -> str:
    return found[0] if (ROOT / "docs" / found[0].split("(../")[1].split("#")[0].rstrip(")")).exists() else found[1]
