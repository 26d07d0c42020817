"""Hugging Face tokenizers, on their fast batched path: documents to arrays of ids with their marks."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from jaxtyping import Int

from anira.config import UserError
from anira.text.sources import hub_errors

BYTES: Final = "bytes"
Ids = Int[np.ndarray, " tokens"]


class TextTokenizer:
    """Turns documents into ids: <bos> document <eos>, with those of the two marks that the tokenizer has.

    Marks within a document are text like any other: no document can pretend to end.
    """

    def __init__(self, tokenizer: Any, name: str) -> None:
        self.tokenizer, self.name = tokenizer, name
        self.bos, self.eos = (_known(getattr(tokenizer, f"{mark}_token_id", None)) for mark in ("bos", "eos"))
        self.pad = _known(tokenizer.pad_token_id)
        if self.bos is None and self.eos is None:
            raise UserError(f"tokenizer {name!r} has neither a first nor a last token to put between documents")
        self._fast = _own_copy(tokenizer) if tokenizer.is_fast else None

    @property
    def size(self) -> int:
        """One more than the largest id."""
        return 1 + max(map(int, self.tokenizer.get_vocab().values()))

    def check_fits(self, vocab_size: int) -> None:
        """Raise a UserError if a model's embedding has no place for some token."""
        if self.size > vocab_size:
            raise UserError(
                f"tokenizer {self.name!r} has {self.size} tokens, and the model's vocab_size is {vocab_size}: they do "
                "not belong together"
            )

    def encode(self, texts: Sequence[str]) -> list[Ids]:
        """Return the ids of documents, their marks among them.

        >>> load_tokenizer("bytes").encode(["ab"])[0].tolist()
        [256, 97, 98, 257]
        """
        if not texts:
            return []
        if self._fast is not None:
            found = [one.ids for one in self._fast.encode_batch_fast(list(texts), add_special_tokens=False)]
        else:
            found = self.tokenizer(list(texts), add_special_tokens=False)["input_ids"]
        return [self._marked(ids) for ids in found]

    def _marked(self, ids: list[int]) -> Ids:
        marked = np.empty(len(ids) + (self.bos is not None) + (self.eos is not None), dtype=np.int32)
        first = int(self.bos is not None)
        marked[first : first + len(ids)] = ids
        if self.bos is not None:
            marked[0] = self.bos
        if self.eos is not None:
            marked[-1] = self.eos
        return marked

    def fingerprint(self) -> str:
        """Return what tells whether a tokenizer is the one that a run began with."""
        vocabulary = sorted(self.tokenizer.get_vocab().items())
        text = self._fast.to_str() if self._fast is not None else repr(vocabulary)
        return hashlib.sha256(f"{text}{self.bos}{self.eos}".encode()).hexdigest()[:16]

    def save(self, folder: Path) -> None:
        """Write the tokenizer's files."""
        self.tokenizer.save_pretrained(folder)


def load_tokenizer(name: str) -> TextTokenizer:
    """Return a tokenizer from a folder, from the hub, or the one of bytes; a UserError says what is wrong."""
    if name == BYTES:
        return TextTokenizer(_byte_tokenizer(), name)
    if not name:
        raise UserError("there is no tokenizer: name a folder or a hub id with --tokenizer, or give --tokenizer bytes")
    from transformers import AutoTokenizer

    if Path(name).is_dir():
        try:
            return TextTokenizer(AutoTokenizer.from_pretrained(name, local_files_only=True), name)
        except (OSError, ValueError, KeyError) as error:
            raise UserError(f"{name} holds no tokenizer that can be read: {str(error).splitlines()[0]}") from error
    with hub_errors(f"tokenizer {name!r}"):
        return TextTokenizer(_from_hub(name), name)


def _from_hub(name: str) -> Any:
    """Return a tokenizer that was fetched before, or fetch it; asking first spares a minute of retries."""
    from huggingface_hub import HfApi
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(name, local_files_only=True)
    except (OSError, ValueError):
        HfApi().model_info(name)
        return AutoTokenizer.from_pretrained(name)


def _own_copy(tokenizer: Any) -> Any:
    """Return the fast tokenizer without truncation and padding, which a file may ask for; its owner keeps them."""
    from tokenizers import Tokenizer

    copy = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    copy.no_truncation()
    copy.no_padding()
    copy.encode_special_tokens = True
    return copy


def _byte_tokenizer() -> Any:
    """Return a tokenizer whose first 256 tokens are the bytes."""
    from tokenizers import Tokenizer
    from tokenizers.decoders import ByteLevel as Decoder
    from tokenizers.models import BPE
    from tokenizers.pre_tokenizers import ByteLevel
    from transformers import PreTrainedTokenizerFast
    from transformers.convert_slow_tokenizer import bytes_to_unicode

    letters = bytes_to_unicode()
    backend = Tokenizer(BPE({letters[byte]: byte for byte in range(256)}, []))
    backend.pre_tokenizer = ByteLevel(add_prefix_space=False, use_regex=False)
    backend.decoder = Decoder()
    return PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<bos>", eos_token="<eos>", pad_token="<pad>")


def _known(token: Any) -> int | None:
    return None if token is None else int(token)
