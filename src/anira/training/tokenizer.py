"""A task's vocabulary as a Hugging Face tokenizer, so that a checkpoint is usable without this package's tasks."""

from pathlib import Path

from tokenizers import Regex, Tokenizer
from tokenizers.decoders import Fuse
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Split, WhitespaceSplit
from transformers import PreTrainedTokenizerFast

from anira.tasks import CharVocab, Vocab

_CHARACTER = r"<[a-z]+>|[\s\S]"  # a mark such as <bos>, or any one character, white space among them


def save_tokenizer(folder: Path, vocab: Vocab) -> None:
    """Write tokenizer.json and its config: tokens are words between white space, or characters; unknown is an error."""
    tokenizer = Tokenizer(WordLevel({token: i for i, token in enumerate(vocab.tokens)}))
    if isinstance(vocab, CharVocab):
        tokenizer.pre_tokenizer = Split(Regex(_CHARACTER), "isolated")
        tokenizer.decoder = Fuse()
    else:
        tokenizer.pre_tokenizer = WhitespaceSplit()
    special = {f"{name}_token": f"<{name}>" for name in ("pad", "bos", "eos") if f"<{name}>" in vocab}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special).save_pretrained(folder)
