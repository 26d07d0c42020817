"""Which tokens begin, end and pad a text: what a checkpoint's tokenizer says, because configurations were copied."""

from pathlib import Path
from typing import Any, Final

from transformers import PreTrainedTokenizerFast

from anira.config import UserError
from anira.models.pretrained.family import Original

_IDS: Final = ("pad_token_id", "bos_token_id", "eos_token_id")


def token_ids(folder: Path, original: Original) -> dict[str, Any]:
    """Return the ids for a configuration: the tokenizer's, or else those of config.json that the vocabulary has."""
    size = original.get("padded_vocab_size") or original.get("vocab_size", 0)
    if not (folder / "tokenizer.json").exists():
        given = {key: original.get(key) for key in _IDS}
        return {key: value if isinstance(value, int) and 0 <= value < size else None for key, value in given.items()}
    tokenizer = read_tokenizer(folder)
    check_vocabulary(tokenizer, size, folder)
    return {key: getattr(tokenizer, key) for key in _IDS}


def read_tokenizer(folder: Path) -> Any:
    """Return the tokenizer of a folder, by its files alone; no code that it may name is run."""
    try:
        return PreTrainedTokenizerFast.from_pretrained(folder, local_files_only=True)
    except Exception as error:  # the tokenizers library raises nothing more specific
        raise UserError(f"{folder / 'tokenizer.json'} cannot be read: {error}") from None


def check_vocabulary(tokenizer: Any, size: int, source: object) -> None:
    """Refuse a tokenizer that has tokens which the embedding does not."""
    largest = max(tokenizer.get_vocab().values(), default=0)
    if largest >= size:
        raise UserError(f"{source}: the tokenizer has token ids up to {largest}, but the model only {size} embeddings")
