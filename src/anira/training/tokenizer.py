"""A task's vocabulary as a Hugging Face tokenizer, so that a checkpoint is usable without this package's tasks."""

from pathlib import Path

from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from transformers import PreTrainedTokenizerFast

from anira.tasks import Vocab


def save_tokenizer(folder: Path, vocab: Vocab) -> None:
    """Write tokenizer.json and its config: tokens are words between white space, an unknown word is an error."""
    tokenizer = Tokenizer(WordLevel({token: i for i, token in enumerate(vocab.tokens)}))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    special = {f"{name}_token": f"<{name}>" for name in ("pad", "bos", "eos") if f"<{name}>" in vocab}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special).save_pretrained(folder)
