"""Speed of reading text: a synthetic corpus through reading, filtering, tokenising and packing, in one thread."""

import multiprocessing
import os
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from anira.config.machine import check_room, machine

ROW: Final = 4096
"""Tokens of a packed row."""
_MEAN: Final = 4000  # bytes of a document: about that of web pages of mathematics
_FRESH: Final = 16 << 20  # bytes of which documents are slices
_VOCABULARY: Final = 8192
_ITEMS: Final = 5000  # of the evaluation set, as many as GSM-Symbolic's Main has


def bench(*, megabytes: int, report: Callable[[str], None]) -> dict[str, Any]:
    """Measure everything; `report` is told what comes next. The corpus is removed at the end."""
    check_room(megabytes * 1e6, f"--megabytes {megabytes}")
    with tempfile.TemporaryDirectory(prefix="anira-bench-") as folder:
        root = Path(folder)
        report(f"{megabytes} MB of synthetic text, and a tokenizer of {_VOCABULARY} tokens: making them")
        words = _make_corpus(root / "data", megabytes)
        _make_tokenizer(root / "tokenizer", words)
        # A process of its own, so that its memory is that of reading alone.
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            figures = []
            for what in ("reading", "reading, tokenising and packing"):
                report(what)
                figures.append(pool.apply(_measured, [root, what]))
        return {
            "machine": machine(),
            "time": "CPU time of one thread",
            "figures": figures,
            "filter": _filter_speed(words),
        }


def _measured(root: Path, what: str) -> dict[str, Any]:
    """Go through the corpus once; return rates by CPU time and by the clock, and the most memory ever taken."""
    os.environ.update(RAYON_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false")
    from anira.text import TextConfig, TokenStream, load_tokenizer, open_shards
    from anira.text.stream import Selection

    shards = open_shards(TextConfig(data=str(root / "data")))
    tokenizer = load_tokenizer(str(root / "tokenizer"))
    before, started, clock = _peak(), time.process_time(), time.perf_counter()
    tokens = size = 0
    if what == "reading":
        size = sum(len(row.cell) for shard in shards for row in shard.rows())
    else:
        stream = TokenStream(shards, tokenizer, Selection())
        while len(taken := stream.take(32 * ROW, once=True).ids):
            tokens += len(taken)
        size = sum(int(name) for name in (file.name.split("-")[1] for file in (root / "data").iterdir()))
    seconds, waited = time.process_time() - started, time.perf_counter() - clock
    return {
        "what": what,
        "bytes": size,
        "tokens": tokens,
        "cpu_seconds": seconds,
        "seconds": waited,
        "megabytes_per_cpu_second": size / 1e6 / seconds,
        "tokens_per_cpu_second": tokens / seconds,
        "peak_bytes": _peak(),
        "peak_bytes_before": before,
    }


def _filter_speed(words: str) -> dict[str, Any]:
    """Return how fast the overlap filter goes over documents, of which none overlaps."""
    from anira.text.overlap import OverlapFilter

    draw = np.random.default_rng(1)
    items = [" ".join(f"x{n}" for n in draw.integers(0, 5000, 60)) for _ in range(_ITEMS)]
    seen = OverlapFilter(items, words=13)
    texts = [words[start : start + _MEAN] for start in range(0, min(len(words), 8 << 20), _MEAN)]
    started = time.process_time()
    found = sum(map(seen.overlaps, texts))
    return {"megabytes_per_cpu_second": sum(map(len, texts)) / 1e6 / (time.process_time() - started), "found": found}


def _make_corpus(folder: Path, megabytes: int) -> str:
    """Write one shard, whose name ends in its bytes of text; return what its documents are slices of."""
    import pyarrow
    import pyarrow.parquet

    folder.mkdir()
    draw, words = np.random.default_rng(0), _words()
    schema, part, written = pyarrow.schema([("text", pyarrow.string())]), folder / "part", 0
    with pyarrow.parquet.ParquetWriter(part, schema) as writer:
        for texts in _documents(draw, words, megabytes * 10**6):
            writer.write_table(pyarrow.table({"text": texts}, schema), row_group_size=len(texts))
            written += sum(map(len, texts))
    part.rename(folder / f"part-{written}-.parquet")
    return words


def _documents(draw: np.random.Generator, words: str, size: int) -> Iterator[list[str]]:
    """Yield groups of documents, log-normal in length, until there are so many bytes."""
    while size > 0:
        lengths = np.minimum(draw.lognormal(np.log(_MEAN) - 0.5, 1.0, 5000).astype(int) + 1, _FRESH // 2)
        starts = draw.integers(0, len(words) - lengths)
        texts = [words[start : start + length] for start, length in zip(starts, lengths, strict=True)]
        size -= int(lengths.sum())
        yield texts


def _words() -> str:
    """Return words of random letters, frequent and rare as in language (by Zipf's law), with some numbers."""
    draw = np.random.default_rng(0)
    letters = np.array(list("etaoinshrdlucmfwypvbgkjqxz"))
    shares = 1 / np.arange(1, 27)
    known = ["".join(draw.choice(letters, draw.integers(1, 11), p=shares / shares.sum())) for _ in range(50_000)]
    known[100::50] = [str(n) for n in range(len(known[100::50]))]
    ranks = 1 / np.arange(1, len(known) + 1)
    chosen = draw.choice(len(known), _FRESH // 5, p=ranks / ranks.sum())
    return " ".join(known[i] for i in chosen)


def _make_tokenizer(folder: Path, words: str) -> None:
    """Train a byte-level BPE on the first part of the text."""
    from tokenizers import ByteLevelBPETokenizer
    from transformers import PreTrainedTokenizerFast

    trained = ByteLevelBPETokenizer()
    trained.train_from_iterator([words[: 2 << 20]], vocab_size=_VOCABULARY, special_tokens=["<bos>", "<eos>"])
    fast = PreTrainedTokenizerFast(tokenizer_object=trained._tokenizer, bos_token="<bos>", eos_token="<eos>")
    fast.save_pretrained(folder)


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024  # Linux counts in kilobytes
