"""Which text a run reads, and how it becomes rows of tokens."""

from dataclasses import dataclass
from typing import Literal

from anira.config import UserError


@dataclass(frozen=True, kw_only=True)
class TextConfig:
    """The options of a run on text."""

    data: str = ""
    """Folder of .parquet and .jsonl shards, or a dataset of the Hugging Face hub, as hub:nvidia/Nemotron-CC-Math-v1."""
    subset: str = ""
    """Folder within the data, or configuration of the hub's dataset: exactly this one, 4plus is not 4plus_MIND."""
    column: str = "text"
    """Column of the shards that holds the documents."""
    tokenizer: str = ""
    """Folder or hub id of a Hugging Face tokenizer; bytes: one token per byte; empty: that of --init-from."""
    packing: Literal["wrapped", "documents"] = "wrapped"
    """What a token sees in a row that several documents share: all before it, or its own document only."""
    longest: int = 2 << 20
    """Bytes of the longest document; longer ones are left out and counted."""
    valid: str = ""
    """Shards to validate on, as --data; empty: the share --held-out of the documents."""
    exclude: str = ""
    """File or folder of evaluation items: a document that shares a run of words with one is left out and counted."""
    exclude_columns: tuple[str, ...] = ("question",)
    """Columns of the evaluation items that hold their text."""
    exclude_words: int = 13
    """Length of such a run, in words without regard to case and punctuation."""

    def __post_init__(self) -> None:
        if self.longest < 1:
            raise UserError(f"longest must be at least 1, not {self.longest}")
        if self.exclude_words < 1:
            raise UserError(f"exclude_words must be at least 1, not {self.exclude_words}")
        if self.exclude and not self.exclude_columns:
            raise UserError("exclude_columns must name at least one column of the evaluation items")
