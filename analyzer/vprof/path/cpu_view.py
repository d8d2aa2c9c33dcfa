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
    whatever it was kept busy, or the one that puts the task into the queue; and while one of these is blocked, and the
    thread is so that it waits for, or that one waits for, and so on: a convoy at the queue's lock is one of its
    holder's wait for a CPU.
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


class _Times(NamedTuple):
    """Times of threads: from `start` to `stop` a task, of the window `of`, gets on no sooner than `thread` does."""

    of: Int64
    thread: Int64
    start: Int64
    stop: Int64

    @property
    def length(self) -> int:
        return int((self.stop - self.start).sum())


def _lacking_a_cpu(trace: Trace, windows: _Windows) -> tuple[Int64, Int64, Int64]:
    """(window, since, until) of their parts that count as waits for a CPU: sorted, and apart from each other."""
    seg, wakes = trace.segments, trace.wakeups
    # Of a wait: from each wake-up to the time from which on the next one's thread is to blame, or to the end.
    order = np.lexsort((wakes.t, wakes.segment))
    waits, woken = wakes.segment[order], np.maximum(wakes.t[order], seg.ts[wakes.segment[order]])
    is_last = np.r_[waits[1:] != waits[:-1], True][: len(waits)]
    next_blamed = np.where(is_last, seg.te[waits], np.r_[wakes.since[order][1:], 0][: len(waits)])
    off = np.flatnonzero(np.isin(seg.state, (PREEMPTED, OFF_CPU)))
    rows, since, until = np.r_[off, waits], np.r_[seg.ts[off], woken], np.r_[seg.te[off], next_blamed]
    lacking = (since < until) & np.isin(seg.state[rows], (BLOCKED, PREEMPTED, OFF_CPU))
    rows, since, until = rows[lacking], since[lacking], until[lacking]
    thread = seg.thread[rows]
    takers = trace.created.thread if trace.takers is None else trace.takers
    idle = np.isin(thread, takers) & (seg.interval[rows] == NONE)
    every = np.arange(len(windows.start))
    anybody = _Spans(np.zeros(np.count_nonzero(idle), np.int64), since[idle], until[idle])
    decisive = _decisive(trace, windows)
    _, of, start, stop = _clipped(_Spans(thread, since, until), decisive)
    _, window, begin, end = _clipped(anybody, _Times(every, np.zeros_like(every), windows.start, windows.stop))
    return _union(np.r_[of, window], np.r_[start, begin], np.r_[stop, end])


def _decisive(trace: Trace, windows: _Windows) -> _Times:
    """Of the thread that took the task and the one that puts it in, and of who these wait for, and so on."""
    seg, wakes = trace.segments, trace.wakeups
    begun = np.maximum(wakes.since, seg.ts[wakes.segment])
    waits = _Spans(seg.thread[wakes.segment], begun, wakes.t)
    every = np.arange(len(windows.start))
    own = _Times(every, i64(windows.interval), windows.start, windows.stop)
    row, of, start, stop = _clipped(_Spans(seg.interval, seg.ts, seg.te), own)
    found = _together(
        _Times(every, i64(windows.thread), windows.start, windows.stop), _Times(of, i64(seg.thread[row]), start, stop)
    )
    # At one time each thread waits for few, so there are as many rounds as the longest chain of waits has threads.
    while True:
        row, of, start, stop = _clipped(waits, found)
        more = _together(found, _Times(of, i64(wakes.waker[row]), start, stop))
        if more.length == found.length:
            return found
        found = more


def _together(one: _Times, other: _Times) -> _Times:
    """What either covers."""
    of, thread, start, stop = (np.concatenate(columns) for columns in zip(one, other, strict=True))
    threads = thread.max(initial=NONE) - NONE + 1
    keys, key = np.unique(of * threads + thread - NONE, return_inverse=True)
    row, start, stop = _union(i64(key), start, stop)
    return _Times(keys[row] // threads, keys[row] % threads + NONE, start, stop)


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


def _clipped(spans: _Spans, times: _Times) -> tuple[Int64, Int64, Int64, Int64]:
    """(span, window, start, stop) of the spans, by thread, that meet these times, as far as they do."""
    row, span = spans.meeting(times.thread, times.start, times.stop)
    return (
        span,
        times.of[row],
        np.maximum(spans.start[span], times.start[row]),
        np.minimum(spans.stop[span], times.stop[row]),
    )


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
