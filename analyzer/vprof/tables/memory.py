"""How the process keeps memory: the arrays of one window after the other are about as large."""

from __future__ import annotations

import ctypes
from functools import cache

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
"""Of mallopt(3)."""


@cache
def keep_freed_memory() -> None:
    """From now on what an array gives back the next one gets, whatever its size. By itself the C library gives large
    blocks back to the kernel, and each page of the next one is made and zeroed anew: on a virtual machine half of the
    time, where windows were large (177,000 calls in each interval), and nothing where they were not. Where the library
    has no mallopt (musl), nothing is done."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, 1 << 30)
        mallopt(_M_TRIM_THRESHOLD, (1 << 31) - 1)
