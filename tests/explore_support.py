"""Small runs to explore, trained once for a module's tests."""

from pathlib import Path

from tests.training_support import train_tiny

from anira.explore import Explorer, load_runs

QUESTION = "+ - 1 3 * 2 4"
# A decider that starts at zero has one depth; large weights and next to no training make depths differ.
_SETTINGS = {"steps": 2, "learning_rate": 1e-6, "seed": 1}


def mano_run(root: Path, policy: str = "anira-o") -> Path:
    """Train a run of MANO whose depths differ."""
    model = {"initializer_range": 0.7, "policy": {"name": policy}}
    return train_tiny(root, f"mano-{policy}-smoke", model=model, **_SETTINGS)


def mano_explorer(root: Path, policies: tuple[str, ...] = ("anira-o", "fixed")) -> Explorer:
    """Return an explorer of one run for each policy."""
    return Explorer(load_runs([mano_run(root, policy) for policy in policies]))
