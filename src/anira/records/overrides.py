"""What an evaluation may put in the place of the policy's choice: `permuted` depths, or `depth-3` for all tokens."""

import re


def forced_depth(override: str) -> int | None:
    """Return the depth that an evaluation forced all tokens to, if it did.

    >>> forced_depth("depth-3"), forced_depth("permuted")
    (3, None)
    """
    found = re.fullmatch(r"depth-([1-9]\d{0,8})", override)
    return None if found is None else int(found[1])


def override_words(override: str) -> str:
    """Say what was done to the depths of an evaluation.

    >>> override_words("depth-3"), override_words("permuted")
    ('forced to 3', 'permuted')
    """
    depth = forced_depth(override)
    return override if depth is None else f"forced to {depth}"
