"""Small corpora on disk, and streams over them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from anira.text import TextConfig, TokenStream, load_tokenizer, open_shards
from anira.text.stream import Selection, Taken

BYTES = load_tokenizer("bytes")


def documents(count: int, seed: int = 0) -> list[str]:
    """Return documents of very different lengths, each with its number in it."""
    draw = np.random.default_rng(seed)
    return [f"<{i}> " + "ab\\n "[: int(draw.integers(1, 5))] * int(draw.integers(1, 12)) for i in range(count)]


def write_parquet(path: Path, texts: Sequence[Any], *, column: str = "text", group: int = 7) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.table({"id": [str(i) for i in range(len(texts))], column: list(texts)})
    pq.write_table(table, path, row_group_size=group)
    return path


def write_lines(path: Path, texts: Sequence[Any], *, column: str = "text") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps({"id": i, column: text}) + "\n" for i, text in enumerate(texts)))
    return path


def make_corpus(folder: Path, count: int = 60) -> list[str]:
    """Write documents into three shards of both kinds; return them in the order in which they are read."""
    texts = documents(count)
    write_parquet(folder / "a.parquet", texts[: count // 3])
    write_lines(folder / "b.jsonl", texts[count // 3 : count // 2])
    write_parquet(folder / "c.parquet", texts[count // 2 :], group=1000)
    return texts


def make_stream(folder: Path, *, text: dict[str, Any] | None = None, **options: Any) -> TokenStream:
    names = ("held_out", "want_held_out", "overlap")
    selection = Selection(**{name: options.pop(name) for name in names if name in options})
    shards = open_shards(TextConfig(data=str(folder), **(text or {})))
    return TokenStream(shards, BYTES, selection, **options)


def all_tokens(texts: Sequence[str]) -> np.ndarray:
    return np.concatenate(BYTES.encode(texts))


def same(one: Taken, other: Taken) -> bool:
    return np.array_equal(one.ids, other.ids) and np.array_equal(one.starts, other.starts)
