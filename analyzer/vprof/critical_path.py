"""Critical paths: which thread's work, wait or idleness fills each nanosecond of an interval.

    Segments + Wakeups + Created + Intervals  ->  Pieces (what the time was) + Waits (where it is nested)

Source: ALGORITHMS section 2 (thesis Algorithm 2, corrected). The walk goes backwards from the end of an interval on its
end thread. A wait met on the way becomes a row of `Waits`; its waker is walked later, over that row's window alone.
So the table of waits is the stack of the recursion, and every thread occurs at most once in a chain of waits.

Guaranteed, and checked on every run: the pieces of an interval partition [begin, end] exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit, types
from numba.typed import List

from vprof.columns import i8, i32, i64
from vprof.errors import InvariantError
from vprof.model import BLOCKED, EXEC, NONE, QUEUE, Int8, Int32, Int64, Trace

P_EXEC, P_QUEUE, P_SCHED, P_GAP, P_UNKNOWN, P_BLOCKED_UNKNOWN = range(6)
PIECE_NAMES = ("exec", "queue", "sched", "gap", "unknown", "blocked_unknown")


@dataclass(frozen=True)
class Pieces:
    """One row per piece, sorted by (interval, start); `wait` is the row of `Waits` it lies in, NONE on the home
    path."""

    interval: Int32
    kind: Int8
    thread: Int32
    start: Int64
    stop: Int64
    wait: Int32


@dataclass(frozen=True)
class Waits:
    """Windows [start, stop] in which `thread` waited and somebody else's work counts.

    `parent` is the wait of the walk that met this one, NONE on the home path. `anchored`: not a blocked segment but the
    time before a task came from a creator that did not work for the interval; it hangs where `[queue]` would.
    """

    parent: Int32
    thread: Int32
    start: Int64
    stop: Int64
    anchored: Int8


@dataclass(frozen=True)
class Paths:
    pieces: Pieces
    waits: Waits


class _Index(NamedTuple):
    """The trace as the walk looks it up; *_first are offsets, one longer than what they index."""

    thread: Int32
    interval: Int32
    ts: Int64
    te: Int64
    state: Int8
    thread_first: Int64  # thread -> its segments
    mine: Int64  # rows of labelled segments by (interval, thread, te)
    mine_first: Int64  # interval -> its part of `mine`
    waker: Int32  # wake-ups by (segment, t)
    wake_t: Int64
    wake_first: Int64  # segment -> its wake-ups
    creator: Int32
    created_t: Int64
    task_at_start: Int64  # segment -> created-by edge at its start, latest creation; NONE
    task_at_end: Int64  # queue segment -> created-by edge at its end; NONE


_PIECE = types.UniTuple(types.int64, 6)  # type: ignore[no-untyped-call]  # interval, kind, thread, start, stop, wait
_WAIT = types.UniTuple(types.int64, 8)  # type: ignore[no-untyped-call]  # parent, thread, start, stop, anchored, segment, waker, walk from


def critical_paths(trace: Trace) -> Paths:
    """The critical paths of all intervals that are not ignored."""
    index = _index(trace)
    iv = trace.intervals
    rows = np.flatnonzero(~iv.ignore)
    if trace.has_sync:
        pieces, waits = _walk_all(index, i64(rows), i32(iv.end_thread), i64(iv.begin), i64(iv.end))
    else:
        pieces, waits = _concatenate_all(index, i64(rows), i32(iv.end_thread), i64(iv.begin), i64(iv.end))
    paths = _as_columns(pieces, waits)
    _check_partition(trace, rows, paths.pieces)
    return paths


def _as_columns(pieces: Int64, waits: Int64) -> Paths:
    p = pieces[:, np.lexsort((pieces[3], pieces[0]))] if pieces.shape[1] else pieces
    return Paths(
        Pieces(i32(p[0]), i8(p[1]), i32(p[2]), p[3], p[4], i32(p[5])),
        Waits(i32(waits[0]), i32(waits[1]), waits[2], waits[3], i8(waits[4])),
    )


def _check_partition(trace: Trace, rows: Int64, p: Pieces) -> None:
    """Raises InvariantError unless every interval's pieces join end to end from begin to end."""
    long = rows[trace.intervals.end[rows] > trace.intervals.begin[rows]]
    first = np.flatnonzero(np.r_[True, p.interval[1:] != p.interval[:-1]]) if len(p.interval) else np.zeros(0, np.int64)
    last = np.r_[first[1:] - 1, len(p.interval) - 1] if len(first) else first
    inner = np.ones(len(p.interval), np.bool_)
    inner[first] = False
    ok = (
        np.array_equal(p.interval[first], long)
        and np.array_equal(p.start[first], trace.intervals.begin[long])
        and np.array_equal(p.stop[last], trace.intervals.end[long])
        and np.array_equal(p.start[inner], p.stop[np.flatnonzero(inner) - 1])
        and bool(np.all(p.stop > p.start))
    )
    if not ok:
        raise InvariantError("the pieces of a critical path do not partition its interval: please report this trace")


def _index(trace: Trace) -> _Index:
    seg, wk, cr = trace.segments, trace.wakeups, trace.created
    n = len(seg.ts)
    labelled = np.flatnonzero(seg.interval != NONE)
    if trace.has_sync:
        order = np.lexsort((seg.te[labelled], seg.thread[labelled], seg.interval[labelled]))
    else:  # concatenation wants time order over all threads
        order = np.lexsort((seg.te[labelled], seg.ts[labelled], seg.interval[labelled]))
    mine = labelled[order]
    wake = np.lexsort((np.arange(len(wk.t)), wk.t, wk.segment))
    ts, te, state = i64(seg.ts), i64(seg.te), i8(seg.state)
    thread_first = i64(np.searchsorted(seg.thread, np.arange(len(trace.threads) + 1)))
    at_start, at_end = _link_tasks(ts, te, state, thread_first, i32(cr.thread), i64(cr.ts), i64(cr.ts2))
    return _Index(
        i32(seg.thread),
        i32(seg.interval),
        ts,
        te,
        state,
        thread_first,
        i64(mine),
        i64(np.searchsorted(seg.interval[mine], np.arange(len(trace.intervals.begin) + 1))),
        i32(wk.waker[wake]),
        i64(wk.t[wake]),
        i64(np.searchsorted(wk.segment[wake], np.arange(n + 1))),
        i32(cr.creator),
        i64(cr.ts),
        at_start,
        at_end,
    )


@njit(cache=True)
def _link_tasks(ts, te, state, thread_first, thread, created, taken):  # type: ignore[no-untyped-def]
    """Created-by edges by the segment that starts, and the queue segment that ends, when the task was taken."""
    at_start = np.full(len(ts), NONE, np.int64)
    at_end = np.full(len(ts), NONE, np.int64)
    for i in range(len(thread)):
        a, b = thread_first[thread[i]], thread_first[thread[i] + 1]
        s = a + np.searchsorted(ts[a:b], taken[i])
        if s < b and ts[s] == taken[i] and (at_start[s] < 0 or created[i] >= created[at_start[s]]):
            at_start[s] = i
        q = s - 1
        ends = q >= a and te[q] == taken[i] and state[q] == QUEUE
        if ends and (at_end[q] < 0 or created[i] >= created[at_end[q]]):
            at_end[q] = i
    return at_start, at_end


@njit(cache=True)
def _walk_all(x, rows, end_thread, begin, end):  # type: ignore[no-untyped-def]
    pieces = List.empty_list(_PIECE)
    waits = List.empty_list(_WAIT)
    for i in rows:
        w = len(waits)
        _walk(x, i, end_thread[i], end[i], begin[i], NONE, pieces, waits)
        while w < len(waits):
            _, _, lo, _, _, _, waker, e = waits[w]
            if waker != NONE:
                _walk(x, i, waker, e, lo, w, pieces, waits)
            w += 1
    return _table(pieces, 6), _table(waits, 8)


@njit(cache=True)
def _table(rows, width):  # type: ignore[no-untyped-def]
    out = np.empty((width, len(rows)), np.int64)
    for i in range(len(rows)):
        row = rows[i]
        for j in range(width):
            out[j, i] = row[j]
    return out


@njit(cache=True)
def _walk(x, interval, thread, e, lo, wait, pieces, waits):  # type: ignore[no-untyped-def]
    """`back` of ALGORITHMS section 2 from (thread, e) down to lo; home is `wait == NONE`."""
    home = wait == NONE
    while e > lo:
        s = _last_before(x, thread, e)
        before = s
        if s != NONE and x.te[s] < e:
            s = NONE
        if home and s != NONE and x.interval[s] != interval and not (x.interval[s] == NONE and x.state[s] == BLOCKED):
            s = NONE
        if s == NONE:
            e = _jump(x, interval, thread, e, lo, wait, before, pieces)
            continue
        start = max(x.ts[s], lo)
        if x.state[s] == EXEC:
            pieces.append((interval, P_EXEC, thread, start, e, wait))
        else:
            _expand(x, interval, thread, s, start, e, wait, pieces, waits)
        e = start
        if home and e > lo:
            thread, e = _follow_task(x, interval, thread, s, e, lo, pieces, waits)


@njit(cache=True)
def _last_before(x, thread, e):  # type: ignore[no-untyped-def]
    """The thread's last segment that starts before e, NONE if there is none."""
    a, b = x.thread_first[thread], x.thread_first[thread + 1]
    s = a + np.searchsorted(x.ts[a:b], e) - 1
    return s if s >= a else NONE


@njit(cache=True)
def _jump(x, interval, thread, e, lo, wait, before, pieces):  # type: ignore[no-untyped-def]
    """No segment counts at e: emits the hole and returns where the walk goes on."""
    if wait == NONE:
        t = _last_mine(x, interval, thread, e)
        kind = P_GAP
    else:
        t = before
        kind = P_UNKNOWN
    if t == NONE:
        pieces.append((interval, P_UNKNOWN, thread, lo, e, wait))
        return lo
    stop = max(x.te[t], lo)
    if stop < e:
        pieces.append((interval, kind, thread, stop, e, wait))
    return stop


@njit(cache=True)
def _last_mine(x, interval, thread, e):  # type: ignore[no-untyped-def]
    """The latest segment of (interval, thread) with te <= e."""
    a, b = x.mine_first[interval], x.mine_first[interval + 1]
    first = a
    while a < b:
        m = (a + b) // 2
        s = x.mine[m]
        if x.thread[s] < thread or (x.thread[s] == thread and x.te[s] <= e):
            a = m + 1
        else:
            b = m
    if a == first or x.thread[x.mine[a - 1]] != thread:
        return NONE
    return x.mine[a - 1]


@njit(cache=True)
def _expand(x, interval, thread, s, start, e, wait, pieces, waits):  # type: ignore[no-untyped-def]
    """The waiting segment s over [start, e]: who ended it, and since when it could run."""
    waker, t = _waker(x, s, e, wait, waits)
    row = len(waits)
    if waker == NONE:
        waits.append((wait, thread, start, e, 0, s, NONE, 0))
        pieces.append((interval, P_BLOCKED_UNKNOWN, thread, start, e, row))
        return
    waits.append((wait, thread, start, e, 0, s, waker if t > start else NONE, t))
    if max(t, start) < e:
        pieces.append((interval, P_SCHED, thread, max(t, start), e, row))


@njit(cache=True)
def _waker(x, s, e, wait, waits):  # type: ignore[no-untyped-def]
    """(waker, time no later than e) of segment s, the latest usable one; (NONE, 0) if nobody is known."""
    if x.state[s] == QUEUE:
        edge = x.task_at_end[s]
        if edge != NONE:
            t = min(x.created_t[edge], e)
            if _usable(x, x.creator[edge], t, s, wait, waits):
                return np.int64(x.creator[edge]), t
        return np.int64(NONE), np.int64(0)
    for k in range(x.wake_first[s + 1] - 1, x.wake_first[s] - 1, -1):
        t = min(x.wake_t[k], e)
        if _usable(x, x.waker[k], t, s, wait, waits):
            return np.int64(x.waker[k]), t
    return np.int64(NONE), np.int64(0)


@njit(cache=True)
def _usable(x, waker, t, s, wait, waits):  # type: ignore[no-untyped-def]
    """False for a self-wake, and for a waker that is waiting at t in a segment whose expansion led here."""
    if waker == NONE or waker == x.thread[s]:
        return False
    while wait != NONE:
        parent, _, _, _, _, expanded, _, _ = waits[wait]
        if expanded != NONE and x.thread[expanded] == waker and x.ts[expanded] < t <= x.te[expanded]:
            return False
        wait = parent
    return True


@njit(cache=True)
def _follow_task(x, interval, thread, s, e, lo, pieces, waits):  # type: ignore[no-untyped-def]
    """At e, the start of home segment s: moves home to the creator of the task that s serves, if there is one.

    A creator that did not work for the interval does not become home: it is walked as a waker, down to the previous
    home segment. An edge that does not go back in time is ignored, so e strictly decreases.
    """
    edge = x.task_at_start[s]
    if edge == NONE or x.created_t[edge] >= e:
        return np.int64(thread), e
    creator, t = np.int64(x.creator[edge]), x.created_t[edge]
    m = _last_before(x, creator, t)
    floor = lo
    moves = m != NONE and x.te[m] >= t and x.interval[m] == interval
    if not moves:
        previous = _last_mine(x, interval, thread, e)
        if previous != NONE:
            floor = max(lo, x.te[previous])
    if max(t, floor) < e:
        pieces.append((interval, P_QUEUE, thread, max(t, floor), e, NONE))
    if moves:
        return creator, max(t, lo)
    if t > floor:
        waits.append((NONE, thread, floor, e, 1, NONE, creator, t))
    return np.int64(thread), floor


@njit(cache=True)
def _concatenate_all(x, rows, end_thread, begin, end):  # type: ignore[no-untyped-def]
    """Without any sync record: the labelled segments in time order, `gap` between them (TProfiler)."""
    pieces = List.empty_list(_PIECE)
    waits = List.empty_list(_WAIT)
    for i in rows:
        now, thread, kind = begin[i], np.int64(end_thread[i]), P_UNKNOWN
        for k in range(x.mine_first[i], x.mine_first[i + 1]):
            s = x.mine[k]
            start, stop = max(x.ts[s], now), min(x.te[s], end[i])
            if start >= stop:
                continue
            thread = np.int64(x.thread[s])
            if start > now:
                pieces.append((i, kind, thread, now, start, NONE))
            if x.state[s] == EXEC:
                pieces.append((i, P_EXEC, thread, start, stop, NONE))
            else:
                waits.append((NONE, thread, start, stop, 0, s, NONE, 0))
                pieces.append((i, P_BLOCKED_UNKNOWN, thread, start, stop, len(waits) - 1))
            now, kind = stop, P_GAP
        if now < end[i]:
            pieces.append((i, kind, thread, now, end[i], NONE))
    return _table(pieces, 6), _table(waits, 8)
