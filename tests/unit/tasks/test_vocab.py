import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anira.config import UserError
from anira.tasks import CharVocab, Vocab

TOKENS = ["<pad>", "<bos>", "<ans>", "+", "v01", "v02"]


@settings(deadline=None)
@given(st.lists(st.sampled_from(TOKENS)))
def test_encode_and_decode_are_inverse(words: list[str]) -> None:
    vocab = Vocab(TOKENS)
    assert vocab.decode(vocab.encode(" ".join(words))).split() == words
    assert vocab.encode(" ".join(words)) == [TOKENS.index(word) for word in words]


def test_tokens_are_separated_by_any_white_space() -> None:
    assert Vocab(TOKENS).encode("  v01\n+\tv02 ") == [4, 3, 5]


def test_length_and_membership() -> None:
    vocab = Vocab(TOKENS)
    assert len(vocab) == 6
    assert "v01" in vocab
    assert "v03" not in vocab


def test_an_unknown_token_is_an_error_that_names_the_nearest() -> None:
    with pytest.raises(UserError, match=r"unknown token 'v03': did you mean 'v0[12]'"):
        Vocab(TOKENS).encode("v01 v03")
    with pytest.raises(UserError, match="unknown token 'zzz': known: "):
        Vocab(TOKENS).id("zzz")


@pytest.mark.parametrize(
    ("tokens", "message"),
    [([], "token 0"), (["<bos>", "<pad>"], "token 0"), (["<pad>", "a", "a"], "distinct")],
)
def test_a_vocabulary_that_cannot_work_is_refused(tokens: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Vocab(tokens)


CHARACTERS = ["<pad>", "<bos>", "<eos>", "\n", " ", "a", "["]


@settings(deadline=None)
@given(st.lists(st.sampled_from(CHARACTERS)))
def test_characters_are_encoded_and_decoded_white_space_included(tokens: list[str]) -> None:
    vocab = CharVocab(CHARACTERS)
    assert vocab.encode("".join(tokens)) == [CHARACTERS.index(token) for token in tokens]
    assert vocab.decode(vocab.encode("".join(tokens))) == "".join(tokens)


def test_a_character_outside_the_vocabulary_is_an_error() -> None:
    with pytest.raises(UserError, match="unknown token 'b'"):
        CharVocab(CHARACTERS).encode("ab")
    with pytest.raises(UserError, match="unknown token '<ans>'"):
        CharVocab(CHARACTERS).encode("a<ans>")
