"""How the process keeps memory while windows are read: the arrays of one after the other are about as large."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
"""Of mallopt(3)."""
_KEPT = (1 << 31) - 1, 1 << 30
_USUAL = 64 << 20, 32 << 20
"""What the C library comes to by itself where large blocks are freed."""


@contextmanager
def freed_memory_kept() -> Iterator[None]:
    """Meanwhile what an array gives back the next one gets, whatever its size; then all that is free goes back to the
    kernel.

    By itself the C library gives large blocks back at once, and each page of the next one is made and zeroed anew: on a
    virtual machine half of the time, where windows were large (177,000 calls in each interval), and nothing where they
    were not. Where the library has no mallopt (musl), nothing is done.
    """
    library = ctypes.CDLL(None)
    if not hasattr(library, "mallopt"):
        yield
        return
    _set(library, *_KEPT)
    try:
        yield
    finally:
        _set(library, *_USUAL)
        library.malloc_trim(0)


def _set(library: ctypes.CDLL, trim: int, mmap: int) -> None:
    library.mallopt(_M_TRIM_THRESHOLD, trim)
    library.mallopt(_M_MMAP_THRESHOLD, mmap)
