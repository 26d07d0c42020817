"""Opening tables: by their names as they are."""

from pathlib import Path

import polars as pl


def open_tables(*paths: Path) -> pl.LazyFrame:
    """Return Parquet files of one kind as one table, not yet read.

    polars reads patterns in names, and takes a folder called ~ for the user's own: neither is meant here.
    """
    return pl.scan_parquet([path.absolute() for path in paths], glob=False)
