"""Every policy of the package keeps the contract, with its defaults and with the options that change its ways."""

import pytest
import torch

from anira.models.policies import policy_class, policy_names
from anira.testing import check_policy
from anira.testing import policies as kit

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
OURS = [name for name in policy_names() if policy_class(name).__module__.startswith("anira.")]


@pytest.fixture(autouse=True)
def few_models(monkeypatch):
    """One seed, a core with a coda and one of layers that are not shared: tests of single policies have the others."""
    monkeypatch.setattr(kit, "SEEDS", (0,))
    monkeypatch.setattr(kit, "BACKBONES", (kit.BACKBONES[0], kit.BACKBONES[3]))
    torch.set_num_threads(1)


@pytest.mark.parametrize(("name", "options"), [*((name, {}) for name in OURS), *MORE], ids=str)
def test_the_kit_passes(name, options):
    report = check_policy(policy_class(name), options)
    assert report.ok, str(report)
