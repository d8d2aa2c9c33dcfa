"""Time in queues without waits for a CPU: a task may lie there because who would take it has none.

    Paths -> [split_queues] -> Paths

The rest of that view, waits for a CPU below the root, is path/view.py's.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from vprof.path.pieces import Paths, Pieces
from vprof.tables.columns import i8, i64
from vprof.tables.kinds import BLOCKED, OFF_CPU, P_QUEUE, P_SCHED, PREEMPTED
from vprof.tables.model import NONE, Int32, Int64, Trace


def split_queues(trace: Trace, paths: Paths) -> Paths:
    """While a task lies in a queue, somebody who would take it may be awake for it and have no CPU: that part waits for
    a CPU, and is `sched` here; in docs/algorithms.md section 2 all of it is `queue`.

    It counts while any thread that takes tasks, and works for nobody, is so; while the thread that took the task is, by
    whatever it was kept busy, or a thread that woke it; and while the one is that puts it into the queue, or a thread
    that woke that one.
    """
    p = paths.pieces
    mine = np.flatnonzero(p.kind == P_QUEUE)
    if not len(mine):
        return paths
    piece, since, until = _lacking_a_cpu(trace, _Windows(p.thread[mine], p.interval[mine], p.start[mine], p.stop[mine]))
    # What is left of a piece lies between its begin, the ends and the begins of these parts, and its end, in turn.
    which = np.r_[np.arange(len(mine)), piece]
    begin, end = np.r_[p.start[mine], until], np.r_[p.stop[mine], since]
    first, last = np.lexsort((begin, which)), np.lexsort((end, which))
    others = np.flatnonzero(p.kind != P_QUEUE)
    of = np.r_[others, mine[piece], mine[which[first]]]
    kind = np.r_[p.kind[others], np.full(len(piece), P_SCHED), np.full(len(which), P_QUEUE)]
    begin, end = np.r_[p.start[others], since, begin[first]], np.r_[p.stop[others], until, end[last]]
    order = np.lexsort((begin, p.interval[of]))
    order = order[begin[order] < end[order]]
    of = of[order]
    pieces = Pieces(p.interval[of], i8(kind[order]), p.thread[of], i64(begin[order]), i64(end[order]), p.wait[of])
    return replace(paths, pieces=pieces)


class _Windows(NamedTuple):
    """Times in which a task lay in a queue; `thread` took it then."""

    thread: Int32
    interval: Int32
    start: Int64
    stop: Int64


def _lacking_a_cpu(trace: Trace, windows: _Windows) -> tuple[Int64, Int64, Int64]:
    """(window, since, until) of their parts that count as waits for a CPU: sorted, and apart from each other."""
    seg, wakes = trace.segments, trace.wakeups
    woken = seg.te.copy()
    order = np.argsort(wakes.t, kind="stable")
    woken[wakes.segment[order]] = wakes.t[order]  # the last wake-up counts
    since = np.where(seg.state == BLOCKED, np.maximum(woken, seg.ts), seg.ts)
    rows = np.flatnonzero(np.isin(seg.state, (BLOCKED, PREEMPTED, OFF_CPU)) & (since < seg.te))
    since, until, thread, interval = since[rows], seg.te[rows], seg.thread[rows], seg.interval[rows]
    takers = trace.created.thread if trace.takers is None else trace.takers
    idle = np.isin(thread, takers) & (interval == NONE)
    every = np.arange(len(windows.start))
    woke = [
        _Spans(key, wakes.t, wakes.t + 1).meeting(who, windows.start, windows.stop + 1)
        for key, who in ((seg.thread[wakes.segment], windows.thread), (seg.interval[wakes.segment], windows.interval))
    ]
    of, wake = (np.concatenate(columns) for columns in zip(*woke, strict=True))
    waker = wakes.waker[wake]
    anybody = np.zeros(len(every), np.int64)
    by_thread = _Spans(thread, since, until)
    parts = [
        (_Spans(np.zeros(np.count_nonzero(idle), np.int64), since[idle], until[idle]), every, anybody),
        (by_thread, every, i64(windows.thread)),
        (by_thread, of, i64(waker)),
        (_Spans(interval, since, until), every, i64(windows.interval)),
    ]
    found = [_cut(spans, window, key, windows) for spans, window, key in parts]
    return _union(*(np.concatenate(columns) for columns in zip(*found, strict=True)))


class _Spans:
    """Spans of time by a key, of which those that meet windows of time are looked up. No key is below NONE."""

    def __init__(self, key: Int32 | Int64, start: Int64, stop: Int64) -> None:
        self.start, self.stop = start, stop
        self._from = int(start.min(initial=0))
        self._length = int(stop.max(initial=0)) - self._from + 1
        self._order = np.lexsort((start, key))
        self._starts = self._at(key[self._order], start[self._order])
        self._reach = np.maximum.accumulate(self._at(key[self._order], stop[self._order]))

    def _at(self, key: Int32 | Int64, t: Int64) -> Int64:
        """Times of one key behind those of the keys below it."""
        return i64(key) * self._length + np.clip(t - self._from, 0, self._length - 1)

    def meeting(self, key: Int32 | Int64, start: Int64, stop: Int64) -> tuple[Int64, Int64]:
        """(window, span): those of a window's key that meet it."""
        first = np.searchsorted(self._reach, self._at(key, start))
        count = np.maximum(np.searchsorted(self._starts, self._at(key, stop), "right") - first, 0)
        window = np.repeat(np.arange(len(start)), count)
        span = self._order[np.arange(len(window)) - np.repeat(np.cumsum(count) - count - first, count)]
        # Not all do: one may lie behind a longer one, and times beyond all spans are looked up as their ends.
        meets = (self.start[span] < stop[window]) & (start[window] < self.stop[span])
        return window[meets], span[meets]


def _cut(spans: _Spans, window: Int64, key: Int64, windows: _Windows) -> tuple[Int64, Int64, Int64]:
    """(window, start, stop) of what the spans of these keys cover of these windows."""
    row, span = spans.meeting(key, windows.start[window], windows.stop[window])
    of = window[row]
    return of, np.maximum(spans.start[span], windows.start[of]), np.minimum(spans.stop[span], windows.stop[of])


def _union(of: Int64, start: Int64, stop: Int64) -> tuple[Int64, Int64, Int64]:
    """What these cover by `of`: in order, apart from each other."""
    if not len(of):
        return of, start, stop
    order = np.lexsort((start, of))
    of, start, stop = of[order], start[order], stop[order]
    begin, length = start.min(), stop.max() - start.min() + 1
    reach = np.maximum.accumulate(of * length + stop - begin)
    first = np.flatnonzero(np.r_[True, (of * length + start - begin)[1:] > reach[:-1]])
    last = np.r_[first[1:] - 1, len(of) - 1]
    return of[first], start[first], reach[last] - of[last] * length + begin
