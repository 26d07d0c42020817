"""The tokenizer of a task's vocabulary: a stock one that says which word it does not know."""

from typing import Any

from transformers import AutoTokenizer, BatchEncoding, PreTrainedTokenizerFast

from anira.config import UserError, nearest
from anira.models.configuration import AniraConfig


class TaskTokenizer(PreTrainedTokenizerFast):
    """Pads on the left, as generation needs it, and has no token for unknown words: they are the user's error.

    Where this package is not imported, transformers reads the same files with its own class; only the message differs.
    """

    padding_side = "left"

    def _encode_plus(self, text: Any, *args: Any, **kwargs: Any) -> BatchEncoding:
        try:
            return super()._encode_plus(text, *args, **kwargs)
        except Exception as error:  # the tokenizers library raises nothing more specific
            if "Missing [UNK] token" not in str(error):
                raise
            word = self._unknown(text)
            raise UserError(f"unknown token {word!r}: {nearest(word, self.get_vocab())}") from None

    def _unknown(self, text: Any) -> str:
        """Return the first word of the text (or of texts, in lists and tuples) that is not in the vocabulary."""
        if not isinstance(text, str):
            return next(filter(None, map(self._unknown, text)), "")
        known = self.get_vocab()
        words = (word for word, _ in self.backend_tokenizer.pre_tokenizer.pre_tokenize_str(text))
        return next((word for word in words if word not in known), "")


AutoTokenizer.register(AniraConfig, fast_tokenizer_class=TaskTokenizer, exist_ok=True)
