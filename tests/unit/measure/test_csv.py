"""Tables as CSV: everything arrives, and nothing is a formula."""

import csv
import io

import polars as pl
import pytest

from anira.measure.csv import csv_text


def cells(table):
    return list(csv.reader(io.StringIO(csv_text(table), newline="")))


def test_a_table_arrives(tmp_path):
    table = pl.DataFrame({"text": ["a,b", "<ans>"], "probs": [[0.5, 0.5], []], "value": [1.5, None]})
    assert cells(table) == [["text", "probs", "value"], ["a,b", "0.5 0.5", "1.5"], ["<ans>", "", ""]]


@pytest.mark.parametrize("text", ["=1+1", "@SUM(A1)", "+A1", "-A1", "\t=1", "\r=1", "\n=1", "=", "+ 1 * 2 3", '=","'])
def test_text_that_begins_like_a_formula_is_marked_as_text(text):
    (found,) = cells(pl.DataFrame({"label": [text]}))[1]
    assert found == (f"'{text}" if len(text) > 1 else text)


@pytest.mark.parametrize("text", ["-0.5", "+3", "-1e-05", "-.5", "7", "-", "+", "a=b", "", "'=1"])
def test_numbers_and_signs_stay_as_they_are(text):
    (found,) = cells(pl.DataFrame({"label": [text], "x": [1]}))[1][:1]
    assert found == text


def test_negative_numbers_stay_numbers():
    table = pl.DataFrame({"slope": [-1.5, 2.0], "seed": [-1, 3], "label": ["=a", None]})
    read = pl.read_csv(csv_text(table).encode())
    assert read.schema["slope"] == pl.Float64
    assert read["slope"].to_list() == [-1.5, 2.0]
    assert read["seed"].to_list() == [-1, 3]
    assert read["label"].to_list() == ["'=a", None]


def test_lists_of_text_cannot_become_formulas():
    assert cells(pl.DataFrame({"words": [["=a", "b"]]}))[1] == ["'=a b"]
