import pytest

from anira.site.report.tables import accuracy_table, depth_table, dynamics_table, gamma_table


def test_accuracy_is_what_the_records_say(runs):
    table = accuracy_table(runs)
    assert table["label"].unique(maintain_order=True).to_list() == ["anira-o", "anira-e", "fixed"]
    for run in runs:
        records = run.evaluation.instances.collect()
        for row in table.filter(label=run.label).iter_rows(named=True):
            right = records.filter(knob=row["knob"])["correct"]
            assert row["accuracy"] == pytest.approx(right.mean())
            assert row["instances"] == len(right)
            assert row["low"] < row["high"]
            assert row["low"] <= row["accuracy"] <= row["high"]


def test_depth_is_that_of_the_positions_that_predict_answers(runs):
    for run in runs:
        tokens = run.evaluation.tokens.collect()
        for row in depth_table([run]).iter_rows(named=True):
            own = tokens.filter(knob=row["knob"])
            assert row["depth"] == pytest.approx(own.filter(target_kind="answer")["exit_depth"].mean())
            assert row["prompt_depth"] == pytest.approx(own.filter(target_kind="prompt")["exit_depth"].mean())
            assert row["split"] == "seen"


def test_dynamics_are_the_evaluations_in_the_metrics(runs):
    table = dynamics_table(runs)
    lines = [line for line in runs[0].metrics if line["kind"] == "eval"]
    own = table.filter(label=runs[0].label)
    assert own["step"].to_list() == [line["step"] for line in lines]
    assert own["depth"].to_list() == [line["depth_answer"] for line in lines]
    assert own["expected_depth"].null_count() == 0


def test_a_key_that_a_policy_does_not_log_is_null(runs):
    fixed = dynamics_table([runs[2]])
    assert fixed["expected_depth"].null_count() == len(fixed) > 0


def test_gamma_has_a_line_for_each_logged_step_of_a_policy_with_one(runs):
    table = gamma_table(runs)
    assert set(table["label"]) == {"anira-o", "anira-e"}
    assert table.filter(label="anira-o")["gamma"].max() == pytest.approx(0.01)
