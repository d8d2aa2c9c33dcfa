"""Who had a lock while somebody waited for it: a wait of several holders, one after the other (docs/concepts.md).

    HELD records (runtime/TRACE_FORMAT.md section 2.6) + waits -> links: (wait, thread, until, since), the latest first

The one who ended the wait is to blame since it had the lock, or queued for it; before that whoever had it then, of
several the one who let it go last; and so on, to the begin of the wait or to a holder of whom nothing is known but the
release. Such a holder, as of an older trace, is to blame for all before, as it always was.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vprof.tables.columns import i32, i64
from vprof.tables.kernels import helper, kernel, loop, roomy
from vprof.tables.model import NONE, SINCE_ALWAYS, Int32, Int64

MUTEX, SEMAPHORE, READ_WRITE_LOCK, SPIN_LOCK, FILE_LOCK = 1, 3, 6, 8, 14
"""Object classes of which releases write HELD records (TRACE_FORMAT.md section 2.1)."""

_HELD_CLASSES = sum(1 << one for one in (MUTEX, SEMAPHORE, READ_WRITE_LOCK, SPIN_LOCK, FILE_LOCK))

H_OBJECT, H_THREAD, H_SINCE, H_RELEASE, H_CLASS = range(5)
"""Columns of a table of holds."""


RECENT_WAITS = 8
"""A hold that its thread waited for is recorded since the begin of that wait, which is one of its so many last ones
when it lets go, or is not looked for."""


class Holds(NamedTuple):
    """Sorted by (object, release). `since`: SINCE_ALWAYS where it is not known."""

    object: Int64
    thread: Int32
    since: Int64
    release: Int64

    @classmethod
    def of(cls, rows: Int64) -> Holds:
        """`rows`: columns H_*."""
        rows = rows[np.lexsort((rows[:, H_RELEASE], rows[:, H_OBJECT]))]
        return cls(i64(rows[:, H_OBJECT]), i32(rows[:, H_THREAD]), i64(rows[:, H_SINCE]), i64(rows[:, H_RELEASE]))


class LockWaits(NamedTuple):
    """Waits for a lock of this object class. `told`: the time by which the wait's record names the release,
    SINCE_ALWAYS if that is not known."""

    thread: Int32
    begin: Int64
    class_: Int64
    lock: Int64
    waker: Int32
    t: Int64
    told: Int64


class Links(NamedTuple):
    """Rows (wait, waker, until, since); of one wait the latest comes first."""

    wait: Int64
    waker: Int32
    t: Int64
    since: Int64


I_WAIT, I_WAKER, I_UNTIL, I_SINCE = range(4)
"""Columns of a table of links."""


@helper
def lock_of(class_: int, name: int) -> int:
    """The name of a lock: the two sides of a read-write lock, of which one is the complement of the other, are one."""
    return ~name if class_ == READ_WRITE_LOCK and name < 0 else name


@helper
def is_held(class_: int) -> bool:
    return (1 << class_) & _HELD_CLASSES != 0


def links(waits: LockWaits, holds: Holds, end: int) -> Links:
    """Of each wait that a known thread ended. `end`: releases from then on are not in `holds` if their holds began
    then, or later."""
    rows = _links(waits, holds, end)
    return Links(i64(rows[:, I_WAIT]), i32(rows[:, I_WAKER]), i64(rows[:, I_UNTIL]), i64(rows[:, I_SINCE]))


@kernel
def _links(waits: LockWaits, holds: Holds, end: int) -> Int64:
    rows, w, n = np.empty((max(len(waits.thread), 64), 4), np.int64), 0, 0
    while True:
        w, n = _links_from(w, n, waits, holds, end, rows)
        if w == len(waits.thread):
            return rows[:n].copy()
        rows = roomy(rows, n, len(rows) + 1)


@loop
def _links_from(w: int, n: int, waits: LockWaits, holds: Holds, end: int, rows: Int64) -> tuple[int, int]:
    """Links the waits from w on, after the first n rows. Returns the first wait for which there is no room, or how many
    there are; and how many rows there are."""
    while w < len(waits.thread):
        made = _link(w, n, waits, holds, end, rows)
        if made < 0:
            break
        w, n = w + 1, made
    return w, n


@helper
def _link(w: int, n: int, waits: LockWaits, holds: Holds, end: int, rows: Int64) -> int:
    """Links the wait after the first n rows; returns how many there are then, -1 without room."""
    if waits.waker[w] == NONE:
        return n
    # Below k lie, of this lock, the releases before the one that ended the wait.
    k, since = _blamed_since(w, waits, holds, end)
    waker, until = np.int64(waits.waker[w]), waits.t[w]
    lock, thread, begin = waits.lock[w], waits.thread[w], waits.begin[w]
    while n < len(rows):
        rows[n, I_WAIT], rows[n, I_WAKER], rows[n, I_UNTIL], rows[n, I_SINCE] = w, waker, until, since
        n += 1
        if since <= begin:
            return n
        while k >= 0 and holds.object[k] == lock and (holds.since[k] >= since or holds.thread[k] == thread):
            k -= 1
        if k < 0 or holds.object[k] != lock or holds.release[k] <= begin:
            return n
        waker, until, since = np.int64(holds.thread[k]), min(holds.release[k], since), holds.since[k]
        k -= 1
    return -1


@helper
def _blamed_since(w: int, waits: LockWaits, holds: Holds, end: int) -> tuple[int, int]:
    """The last release of the wait's lock until the one that ended it, and since when the one who ended it had the
    lock, or queued for it."""
    class_, told = waits.class_[w], waits.told[w]
    if not len(holds.object) or not is_held(class_) or told == SINCE_ALWAYS:
        return -1, SINCE_ALWAYS
    k, since = _hold_that_ended(waits.lock[w], waits.waker[w], told, holds)
    is_told = k >= 0 and holds.release[k] == told
    if since == SINCE_ALWAYS and waits.t[w] >= end and class_ != SEMAPHORE and not is_told:
        since = end
    return k, since


@helper
def _hold_that_ended(lock: int, waker: int, told: int, holds: Holds) -> tuple[int, int]:
    """The last release of the lock not after `told`, and since when `waker` had it, if it is the one that it let go
    then."""
    a, b = 0, len(holds.object)
    while a < b:
        m = (a + b) // 2
        if holds.object[m] < lock or (holds.object[m] == lock and holds.release[m] <= told):
            a = m + 1
        else:
            b = m
    k = last = a - 1
    while k >= 0 and holds.object[k] == lock and holds.release[k] == told:
        if holds.thread[k] == waker:
            return last, holds.since[k]
        k -= 1
    return last, SINCE_ALWAYS
