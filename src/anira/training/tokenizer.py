"""The tokenizer in a checkpoint, from a task's vocabulary too: so it is usable without this package's tasks."""

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from tokenizers import Regex, Tokenizer
from tokenizers.decoders import Fuse
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Split, WhitespaceSplit
from tokenizers.processors import TemplateProcessing
from transformers import AutoTokenizer

from anira.models.tokenizer import TaskTokenizer
from anira.tasks import CharVocab, Vocab
from anira.tasks.vocab import BOS
from anira.text import TextTokenizer

_FILES: Final = ("config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")
_CHARACTER = r"<[a-z]+>|[\s\S]"  # a mark such as <bos>, or any one character, white space among them


def save_tokenizer(folder: Path, vocab: Vocab | TextTokenizer) -> None:
    """Write the tokenizer that a run on text reads with, or a task's vocabulary as one."""
    if isinstance(vocab, TextTokenizer):
        vocab.save(folder)
    else:
        _save_vocabulary(folder, vocab)


def load_tokenizer(files: Sequence[Path]) -> Any:
    """Return the tokenizer of a checkpoint, from files of it that have been checked, and from no other."""
    with tempfile.TemporaryDirectory() as folder:
        for file in files:
            if file.name in _FILES:
                shutil.copyfile(file, Path(folder, file.name))
        return AutoTokenizer.from_pretrained(folder, local_files_only=True)


def _save_vocabulary(folder: Path, vocab: Vocab) -> None:
    """Write tokenizer.json and its config: tokens are words between white space, or characters; unknown is an error.

    `<bos>` comes in front by itself, as in the rows that the model was trained on: MANO's "+ 1 2 <ans>" is read as
    `<bos> + 1 2 <ans>`. For text that has it already there is the tokenizer's `add_special_tokens=False`.
    """
    tokenizer = Tokenizer(WordLevel({token: i for i, token in enumerate(vocab.tokens)}))
    if isinstance(vocab, CharVocab):
        tokenizer.pre_tokenizer = Split(Regex(_CHARACTER), "isolated")
        tokenizer.decoder = Fuse()
    else:
        tokenizer.pre_tokenizer = WhitespaceSplit()
    if BOS in vocab:
        tokenizer.post_processor = TemplateProcessing(single=f"{BOS} $A", special_tokens=[(BOS, vocab.id(BOS))])
    special = {f"{name}_token": f"<{name}>" for name in ("pad", "bos", "eos") if f"<{name}>" in vocab}
    # The side is written into the file too, for whoever reads it without this package.
    TaskTokenizer(tokenizer_object=tokenizer, padding_side="left", **special).save_pretrained(folder)
