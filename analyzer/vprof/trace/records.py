"""Records as columns (runtime/TRACE_FORMAT.md section 2): kinds, their bits, and tables grouped by thread."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vprof.tables.model import Int32, Int64, UInt16

INVOCATION, LONG_START, INTERVAL_BEGIN, INTERVAL_END, ON_BEHALF, BLOCKED, OBJECT = 1, 2, 3, 4, 5, 6, 7
PEER, ENQUEUE, DEQUEUE, CREATED, LOST, COUNT, ABANDONED, OFF_CPU = 8, 9, 10, 11, 12, 13, 14, 15
EXTENDED, HELD, STACK, NAMED, LOCK = 0, 1, 2, 3, 4
"""Kind of records whose aux tells which they are, and these: above the object class, or flags."""
EXTENDED_SHIFT = 8
STACK_BITS = 16
"""Of w1 of STACK: the number of the stack; above it the ticks waited."""
OF_RELEASE = 1
NAME_BITS = 16
"""Of w1 of NAMED: the number of the name; above it the ticks since which waits have it."""


def _bits(*kinds: int) -> int:
    """The set of these kinds, as the bits of a number: what compiled code looks a kind up in."""
    return sum(1 << kind for kind in kinds)


CALLS = _bits(INVOCATION, ABANDONED)
SPARSE = _bits(INTERVAL_BEGIN, INTERVAL_END, ON_BEHALF, ENQUEUE, DEQUEUE, CREATED, LOST)
"""Of intervals, tasks, threads and losses."""
TIMED = CALLS | SPARSE | _bits(BLOCKED, OFF_CPU)
"""Their time is a moment of the thread that wrote them."""
LONG_DURATION = 0xFFFFFFFF
PEER_UNKNOWN, PEER_TIME_UNKNOWN, PEER_TIMED_OUT = 1, 2, 4
SITE_BITS = 22
NOT_CREATED = -(1 << 63)
"""word of OBJECT after INTERVAL_BEGIN, signed: the program knew no time."""
ABORTED = 1
"""aux of INTERVAL_END: this bit, and the label number of the type above it."""


@dataclass(frozen=True)
class Records:
    """One row per record of some kinds, grouped by thread, in each thread's order; `word` is w1.

    `t` in ns, strictly increasing per thread for the kinds that have a time of their own. `uids[thread]` names a
    thread; threads that only occur as peers have numbers too.
    """

    uids: list[int]
    thread: Int32
    kind: NDArray[np.uint8]
    aux: UInt16
    t: Int64
    word: NDArray[np.uint64]

    def none(self) -> Records:
        """Of the same threads."""
        return Records(self.uids, self.thread[:0], self.kind[:0], self.aux[:0], self.t[:0], self.word[:0])

    def rows(self, kind: int, *followers: int) -> Int64:
        """Rows of a kind that are followed by the kinds they are specified with, on the same thread."""
        rows = np.flatnonzero(self.kind == kind)
        for step, follower in enumerate(followers, 1):
            rows = rows[rows + step < len(self.kind)]
            rows = rows[(self.kind[rows + step] == follower) & (self.thread[rows + step] == self.thread[rows])]
        return rows

    def low(self, rows: Int64) -> Int64:
        """Low half of w1."""
        return (self.word[rows] & np.uint64(0xFFFFFFFF)).astype(np.int64)
