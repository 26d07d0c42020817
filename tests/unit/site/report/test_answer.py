"""What a report says first."""

import pytest
from tests.report_support import FakeRun, write_run

from anira.site.report import KnobWords, build, load_runs
from anira.site.report.answer import movement


def report(root, *fakes, **words):
    return build(load_runs([write_run(root / str(i), fake) for i, fake in enumerate(fakes)]), **words).page


def test_several_experiments_are_counted_before_each_is_told(tmp_path):
    page = report(tmp_path, FakeRun(count=20), FakeRun(count=20, variant="fixed"))
    assert page.answer[0] == "MANO: answer depth rises with the knob in anira-o."
    assert [line.partition(":")[0] for line in page.answer[1:]] == ["MANO, anira-o", "MANO, fixed"]
    assert "because depth is constant by construction; accuracy" in page.answer[2]


def test_a_language_is_reported_by_the_parsers_work_and_not_by_exact_matches(tmp_path):
    words = {"lano": KnobWords("H", "levels", "lano")}
    page = report(tmp_path, FakeRun(task="lano", knobs=(4,), count=12), knobs=words)
    assert page.answer[0].startswith("LANO, anira-o: rank correlations of depth within instances: additions ")
    assert page.answer[1].startswith("No question is asked")
    assert page.answer[2] == "More nulls and controls: anira reproduce lano."
    assert page.lead.title.startswith("Rank correlation")
    assert not any("accuracy" in line for line in page.answer)


def test_accuracy_at_unseen_sizes_is_told(tmp_path):
    page = report(tmp_path, FakeRun(task="brevo", knobs=(2, 3, 4, 5, 6), count=40))
    assert "Beyond the seen sizes accuracy is " in page.answer[0]
    assert "points higher." in page.answer[0]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0.001, "answer depth does not move with the knob: 0.00 iterations per unit"),
        (-0.5, "answer depth falls by 0.50 iterations per unit of the knob"),
        (None, "answer depth has no slope over the knob, because there is none"),
    ],
)
def test_movement(value, said):
    assert movement({"value": value, "low": None, "high": None, "reason": ""}) == said
