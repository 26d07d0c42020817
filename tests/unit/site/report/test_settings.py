import pytest

from anira.site.report.settings import differences, experiment_names, flatten, show


def config(**changes):
    return {"preset": "p", "seed": 0, "steps": 10, "model": {"width": 8, "policy": {"gamma": 0.1}}, **changes}


def test_flatten_keeps_every_value_under_its_path():
    assert flatten(config()) == {"preset": "p", "seed": 0, "steps": 10, "model.width": 8, "model.policy.gamma": 0.1}


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (False, "no"), (0.0, "0"), ("", "-"), (None, "-"), (2e-3, "0.002"), ((), "")]
)
def test_show(value, text):
    assert show(value) == text


def test_differences_name_the_setting_and_both_values():
    small, large = config(), config(steps=250000, model={"width": 256, "policy": {"gamma": 0.1}})
    assert differences([(small, large)]) == [("steps", "10", "250,000"), ("model.width", "8", "256")]


def test_equal_runs_have_no_differences_and_seeds_are_none():
    assert differences([(config(seed=1, preset="a"), config(seed=2, preset="b"))]) == []


def test_a_setting_that_one_side_does_not_state_is_not_compared():
    assert differences([(config(extra=1), config(other=2))]) == []


def test_runs_that_differ_among_themselves_stand_side_by_side():
    reference = config(steps=99)
    assert differences(
        [(config(steps=10), reference), (config(steps=20), reference), (config(steps=99), reference)]
    ) == [("steps", "10 / 20 / 99", "99")]


def test_one_experiment_a_variant_is_named_by_it():
    assert experiment_names(["anira-e", "anira-o"], [config(), config(steps=5)]) == ["anira-e", "anira-o"]


def test_seeds_share_the_name_of_their_experiment():
    assert experiment_names(["anira-o"] * 2, [config(seed=0), config(seed=1)]) == ["anira-o", "anira-o"]


def test_experiments_of_one_variant_are_told_apart_by_what_differs():
    other = config(model={"width": 8, "policy": {"gamma": 0.2}})
    assert experiment_names(["anira-o"] * 3, [config(), other, config(seed=3)]) == [
        "anira-o, gamma 0.1",
        "anira-o, gamma 0.2",
        "anira-o, gamma 0.1",
    ]
