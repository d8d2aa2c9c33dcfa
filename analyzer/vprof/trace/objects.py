"""What threads waited for: the objects of a trace, or of a window of it (runtime/TRACE_FORMAT.md section 2.1).

waits: class, id or name  ->  model.Objects + the number of each wait's;  HELD records  ->  model.ObjectHolds

What a wait is called comes after it, in a NAMED record (section 2.9): it tells objects apart instead of the id.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vprof.tables.columns import i8, i32, i64
from vprof.tables.kernels import helper, kernel, loop
from vprof.tables.lookup import distinct, latest
from vprof.tables.model import NONE, OBJECT_CLASSES, SINCE_ALWAYS, Int32, Int64, ObjectHolds, Objects
from vprof.trace.chunks import TraceFile
from vprof.trace.decode import X_END, X_KIND, X_PEER, X_THREAD
from vprof.trace.holds import H_CLASS, H_OBJECT, H_RELEASE, H_SINCE, H_THREAD, RECENT_WAITS
from vprof.trace.records import EXTENDED, NAME_BITS
from vprof.trace.segments import BlockedWaits
from vprof.trace.window import Window

_CLASSES = len(OBJECT_CLASSES)
_FIRST_NAME = -1
"""Where an object is told apart by a number, the one of the first name; others are below it, ids above."""


class Names:
    """What the program calls what it waits for: the texts of a file, in the order of their numbers."""

    def __init__(self, file: TraceFile) -> None:
        known = {event["number"]: event["text"] for event in file.of("name")}
        numbers = sorted(known)
        self.texts = [known[number] for number in numbers]
        self._index = np.full(1 << NAME_BITS, NONE, np.int64)
        self._index[numbers] = np.arange(len(numbers))

    def of(self, numbers: Int64) -> Int64:
        """Indices into `texts`; NONE for those that no event gives."""
        index: Int64 = self._index[numbers]
        return index


class Found(NamedTuple):
    """The objects, the one of each wait, and the one of each row of holds."""

    objects: Objects
    of_wait: Int32
    of_hold: Int32


def objects_of(waits: BlockedWaits, holds: Int64, names: Names) -> Found:
    """`holds`: columns H_*."""
    ids, which = distinct(np.r_[waits.lock, holds[:, H_OBJECT]])
    name = np.r_[names.of(waits.name), np.full(len(holds), NONE)]
    what = np.where(name != NONE, _FIRST_NAME - name, which)  # names are negative
    pairs, of = distinct(what * _CLASSES + np.r_[waits.object_class, holds[:, H_CLASS] % _CLASSES])
    number, class_ = np.divmod(pairs, _CLASSES)
    first = np.empty(len(pairs), np.int64)
    first[of[::-1]] = which[::-1]
    several = np.zeros(len(pairs), np.bool_)
    several[of[which != first[of]]] = True
    objects = Objects(
        class_=i8(class_),
        id=i64(np.where(several, 0, ids[first])),
        name=i32(np.where(number < 0, _FIRST_NAME - number, NONE)),
        host=np.zeros(len(pairs), np.int32),
    )
    return Found(objects, i32(of[: len(waits.lock)]), i32(of[len(waits.lock) :]))


def holds_of(rows: Int64, waits: BlockedWaits, found: Found, window: Window, spanning: Int64) -> ObjectHolds:
    """Holds that ended in the window while somebody waited, and of which it is known since when. `rows`: columns H_* of
    holds.py; `spanning`: of scan.py, which says when those began that began before the window."""
    known = window.owns(rows[:, H_RELEASE]) & (rows[:, H_SINCE] != SINCE_ALWAYS)
    rows = i64(rows[known])
    since = _acquired(rows, i64(waits.thread), i64(waits.begin), i64(waits.end))
    across = spanning[(spanning[:, X_KIND] == EXTENDED) & window.owns(spanning[:, X_END])]
    before = latest(across[:, X_THREAD], across[:, X_END], rows[:, H_THREAD], rows[:, H_RELEASE])
    same = (before != NONE) & (np.r_[across[:, X_END], 0][before] == rows[:, H_RELEASE])
    since[same] = across[before[same], X_PEER]
    return ObjectHolds(object=found.of_hold[known], ns=i64(rows[:, H_RELEASE] - since))


@kernel
def _acquired(rows: Int64, thread: Int64, begin: Int64, end: Int64) -> Int64:
    """When the holds began: one that the thread waited for is recorded since the begin of that wait. The waits are by
    thread, in the order of their ends."""
    since = np.empty(len(rows), np.int64)
    _fill_acquired(rows, thread, begin, end, since)
    return since


@loop
def _fill_acquired(rows: Int64, thread: Int64, begin: Int64, end: Int64, since: Int64) -> None:
    for k in range(len(rows)):
        owner, began, release = rows[k, H_THREAD], rows[k, H_SINCE], rows[k, H_RELEASE]
        w = _first_ended_after(owner, began, thread, end)
        since[k] = began
        later = 0
        while w < len(thread) and thread[w] == owner and end[w] <= release and later < RECENT_WAITS:
            if since[k] != began:
                later += 1
            elif begin[w] == began:
                since[k] = end[w]
            w += 1
        if later == RECENT_WAITS:
            since[k] = began


@helper
def _first_ended_after(owner: int, t: int, thread: Int64, end: Int64) -> int:
    a, b = 0, len(thread)
    while a < b:
        m = (a + b) // 2
        if thread[m] < owner or (thread[m] == owner and end[m] <= t):
            a = m + 1
        else:
            b = m
    return a
