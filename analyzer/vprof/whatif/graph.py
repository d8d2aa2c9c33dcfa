"""A trace as a graph that can be timed anew (docs/algorithms.md section 11).

    Trace  ->  Graph: moments of threads, what fills the time between two of them, which moments others wait for

A *moment* is a time of a thread at which something happens: a segment begins or ends, the thread wakes another, makes a
task or takes one up, an interval or a changed call begins or ends. Moments of one thread are apart from each other, and
in order. Times are ns since the graph's `origin`; all edges go forward in time, or stay at it.

What nobody of the trace did, such as requests that were made outside, happens on one thread more, whose moments stay.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from vprof.errors import TraceError
from vprof.tables.columns import i32, i64
from vprof.tables.kernels import helper, kernel, loop
from vprof.tables.kinds import BLOCKED, EXEC, IDLE, QUEUE
from vprof.tables.lookup import grouped, latest
from vprof.tables.model import NONE, Bool, Int32, Int64, Segments, Trace, Wakeups

MOST_NS = 1 << 53
"""New times are doubles, which hold whole numbers up to here."""
_DAY_NS = 86400e9


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


class Graph(NamedTuple):
    """Moments by (thread, time). Of the time that ends at a moment: `segment`, the row of `Segments` it belongs to,
    NONE where nothing is recorded; `wait`, the row of `waits` it belongs to. A task that was taken up at a moment n was
    made at the moments made[made_first[n]:made_first[n + 1]]."""

    thread: Int64
    time: Int64
    first: Int64  # thread -> its moments
    segment: Int64
    wait: Int64
    made_first: Int64
    made: Int64
    waits: Waits


@dataclass(frozen=True)
class Moments:
    """Moments by (thread, time), and the way to them. `times`: None, or all times that there are, whose ranks the keys
    count where the times themselves are too large."""

    origin: int
    key: Int64
    threads: int
    span: int
    times: Int64 | None

    @classmethod
    def of(cls, threads: int, thread: Int64, t: Int64) -> Moments:
        """Raises TraceError if the times lie too far apart."""
        origin = int(t.min()) if len(t) else 0
        span = int(t.max(initial=origin)) - origin + 2
        if span >= MOST_NS:
            raise TraceError(f"the trace spans {span / _DAY_NS:.0f} days: it cannot be replayed")
        times = None
        if (threads + 1) * span >= 1 << 62:
            times = _distinct(t)
            span = len(times) + 1
        empty = np.zeros(0, np.int64)
        key = _distinct(cls(origin, empty, threads, span, times)._keys(thread, t))
        return cls(origin, key, threads, span, times)

    def _keys(self, thread: Int64 | Int32, t: Int64) -> Int64:
        """Of a time between two, where ranks count: that of the later one."""
        at = np.searchsorted(self.times, t) if self.times is not None else np.clip(t - self.origin, 0, self.span - 1)
        return i64(thread) * self.span + at

    def at(self, thread: Int64 | Int32, t: Int64) -> Int64:
        """The moments at these times. REQUIRES: there are such."""
        return i64(np.searchsorted(self.key, self._keys(thread, t)))

    def before(self, thread: Int64 | Int32, t: Int64) -> Int64:
        """The last moment of the thread not after each time, NONE if it has none."""
        last = np.searchsorted(self.key, self._keys(thread, t + 1)) - 1
        found: Int64 = np.where((last >= 0) & (np.r_[self.key, 0][last] // self.span == thread), last, NONE)
        return found

    def columns(self) -> tuple[Int64, Int64]:
        """Thread and time of each, in ns since the origin."""
        thread, at = np.divmod(self.key, self.span)
        return i64(thread), i64(at if self.times is None else self.times[at] - self.origin)


def _distinct(values: Int64) -> Int64:
    """In order. (np.unique takes a hash table, and twenty times as long.)"""
    ordered = np.sort(values)
    return i64(ordered[np.r_[True, ordered[1:] != ordered[:-1]][: len(ordered)]])


class Built(NamedTuple):
    """A graph; its moments, to find them; those at which the trace's intervals begin and end; whether the time that
    ends at a moment is one in which a thread waits for a request to come."""

    graph: Graph
    moments: Moments
    begin: Int64
    end: Int64
    arrives: Bool


def build(trace: Trace, calls: Int64) -> Built:
    """`calls`: the rows of invocations that begin and end at moments."""
    seg, made, iv, inv = trace.segments, trace.created, trace.intervals, trace.invocations
    threads = outside = len(trace.threads)
    wake, deciding = trace.wakeups, _deciding(trace.wakeups, seg)
    from_outside = _made_outside(trace)
    creator = np.where(made.creator == NONE, outside, made.creator)
    begin_thread = np.where(from_outside, outside, iv.begin_thread)
    of = [seg.thread, seg.thread, wake.waker[deciding], creator, made.thread, begin_thread, iv.end_thread]
    at = [seg.ts, seg.te, wake.t[deciding], made.ts, made.ts2, iv.begin, iv.end]
    of += [inv.thread[calls], inv.thread[calls]]
    at += [inv.fs[calls], inv.fe[calls]]
    moments = Moments.of(threads, i64(np.concatenate(of)), i64(np.concatenate(at)))
    thread, time = moments.columns()
    first = i64(np.searchsorted(thread, np.arange(threads + 2)))
    starts, ends = moments.at(seg.thread, seg.ts), moments.at(seg.thread, seg.te)
    segment = _between(starts, ends, len(thread))
    woken_by = np.full(len(seg.ts), NONE, np.int64)
    woken_by[wake.segment[deciding]] = moments.at(wake.waker[deciding], wake.t[deciding])
    tasks = _Tasks(moments.at(made.thread, made.ts2), moments.at(creator, made.ts), i64(made.ts))
    made_first, by_moment = grouped(i32(tasks.taken), len(thread))
    rows = _Rows(i64(seg.thread), i64(seg.interval), i64(seg.state), starts, ends)
    wait, waits = _waits(rows, tasks, _Line(thread, time, first), woken_by)
    graph = Graph(thread, time, first, segment, wait, made_first, i64(tasks.made[by_moment]), waits)
    begins, stops = moments.at(begin_thread, iv.begin), moments.at(iv.end_thread, iv.end)
    return Built(graph, moments, begins, stops, _arrivals(graph, seg, begins[~from_outside]))


def _deciding(wakeups: Wakeups, seg: Segments) -> Int64:
    """Rows of the wake-ups that ended a wait: of each blocked segment the last one, by another thread."""
    rows = np.flatnonzero(
        (wakeups.waker != NONE) & (wakeups.waker != wakeups.thread) & (seg.state[wakeups.segment] == BLOCKED)
    )
    rows = rows[np.lexsort((wakeups.t[rows], wakeups.segment[rows]))]
    of = wakeups.segment[rows]
    last: Int64 = rows[np.r_[of[1:] != of[:-1], True][: len(rows)]]
    return last


def _made_outside(trace: Trace) -> Bool:
    """The intervals that begin when their request was made, by nobody of the program."""
    made, iv = trace.created, trace.intervals
    nobody = np.flatnonzero(made.creator == NONE)
    row = latest(made.thread[nobody], made.ts[nobody], iv.begin_thread, iv.begin)
    found: Bool = (row != NONE) & (np.r_[made.ts[nobody], 0][row] == iv.begin)
    return found


@kernel
def _between(starts: Int64, ends: Int64, count: int) -> Int64:
    """By moment the row whose time ends there, or goes on; NONE if there is none."""
    row = np.full(count, NONE, np.int64)
    for s in range(len(starts)):
        for n in range(starts[s] + 1, ends[s] + 1):
            row[n] = s
    return row


class _Rows(NamedTuple):
    """Segments, and the moments at which they begin and end."""

    thread: Int64
    interval: Int64
    state: Int64
    start: Int64
    end: Int64


class _Tasks(NamedTuple):
    """Tasks that were handed over: the moments at which they were taken up and made; `t`: when they were made."""

    taken: Int64
    made: Int64
    t: Int64


W_START, W_END, W_BY, W_WOKEN, W_DELAY, W_LATE, W_BY_TASK = range(7)
"""Columns of `Waits` in the making."""


class _Line(NamedTuple):
    """As in `Graph`."""

    thread: Int64
    time: Int64
    first: Int64


@kernel
def _waits(seg: _Rows, tasks: _Tasks, line: _Line, woken_by: Int64) -> tuple[Int64, Waits]:
    """`woken_by`: by segment the moment that ended it, NONE if nobody is known to have; tasks are added to it. Returns
    the waits, and by moment the one it lies in or ends."""
    rows = np.empty((len(seg.thread) + len(tasks.taken), 7), np.int64)
    of, last = np.full(len(line.time), NONE, np.int64), np.full(len(line.time), NONE, np.int64)
    n = _fill(seg, tasks, line, woken_by, last, of, rows)
    columns = rows[:n].T.copy()
    late, by_task = columns[W_LATE] != 0, columns[W_BY_TASK] != 0
    return of, Waits(columns[W_START], columns[W_END], columns[W_BY], columns[W_WOKEN], columns[W_DELAY], late, by_task)


@loop
def _fill(seg: _Rows, tasks: _Tasks, line: _Line, woken_by: Int64, last: Int64, of: Int64, rows: Int64) -> int:
    """Fills `of` and `rows`, and `last`: by moment the task that was taken up there, of several the one made last.
    Returns how many waits there are."""
    for k in range(len(tasks.taken)):
        m = tasks.taken[k]
        if last[m] == NONE or tasks.t[k] >= tasks.t[last[m]]:
            last[m] = k
    n = 0
    for s in range(len(seg.thread)):
        if woken_by[s] != NONE:
            n = _add(seg.start[s], seg.end[s], woken_by[s], 0, line, of, rows, n)
    s = -1  # the last segment that begins before the moment
    for m in range(len(last)):
        while s + 1 < len(seg.thread) and seg.start[s + 1] < m:
            s += 1
        if last[m] != NONE:
            n = _add_task(seg, line, m, tasks.made[last[m]], s, woken_by, of, rows, n)
    return n


@helper
def _add_task(seg: _Rows, line: _Line, m: int, by: int, s: int, woken_by: Int64, of: Int64, rows: Int64, n: int) -> int:
    """Adds the wait that a task ended which was taken up at moment m, if the thread waited for it."""
    time, begin = line.time, line.first[line.thread[m]]
    known = s >= 0 and seg.thread[s] == line.thread[m]
    if not known or seg.end[s] < m:  # nothing is recorded directly before
        start = seg.end[s] if known else (begin if begin < m else NONE)
        return _add(start, m, by, 1, line, of, rows, n)
    w = _idle_before(seg, s, woken_by) if seg.end[s] == m else NONE
    if w != NONE and (seg.end[w] == m or time[seg.start[w]] <= time[by] <= time[seg.end[w]]):
        woken_by[w] = by
        n = _add(seg.start[w], seg.end[w], by, 1, line, of, rows, n)
    return n


@helper
def _idle_before(seg: _Rows, s: int, woken_by: Int64) -> int:
    """The wait that nobody is known to have ended, after which the thread did nothing for an interval until the end of
    segment s; NONE if there is none."""
    while seg.state[s] == EXEC and seg.interval[s] == NONE and s > 0:
        if seg.thread[s - 1] != seg.thread[s] or seg.end[s - 1] != seg.start[s]:
            return NONE
        s -= 1
    waits = seg.state[s] == BLOCKED or seg.state[s] == QUEUE or seg.state[s] == IDLE
    return s if waits and woken_by[s] == NONE else NONE


@helper
def _add(start: int, end: int, by: int, by_task: int, line: _Line, of: Int64, rows: Int64, n: int) -> int:
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


def _arrivals(graph: Graph, seg: Segments, begins: Int64) -> Bool:
    """By moment, whether the time that ends there is the last one in which its thread waited for what comes from
    outside, before an interval began."""
    is_outside = np.isin(seg.state, (BLOCKED, QUEUE, IDLE)) & (seg.interval == NONE)
    waits = np.r_[is_outside, True][graph.segment] & (graph.wait == NONE)
    waits[graph.first[:-1][graph.first[:-1] < len(waits)]] = False
    works = np.r_[seg.interval == NONE, True][graph.segment]
    return _last_outside(graph.first, graph.thread, waits, works, begins)


@kernel
def _last_outside(first: Int64, thread: Int64, waits: Bool, idle: Bool, begins: Int64) -> Bool:
    """`idle`: the thread works for no interval."""
    found = np.zeros(len(thread), np.bool_)
    for begin in begins:
        n = begin
        while n > first[thread[n]] and idle[n] and not waits[n]:
            n -= 1
        found[n] = found[n] or (n > first[thread[n]] and waits[n])
    return found
