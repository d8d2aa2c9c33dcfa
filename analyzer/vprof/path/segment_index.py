"""The trace as the walk of critical_path.py looks it up.

Segments + Wakeups + Created  ->  SegmentIndex: what did this thread do last, who ended this wait, who made this task
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from vprof.tables.columns import i64
from vprof.tables.kernels import helper
from vprof.tables.kinds import QUEUE
from vprof.tables.lookup import grouped, latest
from vprof.tables.model import NONE, Created, Int64, Segments, Trace, Wakeups

S_THREAD, S_INTERVAL, S_TS, S_TE, S_STATE = range(5)
S_WAKES = 5
"""First wake-up of the segment, in `wakes`."""
S_TASK_AT_START, S_TASK_AT_END = 6, 7
"""Created-by edge, in `created`, that the segment's start takes up, and that the end of a queue segment takes up."""

K_WAKER, K_TIME, K_SINCE = range(3)
T_CREATOR, T_TIME = range(2)
"""Rows of `wakes` and of `created`."""


class SegmentIndex(NamedTuple):
    """The trace as the walk looks it up; *_first are offsets, one longer than what they index.

    `segments` has one row per S_* and one column per segment, and one more that closes S_WAKES; `wakes` has rows K_*,
    by (segment, t), `created` T_*.
    """

    segments: Int64
    thread_first: Int64  # thread -> its segments
    mine: Int64  # labelled segments by (interval, thread, te)
    mine_first: Int64  # interval -> its part of `mine`
    wakes: Int64
    created: Int64
    near: Int64  # thread -> its segment that was asked for last


def index_of(trace: Trace) -> SegmentIndex:
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
    for k, column in enumerate(columns):
        segments[k, :n] = column
    segments[S_WAKES] = np.r_[0, np.cumsum(np.bincount(wk.segment, minlength=n))]
    segments[S_TASK_AT_START, :n], segments[S_TASK_AT_END, :n] = _tasks(seg, trace.created)
    return SegmentIndex(
        segments,
        i64(np.searchsorted(seg.thread, np.arange(len(trace.threads) + 1))),
        i64(mine),
        i64(mine_first),
        i64(np.stack((wk.waker[wake], wk.t[wake], wk.since[wake]))),
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


@helper
def last_before(x: SegmentIndex, thread: int, e: int) -> int:
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
    return int(low) if low >= a else NONE


@helper
def last_mine(x: SegmentIndex, interval: int, thread: int, e: int) -> int:
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
    return int(x.mine[a - 1])


@helper
def last_to_blame(wakes: Int64, first: int, end: int, e: int) -> int:
    """The last of wakes[first:end] that is to blame since a time before e; first - 1: none. They grow with time."""
    a, b = first, end
    while a < b:
        m = (a + b) // 2
        if wakes[K_SINCE, m] < e:
            a = m + 1
        else:
            b = m
    return a - 1
