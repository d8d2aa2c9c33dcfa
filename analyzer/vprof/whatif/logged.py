"""Logical locks, as the steps of a trace tell them: who asks for which, and from when to when it has it.

    LockSteps (trace/locks.py) -> Taken (scheduling/history.py) -> Logged: what is taken of locks that several take
    Logged + Graph  ->  the waits that were for these locks;  -> Holds

A thread that had to wait for such a lock did so between its request and the grant: whatever it waited for then, at a
mutex or a condition variable of the lock manager, belongs to the lock. It asked when the first of these waits began.
What it waited after the lock was free, it needed to go on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vprof.scheduling.history import NEVER, Taken, taken
from vprof.scheduling.script import SHARED
from vprof.tables.columns import floats, i64
from vprof.tables.kernels import kernel, loop
from vprof.tables.kinds import BLOCKED, IDLE, OFF_CPU, QUEUE, SLEEP
from vprof.tables.lookup import distinct
from vprof.tables.model import NONE, Bool, Float, Int64
from vprof.trace.locks import LockSteps
from vprof.whatif.graph import Built
from vprof.whatif.guarded import Holds
from vprof.whatif.overlap import Overlap

_WAITS = (BLOCKED, QUEUE, IDLE, SLEEP, OFF_CPU)
"""What a thread that waits for a lock may be seen to do."""


class Logged(NamedTuple):
    """By lock that an owner took, in the order of grants; times in ns. `thread` asked for it; `free`: when it was to be
    had, `requested` if at once; `by`: the thread that released it, NONE if nobody did."""

    thread: Int64
    lock: Int64
    owner: Int64
    shared: Bool
    requested: Int64
    free: Int64
    granted: Int64
    by: Int64
    released: Int64

    @property
    def waited(self) -> Bool:
        found: Bool = self.free > self.requested
        return found

    @property
    def moments(self) -> tuple[Int64, Int64]:
        """Threads and times at which something of them happens."""
        known = self.by != NONE
        return i64(np.r_[self.thread, self.by[known]]), i64(np.r_[self.requested, self.released[known]])


class Waited(NamedTuple):
    """By moment `of`: the row of `Logged` for which its thread waited in the time that ends there, NONE if for none. By
    row: `asked`, the moment at which its thread asked; `ready`, how long it needed to go on, ns, NaN if it did not
    wait."""

    of: Int64
    asked: Int64
    ready: Float


def nothing_logged() -> Logged:
    none = np.zeros(0, np.int64)
    return Logged(none, none, none, none != NONE, none, none, none, none, none)


def logged(steps: LockSteps | None) -> Logged:
    """Without what only one owner ever takes, and without what others had at the same time that do not share it."""
    return nothing_logged() if steps is None else _of_several(taken(steps))


def _of_several(found: Taken) -> Logged:
    ids, lock = distinct(found.object)
    first = np.full(len(ids), NONE, np.int64)
    first[lock[::-1]] = found.owner[::-1]
    several = np.zeros(len(ids), np.bool_)
    several[lock[found.owner != first[lock]]] = True
    rows = np.flatnonzero(several[lock] & ~found.against & (found.thread != NONE))
    by = np.where(found.released == NEVER, NONE, found.by)
    columns = (found.requested, found.free, found.granted, by, found.released)
    return Logged(
        found.thread[rows],
        lock[rows],
        found.owner[rows],
        found.mode[rows] == SHARED,
        *(i64(column[rows]) for column in columns),
    )


def find_waited(built: Built, of: Logged, state: Int64, busy: Overlap) -> Waited:
    """`state`: by moment what its thread did in the time that ends there, `busy`: when the program has all CPUs."""
    graph, moments = built.graph, built.moments
    waits = np.isin(state, _WAITS) | (graph.wait != NONE)
    asked = moments.at(of.thread, of.requested)
    until = graph.first[of.thread + 1]
    granted, free = of.granted - moments.origin, of.free - moments.origin
    rows = np.flatnonzero(of.waited)
    rows = i64(rows[np.argsort(asked[rows], kind="stable")])
    waited_for, since = _waited_for(rows, asked, until, graph.time, waits, granted)
    ready = np.full(len(asked), np.nan)
    n = np.flatnonzero(waited_for != NONE)
    row = waited_for[n]
    begin, end = np.maximum(graph.time[n - 1], free[row]), graph.time[n]
    begin = np.minimum(begin, end)
    delay = np.bincount(row, end - begin - busy.between(begin, end), len(asked))
    did = np.bincount(row, minlength=len(asked)) > 0
    ready[did] = np.maximum(delay[did], 0.0)
    return Waited(waited_for, since, floats(ready))


def holds_of(built: Built, of: Logged, waited: Waited, usual: float) -> Holds:
    """`usual`: how long a thread needs to go on, ns, of which nothing else is known."""
    moments, known = built.moments, of.by != NONE
    freed = np.full(len(of.lock), NONE)
    freed[known] = moments.at(of.by[known], of.released[known])
    ready = np.where(np.isnan(waited.ready), usual, waited.ready)
    return Holds(of.lock, waited.asked, waited.asked, freed, floats(ready))


@kernel
def _waited_for(
    rows: Int64, asked: Int64, until: Int64, time: Int64, waits: Bool, granted: Int64
) -> tuple[Int64, Int64]:
    """By moment the row for which its thread waited in the time that ends there, NONE if for none; by row the moment at
    which it asked. `rows`: that waited, in the order of `asked`."""
    of, since = np.full(len(time), np.int64(NONE)), asked.copy()
    _find_waited_for(rows, asked, until, time, waits, granted, of, since)
    return of, since


@loop
def _find_waited_for(
    rows: Int64, asked: Int64, until: Int64, time: Int64, waits: Bool, granted: Int64, of: Int64, since: Int64
) -> None:
    n = 0  # what is before it belongs to the rows before
    for row in rows:
        is_first = True
        n = max(n, asked[row] + 1)
        while n < until[row] and time[n - 1] < granted[row]:
            if waits[n]:
                of[n] = row
                if is_first:
                    since[row] = n - 1
                is_first = False
            n += 1
