"""Waits that somebody of the trace ended, and which moments they fill.

segments, who ended their waits, tasks that were taken up  ->  Waits
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vprof.tables.kernels import helper, kernel, loop
from vprof.tables.kinds import BLOCKED, EXEC, IDLE, QUEUE
from vprof.tables.model import NONE, Bool, Int64

MOST_NS = 1 << 53
"""New times are doubles, which hold whole numbers up to here."""
FUTURE = -2
"""Instead of a moment: one after the stretch."""


class Waits(NamedTuple):
    """Waits that somebody of the trace ended: a thread stood still after moment `start` until moment `end`, because the
    moment `ended_by` had not come. NONE as start: the thread began so. `woken`: the time of `ended_by`, not before the
    wait's. `delay`: from then to the end. `late`: it was ended before it began, so all of it is delay.
    `by_task`: a task came, and nobody is known to have woken the thread."""

    start: Int64
    end: Int64
    ended_by: Int64
    woken: Int64
    delay: Int64
    late: Bool
    by_task: Bool


class Placed(NamedTuple):
    """Segments, and the moments at which they begin and end; of one that `goes_on` after the stretch, the moment after
    the thread's last one."""

    thread: Int64
    interval: Int64
    state: Int64
    start: Int64
    end: Int64
    goes_on: Bool


class Taken(NamedTuple):
    """Tasks that were handed over: the moments at which they were taken up and made; `t`: when they were made."""

    taken: Int64
    made: Int64
    t: Int64


W_START, W_END, W_BY, W_WOKEN, W_DELAY, W_LATE, W_BY_TASK = range(7)
"""Columns of `Waits` in the making."""


class Line(NamedTuple):
    """As in `Graph`."""

    thread: Int64
    time: Int64
    first: Int64
    known: Int64


@kernel
def find_waits(seg: Placed, tasks: Taken, line: Line, woken_by: Int64) -> tuple[Int64, Waits]:
    """`woken_by`: by segment the moment that ended it, NONE if nobody is known to have; tasks are added to it. Returns
    the waits, and by moment the one it lies in or ends."""
    rows = np.empty((len(seg.thread) + len(tasks.taken), 7), np.int64)
    of, last = np.full(len(line.time), NONE, np.int64), np.full(len(line.time), NONE, np.int64)
    n = _fill(seg, tasks, line, woken_by, last, of, rows)
    columns = rows[:n].T.copy()
    late, by_task = columns[W_LATE] != 0, columns[W_BY_TASK] != 0
    return of, Waits(columns[W_START], columns[W_END], columns[W_BY], columns[W_WOKEN], columns[W_DELAY], late, by_task)


@loop
def _fill(seg: Placed, tasks: Taken, line: Line, woken_by: Int64, last: Int64, of: Int64, rows: Int64) -> int:
    """Fills `of` and `rows`, and `last`: by moment the task that was taken up there, of several the one made last.
    Returns how many waits there are."""
    for k in range(len(tasks.taken)):
        m = tasks.taken[k]
        if last[m] == NONE or tasks.t[k] >= tasks.t[last[m]]:
            last[m] = k
    n = 0
    for s in range(len(seg.thread)):
        if woken_by[s] != NONE and seg.goes_on[s]:
            n = _add_open(seg.start[s], seg.end[s], woken_by[s], line, of, rows, n)
        elif woken_by[s] != NONE:
            n = _add(seg.start[s], seg.end[s], woken_by[s], 0, line, of, rows, n)
    s = -1  # the last segment that begins before the moment
    for m in range(len(last)):
        while s + 1 < len(seg.thread) and seg.start[s + 1] < m:
            s += 1
        if last[m] != NONE:
            n = _add_task(seg, line, m, tasks.made[last[m]], s, woken_by, of, rows, n)
    return n


@helper
def _add_task(seg: Placed, line: Line, m: int, by: int, s: int, woken_by: Int64, of: Int64, rows: Int64, n: int) -> int:
    """Adds the wait that a task ended which was taken up at moment m, if the thread waited for it."""
    time, thread = line.time, line.thread[m]
    begin = max(line.first[thread], line.known[thread] - 1)
    known = s >= 0 and seg.thread[s] == line.thread[m]
    if not known or seg.end[s] < m:  # nothing is recorded directly before
        start = seg.end[s] if known else (begin if begin < m else NONE)
        return _add(start, m, by, 1, line, of, rows, n)
    w = idle_before(seg, s, woken_by) if seg.end[s] == m else NONE
    if w != NONE and (seg.end[w] == m or time[seg.start[w]] <= time[by] <= time[seg.end[w]]):
        woken_by[w] = by
        n = _add(seg.start[w], seg.end[w], by, 1, line, of, rows, n)
    return n


@helper
def idle_before(seg: Placed, s: int, woken_by: Int64) -> int:
    """The wait that nobody is known to have ended, after which the thread did nothing for an interval until the end of
    segment s; NONE if there is none."""
    while seg.state[s] == EXEC and seg.interval[s] == NONE and s > 0:
        if seg.thread[s - 1] != seg.thread[s] or seg.end[s - 1] != seg.start[s]:
            return NONE
        s -= 1
    waits = seg.state[s] == BLOCKED or seg.state[s] == QUEUE or seg.state[s] == IDLE
    return s if waits and woken_by[s] == NONE else NONE


@helper
def _add_open(start: int, end: int, by: int, line: Line, of: Int64, rows: Int64, n: int) -> int:
    """Adds a wait that goes on after the stretch; `by`: FUTURE if nobody has ended it yet. `end`: after the last of the
    thread's moments."""
    woken = MOST_NS if by == FUTURE else max(line.time[by], line.time[start])
    rows[n, W_START], rows[n, W_END], rows[n, W_BY], rows[n, W_WOKEN] = start, len(line.time), by, woken
    rows[n, W_DELAY] = 0
    rows[n, W_LATE] = 1 if by != FUTURE and line.time[by] < line.time[start] else 0
    rows[n, W_BY_TASK] = 0
    for m in range(start + 1, end):
        of[m] = n
    return n + 1


@helper
def _add(start: int, end: int, by: int, by_task: int, line: Line, of: Int64, rows: Int64, n: int) -> int:
    """Adds a wait, unless one is there already."""
    time = line.time
    if of[end] != NONE:
        return n
    woken = time[by] if start == NONE else max(time[by], time[start])
    rows[n, W_START], rows[n, W_END], rows[n, W_BY], rows[n, W_WOKEN] = start, end, by, woken
    rows[n, W_DELAY] = time[end] - woken
    rows[n, W_LATE] = 1 if start != NONE and time[by] < time[start] else 0
    rows[n, W_BY_TASK] = by_task
    for m in range(end if start == NONE else start + 1, end + 1):
        of[m] = n
    return n + 1
