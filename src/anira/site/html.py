"""What every page is made of: templates whose values are escaped, and styles, scripts and data that stand in them."""

from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from anira.config import json_text, printable


@cache
def environment(package: str) -> Environment:
    """Return the templates of a package. What is put into them is escaped, and printable."""
    return Environment(
        loader=PackageLoader(package),
        autoescape=True,
        finalize=_printable,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def template_file(package: str, name: str) -> Markup:
    """Return a style or a script of a package as it stands."""
    return Markup(resources.files(package).joinpath("templates", name).read_text())


def in_script(text: str) -> Markup:
    """Return JSON so that no text in it can end the element around it.

    >>> print(in_script('"</script>"'))
    "\\u003c/script>"
    """
    return Markup(text.replace("<", "\\u003c"))


def data_script(data: Mapping[str, Any]) -> Markup:
    """Return data for a script of the page, every text in it printable."""
    return in_script(json_text(plain(data)))


def plain(value: Any) -> Any:
    """Return nested data with every text printable."""
    if isinstance(value, Mapping):
        return {printable(str(name)): plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return printable(value) if isinstance(value, str) else value


def _printable(value: Any) -> Any:
    # Without this, names from elsewhere could turn the direction in which the page around them reads.
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value
