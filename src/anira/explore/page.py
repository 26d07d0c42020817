"""The page of an explorer. One page, with a server or without: its script draws the data that stands in it."""

import base64
import hashlib
from collections.abc import Mapping
from typing import Any, Final

from markupsafe import Markup

from anira.site.html import data_script, environment, template_file

_PACKAGE: Final = "anira.explore"
_SITE: Final = "anira.site"


def render(state: Mapping[str, Any], *, live: bool = False) -> str:
    """Return the page of a state as HTML that needs nothing else; a live one asks its own server again."""
    script = _script()
    html = (
        environment(_PACKAGE)
        .get_template("explore.html")
        .render(
            live=live,
            task=state["task"],
            policy=content_policy(live=live),
            style=template_file(_SITE, "style.css") + template_file(_PACKAGE, "explore.css"),
            script=script,
            data=data_script({**state, "live": live}),
        )
    )
    return html.strip() + "\n"


def content_policy(*, live: bool) -> str:
    """Return what the page may do: run this one script, and ask its own server if it has one. Nothing else."""
    # What stands between the tags is what a browser takes the hash of, line ends included.
    digest = base64.b64encode(hashlib.sha256(f"\n{_script()}\n".encode()).digest()).decode()
    asks = "connect-src 'self'; " if live else ""
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; {asks}img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _script() -> Markup:
    return template_file(_SITE, "strips.js") + template_file(_PACKAGE, "explore.js").rstrip("\n")
