import json

import pytest
from tests.sealing_support import edit_table
from tests.unit.measure.records_support import Plan, write_evaluation, write_run

from anira.measure.claims.findings import findings
from anira.measure.summary import summarize
from anira.site.plain import tables, title


def summary_of(folder, plan=None, **asked):
    return summarize(write_evaluation(folder, plan or Plan(slope=0.5, n=50), **asked), draws=100)


class TestSummary:
    def test_equal_records_and_seeds_give_equal_figures(self, tmp_path):
        folder = write_evaluation(tmp_path / "e", Plan(slope=0.5, n=50))
        first = summarize(folder, draws=100)
        for path in folder.glob("*.parquet"):
            edit_table(path, lambda table: table.sample(fraction=1, shuffle=True, seed=1))
        assert summarize(folder, draws=100) == first
        other = summarize(folder, seed=1, draws=100)
        assert other != first
        assert other.aligned().slope.value == first.aligned().slope.value

    def test_it_is_plain_json(self, tmp_path):
        run = write_run(tmp_path / "run", Plan(max_depth=1, expected=False, n=20, seed=3))
        plain = summarize(run / "records" / "final", draws=50).to_dict()
        assert json.loads(json.dumps(plain, allow_nan=False)) == plain
        assert plain["alignment"][0]["slope"] == {
            "value": None,
            "low": None,
            "high": None,
            "reason": "the depth is constant",
        }
        assert plain["labels"]["config"]["seed"] == 3

    def test_labels_come_from_the_records(self, tmp_path):
        labels = summary_of(tmp_path / "e", Plan(variant="anira-e", seed=4, step=77, max_depth=9, n=20)).labels
        assert (labels.task, labels.variant, labels.seed, labels.step) == ("mano", "anira-e", 4, 77)
        assert (labels.max_depth, labels.select, labels.threshold, labels.config) == (9, "median", None, {})

    def test_what_is_missing_is_said(self, tmp_path):
        summary = summary_of(tmp_path / "e", Plan(n=8), n=12, knobs=[1, 2, 3, 4, 9], complete=False)
        assert summary.warnings == (
            "no records of knob 9: the evaluation was interrupted",
            *(f"knob {knob} has 8 of 12 instances" for knob in (1, 2, 3, 4)),
            "a knob has fewer than 10 instances: intervals are rough",
        )

    def test_a_subset_is_found_by_name(self, tmp_path):
        summary = summary_of(tmp_path / "e")
        row = summary.aligned(measure="expected_depth", subset="correct")
        assert (row.measure, row.subset) == ("expected_depth", "correct")


class TestTables:
    def test_every_part_has_its_rows(self, tmp_path):
        shown = dict(tables(summary_of(tmp_path / "e")))
        assert [len(text.splitlines()) for text in shown.values()] == [6, 6, 5, 5, 3, 3, 6]

    def test_cells_stand_under_their_heads(self, tmp_path):
        shown = dict(tables(summary_of(tmp_path / "e")))
        head, *rows = shown["Accuracy"].splitlines()
        for row in rows:
            assert row[head.index("majority") :].split()[0].startswith("0.")

    def test_undefined_is_a_word(self, tmp_path):
        shown = dict(tables(summary_of(tmp_path / "e", Plan(max_depth=1, n=20))))
        rows = shown["Depth of answers against the knob"].splitlines()[1:]
        assert all(row.split()[-2:] == ["undefined", "undefined"] for row in rows)

    def test_not_separable_is_said(self, tmp_path):
        shown = dict(tables(summary_of(tmp_path / "e")))
        answer, prompt = shown["Position control: share of the variance of depth explained by"].splitlines()[1:]
        assert "not separable" in answer
        assert "not separable" not in prompt

    def test_one_knob_leaves_nothing_to_separate(self, tmp_path):
        summary = summary_of(tmp_path / "e", Plan(knobs=(3,), n=20))
        shown = dict(tables(summary))["Position control: share of the variance of depth explained by"]
        assert shown.count("there is one knob only") == 2
        assert "separable" not in " ".join(findings(summary))

    def test_the_title_names_the_evaluation(self, tmp_path):
        text = title(summary_of(tmp_path / "e"))
        assert "mano anira-o, select median, seed 0, step 4000, max_depth 6" in text
        assert str(tmp_path / "e") in text


class TestFindings:
    @pytest.mark.parametrize(
        ("plan", "sentence"),
        [
            (Plan(slope=0.6, n=50), "Answer depth rises with the knob: "),
            (Plan(slope=-0.4, n=50, max_depth=9), "Answer depth falls with the knob: "),
            (Plan(slope=0, n=50, draw=1), "neither clearly rises nor falls with the knob, the interval reaches zero"),
            (Plan(slope=0.6, n=50, accuracy=0.015, draw=3), "Among correct answers only, it cannot be judged"),
            (Plan(max_depth=1, n=20), "has no direction against the knob: the depth is constant"),
            (Plan(slope=0.6, n=50, accuracy=0.2), "says nothing about alignment: accuracy is not above the majority"),
            (Plan(slope=0.6, n=50, accuracy=0.2), "at knob 1, 2, 3, 4 it is not above that"),
            (Plan(slope=0.6, n=50), "at every knob it is above that"),
            (Plan(slope=0.6, n=50), "the effects of the two are not separable"),
            (Plan(slope=0.6, n=50, answers=4), "both together"),
            (Plan(slope=0.6, n=50, seen=(1, 2)), "Not among the knobs of training: 3, 4"),
            (Plan(probe_effect=0.6, n=50), "follows these probes (mean Spearman): stack_depth +0."),
            (Plan(probe_effect=0, n=50), "follows none of the probes clearly"),
        ],
    )
    def test_sentences_follow_the_figures(self, tmp_path, plan, sentence):
        assert any(sentence in line for line in findings(summary_of(tmp_path / "e", plan)))

    def test_figures_in_sentences_are_those_of_the_summary(self, tmp_path):
        summary = summary_of(tmp_path / "e")
        lines = " ".join(findings(summary))
        assert summary.aligned().slope.text(3) in lines
        assert summary.accuracy[-1].exact.text(3) in lines
        assert summary.cost[-1].mean_depth.text() in lines


@pytest.mark.slow
def test_half_a_million_tokens(tmp_path):
    plan = Plan(knobs=tuple(range(3, 17)), n=1500, max_depth=14, slope=0.1, probe_effect=0.3)
    summary = summarize(write_evaluation(tmp_path / "e", plan), draws=100)
    assert summary.cost[-1].tokens > 500_000
    assert summary.aligned().slope.direction == 1
