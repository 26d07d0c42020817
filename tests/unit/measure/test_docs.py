import doctest
from pathlib import Path

DOC = Path(__file__).parents[3] / "docs" / "statistics.md"


def test_the_worked_example_runs_as_it_stands():
    result = doctest.testfile(str(DOC), module_relative=False)
    assert result.attempted > 10
    assert not result.failed
