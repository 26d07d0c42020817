"""Equations: a fence called `math` becomes MathML, which browsers draw without a script."""

from typing import Any

from latex2mathml.converter import convert


def equation(source: str, *_: Any, **__: Any) -> str:
    """Return an equation in LaTeX as MathML; the arguments are those that superfences gives.

    >>> "<mi>D</mi>" in equation("d = D")
    True
    """
    return f'<div class="math">{convert(source.strip(), display="block")}</div>'
