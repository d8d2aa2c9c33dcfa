"""From when to when each thread is known to have lived."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vprof.tables.model import Int32, Int64

_LIMITS = np.iinfo(np.int64)


@dataclass
class Lives:
    """Times in ns by thread; `first` after `last` where nothing is known. Grows in place."""

    first: Int64
    last: Int64

    @classmethod
    def none(cls, threads: int) -> Lives:
        return cls(np.full(threads, _LIMITS.max), np.full(threads, _LIMITS.min))

    def copy(self) -> Lives:
        return Lives(self.first.copy(), self.last.copy())

    def extend(self, thread: Int32 | Int64, start: Int64, end: Int64) -> None:
        """Every thread was alive at its starts and ends."""
        np.minimum.at(self.first, thread, start)
        np.maximum.at(self.last, thread, end)

    def include(self, thread: int, t: int) -> None:
        self.first[thread] = min(self.first[thread], t)
        self.last[thread] = max(self.last[thread], t)

    def known(self) -> list[int]:
        """Threads with at least one moment."""
        return [int(thread) for thread in np.flatnonzero(self.first <= self.last)]
