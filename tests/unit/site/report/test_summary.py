import pytest

from anira.site.report.summary import Cell, probe_rows, rows_table, summary_rows


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (Cell(value=0.5), "0.50"),
        (Cell(value=0.5, low=0.4, high=0.6), "0.50 [0.40, 0.60]"),
        (Cell(value=0.5, low=0.4, high=0.6, percent=True), "50% [40, 60]"),
        (Cell(value=-0.0004, low=-0.1, high=0.001), "0.00 [-0.10, 0.00]"),
        (Cell(value=0.5, note="few instances"), "0.50 few instances"),
        (Cell(note="the depth is constant"), "the depth is constant"),
        (Cell(), "-"),
    ],
)
def test_a_cell_shows_what_it_has(cell, text):
    assert cell.text == text


def test_rows_are_the_figures_of_the_summaries(runs):
    rows = {row.name: row.cells for row in summary_rows(runs, knob="L")}
    for i, run in enumerate(runs):
        assert rows["accuracy"][i].value == run.summary.accuracy[-1].exact.value
        assert rows["iterations executed, of full depth"][i].value == run.summary.cost[-1].iterations_share.value
        assert rows["slope: iterations per unit of L"][i].value == run.summary.aligned().slope.value
    assert rows["slope: iterations per unit of L"][2].text == "the depth is constant"
    assert rows["iterations executed, of full depth"][2].value == 1
    assert rows["position and L separable"][0].text.startswith("no")


def test_the_lenient_rule_has_a_row_only_where_it_matters(runs):
    assert not [row for row in summary_rows(runs, knob="L") if "lenient" in row.name]


def test_probes_have_a_row_each(runs):
    assert [row.name for row in probe_rows(runs)] == [
        "stack depth",
        "remaining operands",
        "completed size",
        "completed sum",
        "is operator",
    ]
    assert all(row.cells[0].low < row.cells[0].value < row.cells[0].high for row in probe_rows(runs))
    assert all(row.cells[2].value is None for row in probe_rows(runs))


def test_the_table_has_a_line_for_every_cell(runs):
    rows = summary_rows(runs, knob="L")
    table = rows_table(rows, runs)
    assert len(table) == len(rows) * len(runs)
    slope = table.filter(figure="slope: iterations per unit of L", label="anira-o").row(0, named=True)
    assert slope["low"] < slope["value"] < slope["high"]
