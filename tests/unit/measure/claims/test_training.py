"""Claims about training, over seeds of planted runs."""

import polars as pl
import pytest
from tests.unit.measure.dynamics_support import Training, write_training

from anira.measure.claims.training import judge_training
from anira.measure.training.dynamics import training_table


def runs(root, seeds=(0, 1, 2), **planted):
    folders = [write_training(root / f"s{seed}", Training(seed=seed, **planted)) for seed in seeds]
    return training_table(folders, draws=50)


def verdicts(table):
    """The verdicts on the one setting that there is."""
    return {key: claim.verdict for key, (claim,) in judge_training(table).items()}


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    return runs(tmp_path_factory.mktemp("three"))


def with_value(table, name, value, **ends):
    changed = pl.col("quantity") == name
    columns = {"value": value, **ends}
    return table.with_columns(
        pl.when(changed).then(pl.lit(x)).otherwise(pl.col(n)).alias(n) for n, x in columns.items()
    )


def test_three_seeds_support_both_claims(three):
    assert {one.word for one in verdicts(three).values()} == {"supported"}


def test_a_reversed_order_and_a_rise_without_fall_are_contradicted(tmp_path):
    found = verdicts(runs(tmp_path, learned={1: 850.0, 2: 450.0, 3: 150.0}, depth=((0, 2.0), (1, 4.0))))
    assert found["easy-to-hard"].word == found["two-phases"].word == "contradicted"


def test_a_fall_does_not_count_where_accuracy_surely_falls_with_it(three):
    lost = with_value(three, "accuracy_kept", -0.4, low=-0.5, high=-0.3)
    assert verdicts(lost)["two-phases"].word == "contradicted"
    unsure = with_value(three, "accuracy_kept", -0.01, low=-0.1, high=0.1)
    assert verdicts(unsure)["two-phases"].word == "supported"


def test_a_rise_below_the_smallest_of_interest_is_no_phase(three):
    found = verdicts(with_value(three, "depth_rise", 0.05))["two-phases"]
    assert found.word == "contradicted"
    assert "less than the smallest effect of interest, 0.1" in found.reason


def test_a_warm_up_makes_phases_by_itself(tmp_path):
    found = verdicts(runs(tmp_path, warm_up=300))
    assert (found["two-phases"].word, found["easy-to-hard"].word) == ("not testable", "supported")
    assert found["two-phases"].reason == "\u03b3 rises over the first 300 steps, which makes phases by itself"


def test_a_run_that_learned_nothing_cannot_be_judged(tmp_path):
    found = verdicts(runs(tmp_path, accuracy=0.2))
    assert {one.word for one in found.values()} == {"not testable"}
    assert found["two-phases"].reason == "accuracy is not above the majority baseline"


def test_an_order_that_comes_by_chance_cannot_be_judged(tmp_path):
    found = verdicts(runs(tmp_path, learned={1: 150.0, 2: 850.0}))["easy-to-hard"]
    assert (found.word, found.reason) == ("not testable", "an order as good comes by chance in 50% of all cases")


def test_only_seeds_of_the_same_setting_are_judged_together(tmp_path):
    planted = (Training(seed=1), Training(seed=0), Training(warm_up=300), Training(variant="anira-e"))
    folders = [write_training(tmp_path / str(i), one) for i, one in enumerate(planted)]
    claims = judge_training(training_table(folders, draws=50))["two-phases"]
    assert [claim.seeds for claim in claims] == [(0, 1), (0,), (0,)]
