"""Every policy of the package keeps the contract, with its defaults and with the options that change its ways."""

import pytest

from anira.models.policies import policy_class, policy_names
from anira.testing import check_policy
from anira.testing import policies as kit

OURS = [name for name in policy_names() if policy_class(name).__module__.startswith("anira.")]
UNSHARED = ("mixture-of-depths", "mor-token", "calm", "depth-adaptive")
MORE = [
    ("universal", {"after_halting": "evolve"}),
    ("ouro", {"stage": 2}),
    ("depth-adaptive", {"decider": "geometric"}),
    ("depth-adaptive", {"decider": "confidence"}),
    ("mixture-of-depths", {"surrogate": "predictor"}),
    ("mor-expert", {"keys": "all"}),
    ("mor-token", {"balance": "bias"}),
    ("calm", {"confidence": "classifier"}),
]


@pytest.mark.slow
@pytest.mark.parametrize("name", OURS)
def test_the_kit_passes(monkeypatch, name):
    """One seed, and of the backbones a shared core, with layers of its own where that is how it was published."""
    monkeypatch.setattr(kit, "SEEDS", (0,))
    monkeypatch.setattr(kit, "BACKBONES", (kit.BACKBONES[0], *kit.BACKBONES[3:] * (name in UNSHARED)))
    report = check_policy(policy_class(name))
    assert report.ok, str(report)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "options"), MORE, ids=str)
def test_the_kit_passes_with_other_options(monkeypatch, name, options):
    monkeypatch.setattr(kit, "SEEDS", (1,))
    monkeypatch.setattr(kit, "BACKBONES", kit.BACKBONES[:1])
    monkeypatch.setattr(kit, "compiles", lambda model: "")
    report = check_policy(policy_class(name), options)
    assert report.ok, str(report)
