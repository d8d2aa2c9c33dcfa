"""Critical paths: which thread's work, wait or idleness fills each nanosecond of an interval.

    Segments + Wakeups + Created + Intervals  ->  Pieces (what the time was) + Waits (where it is nested)

Source: ALGORITHMS section 2 (thesis Algorithm 2, corrected). The walk goes backwards from the end of an interval on its
end thread. A wait met on the way becomes a row of `Waits`; its waker is walked later, over that row's window alone.
So the table of waits is the stack of the recursion, and every thread occurs at most once in a chain of waits.

Guaranteed, and checked on every run: the pieces of an interval partition [begin, end] exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from vprof.columns import i8, i32, i64
from vprof.errors import InvariantError
from vprof.kernels import helper, kernel, roomy
from vprof.lookup import grouped, latest
from vprof.model import BLOCKED, EXEC, NONE, PREEMPTED, QUEUE, Created, Int8, Int32, Int64, Segments, Trace, Wakeups

P_EXEC, P_QUEUE, P_SCHED, P_GAP, P_UNKNOWN, P_BLOCKED_UNKNOWN = range(6)
P_PREEMPTED, P_FAULT, P_DISK, P_OFF_CPU = range(6, 10)
"""Segment states from PREEMPTED on, in their order."""
PIECE_NAMES = ("exec", "queue", "sched", "gap", "unknown", "blocked_unknown", "preempted", "fault", "disk", "off_cpu")


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

    `parent` is the wait of the walk that met this one, NONE on the home path. `anchored`: not a waiting segment but the
    time before a task came from a creator that did not work for the interval; it hangs where `[queue]` would.
    `segment` is the segment that waits (NONE if anchored), `waker` the thread that ended the wait at `ended`, or made
    the task (NONE if nobody is known: `ended` is 0).
    """

    parent: Int32
    thread: Int32
    start: Int64
    stop: Int64
    anchored: Int8
    segment: Int64
    waker: Int32
    ended: Int64


@dataclass(frozen=True)
class Paths:
    pieces: Pieces
    waits: Waits


class _Index(NamedTuple):
    """The trace as the walk looks it up; *_first are offsets, one longer than what they index.

    `segments` has one row per S_* and one column per segment, and one more that closes S_WAKES; `wakes` are (waker, t)
    by (segment, t), `created` (creator, t).
    """

    segments: Int64
    thread_first: Int64  # thread -> its segments
    mine: Int64  # labelled segments by (interval, thread, te)
    mine_first: Int64  # interval -> its part of `mine`
    wakes: Int64
    created: Int64
    near: Int64  # thread -> its segment that was asked for last


S_THREAD, S_INTERVAL, S_TS, S_TE, S_STATE = range(5)
S_WAKES = 5
"""First wake-up of the segment, in `wakes`."""
S_TASK_AT_START, S_TASK_AT_END = 6, 7
"""Created-by edge, in `created`, that the segment's start takes up, and that the end of a queue segment takes up."""

W_PARENT, W_THREAD, W_START, W_STOP, W_ANCHORED, W_SEGMENT, W_WAKER, W_ENDED = range(8)
"""Columns of `Waits` in the walk's table."""

_ROOM = 4
"""Rows that one step of the walk may add to a table."""


def critical_paths(trace: Trace) -> Paths:
    """The critical paths of all intervals that are not ignored."""
    index = _index(trace)
    iv = trace.intervals
    rows = np.flatnonzero(~iv.ignore)
    wanted = i64(np.stack((rows, iv.end_thread[rows], iv.begin[rows], iv.end[rows])))
    pieces, waits = (_walk_all if trace.has_sync else _concatenate_all)(index, wanted)
    paths = _as_columns(pieces, waits.T)
    _check_partition(trace, rows, paths.pieces)
    return paths


def _as_columns(pieces: Int64, waits: Int64) -> Paths:
    return Paths(
        Pieces(*_in_order(pieces)),
        Waits(
            i32(waits[W_PARENT]),
            i32(waits[W_THREAD]),
            i64(waits[W_START]),
            i64(waits[W_STOP]),
            i8(waits[W_ANCHORED]),
            i64(waits[W_SEGMENT]),
            i32(waits[W_WAKER]),
            i64(waits[W_ENDED]),
        ),
    )


@kernel
def _in_order(pieces):  # type: ignore[no-untyped-def]
    """The columns of `Pieces`: those of each interval, which come together, in order of time."""
    n = len(pieces)
    interval, kind, thread = np.empty(n, np.int32), np.empty(n, np.int8), np.empty(n, np.int32)
    start, stop, wait = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int32)
    _put_in_order(pieces, np.empty(n, np.int64), interval, kind, thread, start, stop, wait)
    return interval, kind, thread, start, stop, wait


@helper
def _put_in_order(pieces, order, interval, kind, thread, start, stop, wait):  # type: ignore[no-untyped-def]
    begin = 0
    for i in range(len(pieces)):
        order[i] = i
        if i + 1 == len(pieces) or pieces[i + 1, 0] != pieces[i, 0]:
            _sort_by_start(pieces, order, begin, i + 1)
            begin = i + 1
    for i in range(len(pieces)):
        row = pieces[order[i]]
        interval[i], kind[i], thread[i], start[i], stop[i], wait[i] = row[0], row[1], row[2], row[3], row[4], row[5]


@helper
def _sort_by_start(pieces, order, begin, end):  # type: ignore[no-untyped-def]
    """Shell sort of order[begin:end]: most intervals have a few dozens of pieces. The path comes backwards."""
    low, high = begin, end - 1
    while low < high:
        order[low], order[high] = order[high], order[low]
        low, high = low + 1, high - 1
    gap = 1
    while 3 * gap + 1 < end - begin:
        gap = 3 * gap + 1
    while gap:
        for i in range(begin + gap, end):
            row, j = order[i], i
            time = pieces[row, 3]
            while j >= begin + gap and pieces[order[j - gap], 3] > time:
                order[j] = order[j - gap]
                j -= gap
            order[j] = row
        gap //= 3


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
    seg, wk = trace.segments, trace.wakeups
    n = len(seg.ts)
    if trace.has_sync:  # segments come by thread and time
        intervals = max(int(seg.interval.max(initial=NONE)) + 1, len(trace.intervals.begin))
        first, row = grouped(seg.interval, intervals)
        mine, mine_first = row, first[: len(trace.intervals.begin) + 1]
    else:  # concatenation wants time order over all threads
        labelled = np.flatnonzero(seg.interval != NONE)
        mine = labelled[np.lexsort((seg.te[labelled], seg.ts[labelled], seg.interval[labelled]))]
        mine_first = np.searchsorted(seg.interval[mine], np.arange(len(trace.intervals.begin) + 1))
    wake = _by_segment(wk)
    segments = np.full((8, n + 1), NONE, np.int64)
    columns: list[Any] = [seg.thread, seg.interval, seg.ts, seg.te, seg.state]
    for row, column in enumerate(columns):
        segments[row, :n] = column
    segments[S_WAKES] = np.r_[0, np.cumsum(np.bincount(wk.segment, minlength=n))]
    segments[S_TASK_AT_START, :n], segments[S_TASK_AT_END, :n] = _tasks(seg, trace.created)
    return _Index(
        segments,
        i64(np.searchsorted(seg.thread, np.arange(len(trace.threads) + 1))),
        i64(mine),
        i64(mine_first),
        i64(np.stack((wk.waker[wake], wk.t[wake]))),
        i64(np.stack((trace.created.creator, trace.created.ts))),
        np.zeros(len(trace.threads), np.int64),
    )


def _by_segment(wakeups: Wakeups) -> Int64:
    """The rows by segment, then time."""
    if np.all(wakeups.segment[1:] > wakeups.segment[:-1]):
        return np.arange(len(wakeups.segment))
    return np.lexsort((wakeups.t, wakeups.segment))


def _tasks(seg: Segments, created: Created) -> tuple[Int64, Int64]:
    """By segment the created-by edge taken at its start, and at its end if it is a queue segment; NONE if none was.

    Of several edges the latest creation wins, among equal ones the last.
    """
    at_start, at_end = np.full((2, len(seg.ts)), NONE, np.int64)
    if not len(created.ts) or not len(seg.ts):
        return at_start, at_end
    edges = np.argsort(created.ts, kind="stable")
    start = latest(seg.thread, seg.ts, created.thread, created.ts2)[edges]
    taken = (start != NONE) & (seg.ts[start] == created.ts2[edges])
    at_start[start[taken]] = edges[taken]  # of several the last stays
    queue = np.flatnonzero(seg.state == QUEUE)
    if len(queue):
        row = latest(seg.thread[queue], seg.te[queue], created.thread, created.ts2)[edges]
        end = queue[row]
        taken = (row != NONE) & (seg.te[end] == created.ts2[edges])
        at_end[end[taken]] = edges[taken]
    return at_start, at_end


@kernel
def _walk_all(x, intervals):  # type: ignore[no-untyped-def]
    """`intervals`: rows number, end thread, begin, end. Returns the tables of pieces and of waits."""
    pieces, waits, count = np.empty((1024, 6), np.int64), np.empty((1024, 8), np.int64), np.zeros(2, np.int64)
    done = 0
    while True:
        done = _walk_from(x, intervals, done, pieces, waits, count)
        if done == intervals.shape[1]:
            return pieces[: count[0]], waits[: count[1]]
        pieces, waits = roomy(pieces, count[0], len(pieces) + 1), roomy(waits, count[1], len(waits) + 1)


@helper
def _walk_from(x, intervals, k, pieces, waits, count):  # type: ignore[no-untyped-def]
    """Walks from interval k on; returns the first one for which there is no room, or their number."""
    while k < intervals.shape[1]:
        n_pieces, n_waits = count[0], count[1]
        if not _walk_interval(
            x, intervals[0, k], intervals[1, k], intervals[2, k], intervals[3, k], pieces, waits, count
        ):
            count[0], count[1] = n_pieces, n_waits
            return k
        k += 1
    return k


@helper
def _walk_interval(x, interval, thread, lo, e, pieces, waits, count):  # type: ignore[no-untyped-def]
    """The home path from the end `e` on, then each waker's, as the waits turn up. False without room."""
    w, wait = count[1] - 1, NONE
    while True:
        if not _walk(x, interval, thread, e, lo, wait, pieces, waits, count):
            return False
        w += 1
        while w < count[1] and (waits[w, W_WAKER] == NONE or waits[w, W_ENDED] <= waits[w, W_START]):
            w += 1
        if w == count[1]:
            return True
        thread, lo, e, wait = waits[w, W_WAKER], waits[w, W_START], waits[w, W_ENDED], w


@helper
def _piece(pieces, count, interval, kind, thread, start, stop, wait):  # type: ignore[no-untyped-def]
    """Adds a piece, unless it is empty."""
    if start < stop:
        row = pieces[count[0]]
        row[0], row[1], row[2], row[3], row[4], row[5] = interval, kind, thread, start, stop, wait
        count[0] += 1


@helper
def _wait(waits, count, parent, thread, start, stop, anchored, segment, waker, ended):  # type: ignore[no-untyped-def]
    row = waits[count[1]]
    row[W_PARENT], row[W_THREAD], row[W_START], row[W_STOP] = parent, thread, start, stop
    row[W_ANCHORED], row[W_SEGMENT], row[W_WAKER], row[W_ENDED] = anchored, segment, waker, ended
    count[1] += 1


@helper
def _walk(x, interval, thread, e, lo, wait, pieces, waits, count):  # type: ignore[no-untyped-def]
    """`back` of ALGORITHMS section 2 from (thread, e) down to lo; home is `wait == NONE`. False without room."""
    home = wait == NONE
    segments = x.segments
    while e > lo:
        if _are_full(pieces, waits, count):
            return False
        s = _last_before(x, thread, e)
        before = s
        if s != NONE and (segments[S_TE, s] < e or (home and not _counts_at_home(segments, s, interval))):
            s = NONE
        if s == NONE:
            t = _last_mine(x, interval, thread, e) if home else before
            stop = lo if t == NONE else max(segments[S_TE, t], lo)
            _piece(pieces, count, interval, P_GAP if home and t != NONE else P_UNKNOWN, thread, stop, e, wait)
            e = stop
            continue
        start = max(segments[S_TS, s], lo)
        state = segments[S_STATE, s]
        if state == EXEC or state >= PREEMPTED:
            _piece(pieces, count, interval, _alone(state), thread, start, e, wait)
        else:
            _expand(x, interval, thread, s, start, e, wait, pieces, waits, count)
        e = start
        if home and e > lo and segments[S_TASK_AT_START, s] != NONE:
            thread, e = _follow_task(x, interval, thread, s, e, lo, pieces, waits, count)
    return True


@helper
def _are_full(pieces, waits, count):  # type: ignore[no-untyped-def]
    """Whether a step of the walk may need more room."""
    return count[0] + _ROOM > len(pieces) or count[1] + _ROOM > len(waits)


@helper
def _alone(state):  # type: ignore[no-untyped-def]
    """The piece of a segment in which the thread waits for nobody."""
    return P_EXEC if state == EXEC else P_PREEMPTED + state - PREEMPTED


@helper
def _counts_at_home(segments, s, interval):  # type: ignore[no-untyped-def]
    """The interval's own segments, and waits that nobody's label covers."""
    label = segments[S_INTERVAL, s]
    return label == interval or (label == NONE and segments[S_STATE, s] == BLOCKED)


@helper
def _last_before(x, thread, e):  # type: ignore[no-untyped-def]
    """The thread's last segment that starts before e, NONE if there is none. Near the one that was asked for last: the
    search begins there."""
    a, b = x.thread_first[thread], x.thread_first[thread + 1]
    if a == b:
        return NONE
    starts, width = x.segments[S_TS], 1
    low = high = min(max(x.near[thread], a), b - 1)
    if starts[low] < e:
        high = low + 1
        while high < b and starts[high] < e:
            low, high, width = high, high + width, 2 * width
        high = min(high, b)
    else:
        low = high - 1
        while low >= a and starts[low] >= e:
            low, high, width = low - width, low, 2 * width
        low = max(low, a - 1)
    while high - low > 1:
        m = (low + high) // 2
        if starts[m] < e:
            low = m
        else:
            high = m
    x.near[thread] = low
    return low if low >= a else NONE


@helper
def _last_mine(x, interval, thread, e):  # type: ignore[no-untyped-def]
    """The latest segment of (interval, thread) with te <= e."""
    a, b = x.mine_first[interval], x.mine_first[interval + 1]
    first = a
    while a < b:
        m = (a + b) // 2
        s = x.mine[m]
        if x.segments[S_THREAD, s] < thread or (x.segments[S_THREAD, s] == thread and x.segments[S_TE, s] <= e):
            a = m + 1
        else:
            b = m
    if a == first or x.segments[S_THREAD, x.mine[a - 1]] != thread:
        return NONE
    return x.mine[a - 1]


@helper
def _expand(x, interval, thread, s, start, e, wait, pieces, waits, count):  # type: ignore[no-untyped-def]
    """The waiting segment s over [start, e]: who ended it (the latest usable waker), and since when it could run."""
    row = count[1]
    by_task = x.segments[S_STATE, s] == QUEUE
    task = x.segments[S_TASK_AT_END, s]
    edges = x.created if by_task else x.wakes
    k, first = x.segments[S_WAKES, s + 1] - 1, x.segments[S_WAKES, s]
    if by_task:
        k, first = task, max(task, 0)
    while k >= first and not _usable(x, edges[0, k], min(edges[1, k], e), s, wait, waits):
        k -= 1
    if k < first:
        _wait(waits, count, wait, thread, start, e, 0, s, NONE, 0)
        _piece(pieces, count, interval, P_BLOCKED_UNKNOWN, thread, start, e, row)
        return
    t = min(edges[1, k], e)
    _wait(waits, count, wait, thread, start, e, 0, s, edges[0, k], t)
    _piece(pieces, count, interval, P_SCHED, thread, max(t, start), e, row)


@helper
def _usable(x, waker, t, s, wait, waits):  # type: ignore[no-untyped-def]
    """False for a self-wake, and for a waker that is waiting at t in a segment whose expansion led here."""
    if waker == NONE or waker == x.segments[S_THREAD, s]:
        return False
    while wait != NONE:
        expanded = waits[wait, W_SEGMENT]
        waiting = expanded != NONE and x.segments[S_TS, expanded] < t <= x.segments[S_TE, expanded]
        if waiting and x.segments[S_THREAD, expanded] == waker:
            return False
        wait = waits[wait, W_PARENT]
    return True


@helper
def _follow_task(x, interval, thread, s, e, lo, pieces, waits, count):  # type: ignore[no-untyped-def]
    """At e, the start of home segment s: moves home to the creator of the task that s serves.

    A creator that did not work for the interval does not become home: it is walked as a waker, down to the previous
    home segment, unless nobody is known to have created the task. An edge that does not go back in time is ignored, so
    e strictly decreases.
    """
    edge = x.segments[S_TASK_AT_START, s]
    creator, t = x.created[0, edge], x.created[1, edge]
    if t >= e:
        return thread, e
    m = _last_before(x, creator, t) if creator != NONE else NONE
    floor = lo
    moves = m != NONE and x.segments[S_TE, m] >= t and x.segments[S_INTERVAL, m] == interval
    if not moves:
        previous = _last_mine(x, interval, thread, e)
        if previous != NONE:
            floor = max(lo, x.segments[S_TE, previous])
    _piece(pieces, count, interval, P_QUEUE, thread, max(t, floor), e, NONE)
    if moves:
        return creator, max(t, lo)
    if t > floor and creator != NONE:
        _wait(waits, count, NONE, thread, floor, e, 1, NONE, creator, t)
    return thread, floor


@kernel
def _concatenate_all(x, intervals):  # type: ignore[no-untyped-def]
    """Without any sync record: the labelled segments in time order, `gap` between them (TProfiler)."""
    pieces, waits, count = np.empty((64, 6), np.int64), np.empty((64, 8), np.int64), np.zeros(2, np.int64)
    for row in range(intervals.shape[1]):
        i, thread, now, end = intervals[0, row], intervals[1, row], intervals[2, row], intervals[3, row]
        kind = P_UNKNOWN
        for k in range(x.mine_first[i], x.mine_first[i + 1]):
            s = x.mine[k]
            start, stop = max(x.segments[S_TS, s], now), min(x.segments[S_TE, s], end)
            if start >= stop:
                continue
            pieces, waits = roomy(pieces, count[0], _ROOM), roomy(waits, count[1], _ROOM)
            thread = x.segments[S_THREAD, s]
            _piece(pieces, count, i, kind, thread, now, start, NONE)
            state = x.segments[S_STATE, s]
            if state == EXEC or state >= PREEMPTED:
                _piece(pieces, count, i, _alone(state), thread, start, stop, NONE)
            else:
                _piece(pieces, count, i, P_BLOCKED_UNKNOWN, thread, start, stop, count[1])
                _wait(waits, count, NONE, thread, start, stop, 0, s, NONE, 0)
            now, kind = stop, P_GAP
        pieces = roomy(pieces, count[0], _ROOM)
        _piece(pieces, count, i, kind, thread, now, end, NONE)
    return pieces[: count[0]], waits[: count[1]]
