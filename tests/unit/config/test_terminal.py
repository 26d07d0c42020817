"""Text that a terminal shows and does not obey, and commands that a shell reads as they were meant."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anira.config import command, printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, \u00e9 \u03b3 \u4e2d", "plain, \u00e9 \u03b3 \u4e2d"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("\x1b[31mred\x1b]0;title\x07", "\\x1b[31mred\\x1b]0;title\\x07"),
        ("over\rwritten\x08", "over\\rwritten\\x08"),
        ("\x9b31m \x7f", "\\x9b31m \\x7f"),
        ("a\u202eb\u2066c\u200b", "a\\u202eb\\u2066c\\u200b"),
        ("\udcff\x00", "\\udcff\\x00"),
    ],
)
def test_what_a_terminal_would_obey_is_written_out(text, shown):
    assert printable(text) == shown


@given(st.text())
def test_what_is_shown_has_no_power(text):
    shown = printable(text)
    assert shown.replace("\n", "").replace("\t", "").isprintable()
    assert printable(shown) == shown


WORDS = [
    "plain",
    "with space",
    "a  b",
    "$HOME",
    "`id`",
    "it's",
    'say "x"',
    "a;b",
    "*",
    "",
    "\u00e9",
    "\x1b[31m\n\\",
    "\udcff",
]


def test_a_shell_reads_the_words_back():
    shell = command(sys.executable, "-c", "import os, sys; print([os.fsencode(word) for word in sys.argv[1:]])", *WORDS)
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == repr([os.fsencode(word) for word in WORDS])


def test_a_path_is_no_option():
    assert command("anira", "analyze", Path("-run"), "--json") == "anira analyze ./-run --json"
