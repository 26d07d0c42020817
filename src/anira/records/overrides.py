"""What an evaluation may put in the place of the policy's choice, as records say it.

permuted       every token gets the depth of another one
depth-3        every token is forced to depth 3
virtual        all iterations run for everyone, and the state at the chosen depth is picked
max-depth-8    as many as eight iterations are on offer
policy-huginn  another policy chooses, which has no weights of its own
"""

import re


def forced_depth(override: str) -> int | None:
    """Return the depth that an evaluation forced all tokens to, if it did.

    >>> forced_depth("depth-3"), forced_depth("permuted")
    (3, None)
    """
    return _number("depth", override)


def offered_depth(override: str) -> int | None:
    """Return how many iterations an evaluation had on offer, if it said so.

    >>> offered_depth("max-depth-8"), offered_depth("depth-8")
    (8, None)
    """
    return _number("max-depth", override)


def attached_policy(override: str) -> str | None:
    """Return the policy that chose in the place of the run's own, if one did.

    >>> attached_policy("policy-huginn"), attached_policy("depth-8")
    ('huginn', None)
    """
    found = re.fullmatch(r"policy-([a-z][a-z0-9-]*)", override)
    return None if found is None else found[1]


def is_override(text: str) -> bool:
    """Say whether a text is one of those above, or empty for none."""
    readings = (forced_depth(text), offered_depth(text), attached_policy(text))
    return text in ("", "permuted", "virtual") or any(found is not None for found in readings)


def override_words(override: str) -> str:
    """Say what was done to the depths of an evaluation.

    >>> override_words("depth-3"), override_words("permuted")
    ('forced to 3', 'permuted')
    """
    depth, offered, policy = forced_depth(override), offered_depth(override), attached_policy(override)
    if policy is not None:
        return f"chosen by policy {policy!r} instead of its own"
    if offered is not None:
        return f"chosen with up to {offered} iterations on offer"
    if override == "virtual":
        return "picked after all iterations had run (virtual exits)"
    return override if depth is None else f"forced to {depth}"


def _number(kind: str, override: str) -> int | None:
    found = re.fullmatch(rf"{kind}-([1-9]\d{{0,8}})", override)
    return None if found is None else int(found[1])
