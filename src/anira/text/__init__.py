"""Text as training data: from shards to documents to a stream of tokens, which resumes to the exact token."""

from anira.text.config import TextConfig
from anira.text.reader import Place
from anira.text.shards import LeftOut, Shard
from anira.text.sources import open_shards
from anira.text.stream import TokenStream
from anira.text.tokenizing import TextTokenizer, load_tokenizer

__all__ = [
    "LeftOut",
    "Place",
    "Shard",
    "TextConfig",
    "TextTokenizer",
    "TokenStream",
    "load_tokenizer",
    "open_shards",
]
