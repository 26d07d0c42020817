"""Rules by which policies decide, and their thresholds."""

import pytest

from anira.config import UserError
from anira.models.policies import DISTRIBUTION_RULES, ThresholdRange
from anira.models.policies.rules import choose_rule

MARGIN = {"margin": ThresholdRange(low=0.0, high=1.0, default=0.9), "cosine": ThresholdRange(low=-1.0, high=1.0)}


@pytest.mark.parametrize(
    ("select", "threshold", "result"),
    [
        (None, None, ("mode", None)),
        ("mean", None, ("mean", None)),
        (None, 0.3, ("quantile", 0.3)),
        ("quantile", 1, ("quantile", 1.0)),
    ],
)
def test_rules_are_completed(select, threshold, result):
    assert choose_rule("anira-e", DISTRIBUTION_RULES, "mode", select, threshold) == result


def test_a_rule_may_have_a_threshold_of_its_own():
    assert choose_rule("calm", MARGIN, "margin") == ("margin", 0.9)
    assert choose_rule("calm", MARGIN, "margin", None, 0.5) == ("margin", 0.5)
    assert choose_rule("calm", MARGIN, "margin", "cosine", -0.5) == ("cosine", -0.5)
    assert choose_rule("fixed", {}, "") == ("", None)


@pytest.mark.parametrize(
    ("rules", "select", "threshold", "message"),
    [
        (DISTRIBUTION_RULES, "medina", None, "policy 'p' has no rule 'medina': did you mean 'median'"),
        (DISTRIBUTION_RULES, "quantile", None, r"rule 'quantile' of policy 'p' needs a threshold in \(0, 1\]"),
        (DISTRIBUTION_RULES, "mode", 0.5, "rule 'mode' of policy 'p' takes no threshold"),
        (DISTRIBUTION_RULES, "quantile", 0.0, r"must lie in \(0, 1\], not 0"),
        (DISTRIBUTION_RULES, None, 1.5, r"must lie in \(0, 1\], not 1.5"),
        (DISTRIBUTION_RULES, "quantile", float("nan"), r"must lie in \(0, 1\], not nan"),
        (MARGIN, "cosine", 2.0, r"must lie in \[-1, 1\], not 2"),
        ({}, "mode", None, "has no rule to choose depth by"),
        ({}, None, 0.5, "has no rule to choose depth by"),
    ],
)
def test_rules_that_make_no_sense(rules, select, threshold, message):
    with pytest.raises(UserError, match=message):
        choose_rule("p", rules, next(iter(rules), ""), select, threshold)
