"""What the paper prints of its regression.

Its frontier stands with the nodes that are ready, its subtree size with the remaining nodes; it does not say for which
variant expected depth explains 11% more.
"""

from typing import Final

_READY = ("out_degree_dep", "dfs_depth", "frontier_ready", "newly_enabled")
_EARLY = ("num_nodes", "out_degree_dep", "remaining", "frontier_ready", "newly_enabled")
_ONLINE = ("dfs_depth", "num_nodes", "newly_enabled", "frontier_ready", "out_degree_dep")


def _table(features: tuple[str, ...], *values: float) -> dict[str, float]:
    """Return values by feature; what leaves out the first one does not have it for N."""
    names = [name for name in features if name != "num_nodes" or len(values) == len(features)]
    return dict(zip(names, values, strict=True))


PAPER: Final = {
    "anira-e": {
        "node_effect": _table(_READY, 0.134, -0.005, 0.047, -0.079),
        "final_effect": _table(_EARLY, 0.059, 0.152, -0.022, 0.049, -0.081),
        "final_delta": _table(_EARLY, 0.2829, 0.0441, 0.0070, 0.0064, 0.0055),
        "final_delta_sized": _table(_EARLY, 0.0351, 0.0075, 0.0055, 0.0046),
        "final_retention": _table(_EARLY, 0.80, 1.08, 0.86, 0.84),
        "node_r2": {"linear": 0.6866, "categorical": 0.7337},
        "node_r2_gain": {"expected_gain": 0.11},
    },
    "anira-o": {
        "node_effect": _table(_READY, 0.168, 0.302, 0.171, -0.286),
        "final_effect": _table(_ONLINE, 0.303, 0.032, -0.287, 0.170, 0.171),
        "final_delta": _table(_ONLINE, 0.0516, 0.0483, 0.0375, 0.0363, 0.0302),
        "final_delta_sized": _table(_ONLINE, 0.0512, 0.0372, 0.0360, 0.0285),
        "final_retention": _table(_ONLINE, 0.99, 0.99, 0.99, 0.94),
        "node_r2": {"linear": 0.7000, "categorical": 0.7088},
        "node_r2_gain": {"expected_gain": 0.11},
    },
}
"""Variant, quantity and subset -> what the paper has."""
