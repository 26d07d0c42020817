import pytest

from anira.config import UserError
from anira.tasks.lano.row_text import Piece, pieces, read, write

BOS, EOS = 4, 5

ROWS = {
    "a whole sentence": ([BOS, 3, 1, EOS], "3 1 <eos>"),
    "cut at its end": ([BOS, 3, 1], "3 1 ..."),
    "cut at its beginning": ([3, 1, EOS], "... 3 1 <eos>"),
    "cut at both": ([3, 1], "... 3 1 ..."),
    "two sentences": ([BOS, 3, EOS, BOS, 1, 2, EOS], "3 <eos> <bos> 1 2 <eos>"),
    "one and two halves": ([3, EOS, BOS, 1, EOS, BOS, 2], "... 3 <eos> <bos> 1 <eos> <bos> 2 ..."),
    "marks at both ends": ([EOS, BOS, 1, EOS, BOS], "... <eos> <bos> 1 <eos> <bos> ..."),
}


@pytest.mark.parametrize(("ids", "text"), ROWS.values(), ids=ROWS)
def test_a_row_is_written_and_read_back(ids: list[int], text: str) -> None:
    assert write(ids) == text
    assert read(text) == (ids, False)


def test_the_first_mark_may_be_written() -> None:
    assert read("<bos> 3 1 <eos>") == read(" 3  1 <eos> ") == ([BOS, 3, 1, EOS], False)


def test_without_an_end_it_is_a_beginning() -> None:
    assert read("3 1") == read("<bos> 3 1") == ([BOS, 3, 1], True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the sentence is empty: give at least one of 1, 2, 3"),
        ("<bos>", "the sentence is empty"),
        ("<eos>", "the sentence is empty"),
        ("...", "the sentence is empty"),
        ("... ...", "the sentence is empty"),
        ("3 4", "unknown token '4'"),
        ("31", "unknown token '31'"),
        ("3 ... 1", "unknown token '...'"),
        ("3 <pad> 1", "<pad> cannot stand in a sentence"),
        ("3 <bos> 1 <eos>", "separated by <eos> <bos>, not by '3 <bos>'"),
        ("3 <eos> 1 <eos>", "separated by <eos> <bos>, not by '<eos> 1'"),
        ("3 <eos> <bos> <eos>", "there is an empty sentence: <bos> <eos>"),
        ("3 <eos> <bos> 1", "only a single sentence is continued: end the last one with <eos>"),
        ("... 3", "only a single sentence is continued"),
    ],
)
def test_what_is_no_row_is_refused(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message.replace("...", r"\.\.\.")):
        read(text)


def test_pieces_of_a_packed_row() -> None:
    assert pieces([3, EOS, BOS, 1, 2, EOS, BOS, 2]) == [
        Piece(0, [3], begun=False, ended=True),
        Piece(3, [1, 2], begun=True, ended=True),
        Piece(7, [2], begun=True, ended=False),
    ]


def test_pieces_of_what_no_generator_writes() -> None:
    assert pieces([BOS, EOS]) == [Piece(1, [], begun=True, ended=True)]
    assert pieces([BOS, BOS, 1]) == [Piece(1, [], begun=True, ended=False), Piece(2, [1], begun=True, ended=False)]
    assert pieces([BOS, 1, 0, 0, 2]) == [
        Piece(1, [1], begun=True, ended=False),
        Piece(4, [2], begun=False, ended=False),
    ]
    assert pieces([]) == pieces([0, 0]) == []
