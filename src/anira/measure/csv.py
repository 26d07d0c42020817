"""The one way in which a table becomes CSV."""

from typing import Final

import polars as pl

_FORMULA: Final = r"(?s)^[=+\-@\t\r\n]."
_NUMBER: Final = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


def csv_text(table: pl.DataFrame) -> str:
    """Return a table as CSV; lists become words with spaces between.

    A spreadsheet runs text that begins like a formula. Here such text gets an apostrophe, which spreadsheets take for
    "this is text"; numbers stay numbers.

    >>> csv_text(pl.DataFrame({"label": ["=1+1", "-0.5", "-", "a"], "depth": [-1.5, 2.0, 0.0, 1.0]})).split()
    ['label,depth', "'=1+1,-1.5", '-0.5,2.0', '-,0.0', 'a,1.0']
    """
    lists = [name for name, kind in table.schema.items() if isinstance(kind, pl.List)]
    flat = table.with_columns(pl.col(name).cast(pl.List(pl.String)).list.join(" ") for name in lists)
    texts = [name for name, kind in flat.schema.items() if kind == pl.String]
    return flat.with_columns(_harmless(pl.col(name)).alias(name) for name in texts).write_csv()


def _harmless(text: pl.Expr) -> pl.Expr:
    formula = text.str.contains(_FORMULA) & ~text.str.contains(_NUMBER)
    return pl.when(formula).then(pl.concat_str(pl.lit("'"), text)).otherwise(text)
