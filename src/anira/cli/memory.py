"""Keep freed memory in the process, so that big tensors do not pay for fresh pages over and over."""

import ctypes
from functools import cache

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3  # names of glibc's mallopt (malloc.h)
_LARGEST = 32 << 20  # glibc accepts no larger limit for blocks taken from the heap
_NEVER = (1 << 31) - 1


@cache
def keep_freed_memory() -> bool:
    """Tell the C library's allocator to reuse freed blocks instead of giving them back; say whether it listened.

    glibc returns big blocks to the system as they are freed, and every page of the next one costs a fault. On a virtual
    machine that can take longer than computing on it: docs/results.md has a measurement. Elsewhere than on glibc, or
    with another allocator preloaded, nothing happens.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):
        return False
    settings = ((_MMAP_THRESHOLD, _LARGEST), (_TRIM_THRESHOLD, _NEVER), (_TOP_PAD, _LARGEST))
    answers = [mallopt(name, value) for name, value in settings]
    return all(answer == 1 for answer in answers)
