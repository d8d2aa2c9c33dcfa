"""A trace with other times: what a replay found, as a trace that can be analyzed.

    Trace + Clock: moments + Times  ->  Trace

Whole ns. What takes no time any more is left out, waits too; the rest stays in order: a thread's new times never
decrease. Between two moments time passes evenly.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from vprof.tables.columns import i32, i64
from vprof.tables.kernels import kernel
from vprof.tables.model import (
    NONE,
    SINCE_ALWAYS,
    Attempts,
    Created,
    Float,
    Int32,
    Int64,
    Intervals,
    Segments,
    Trace,
    Wakeups,
)
from vprof.whatif.graph import Moments
from vprof.whatif.replay import Times

_FOREVER = int(np.iinfo(np.int64).max)


class Clock:
    """When something happens that happened at a time of a thread."""

    def __init__(self, moments: Moments, times: Times) -> None:
        self._moments, self._times = moments, times
        self._thread, self._time = moments.columns()

    def at(self, thread: Int32 | Int64, t: Int64) -> Float:
        """In ns since the origin. Before a thread's first moment and after its last one all moves with that."""
        thread = i64(thread)
        last = self._moments.before(thread, t)
        size = len(self._time)
        if not size:
            return np.asarray(t - self._moments.origin, np.float64)
        following = np.minimum(last + 1, size - 1)
        relative = (t - self._moments.origin).astype(np.float64)
        since = relative - self._time[last]
        length = (self._time[following] - self._time[last]).astype(np.float64)
        inside = (self._thread[following] == thread) & (following > last) & (length > 0)
        rate = np.divide(self._times.at[following] - self._times.after[last], length, out=np.ones(len(t)), where=inside)
        new = np.where(since == 0, self._times.at[last], self._times.after[last] + since * rate)
        return np.where(last == NONE, relative, new)

    def ns(self, thread: Int32 | Int64, t: Int64) -> Int64:
        """In whole ns, as the trace counts them."""
        return i64(np.floor(self.at(thread, t) + 0.5)) + self._moments.origin


def retimed(trace: Trace, clock: Clock, begin: Int64, end: Int64) -> Trace:
    """What the trace would have been. `begin`, `end`: of each interval, new."""
    inv, iv, made = trace.invocations, trace.intervals, trace.created
    outside = i64(np.full(len(made.ts), len(trace.threads)))
    creator = np.where(made.creator == NONE, outside, made.creator)
    order = np.argsort(begin, kind="stable")
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    label = _labels(trace, number)
    segments, wakeups = _segments(trace, clock)
    ts2 = clock.ns(made.thread, made.ts2)
    return replace(
        trace,
        interval_ids=[*(trace.interval_ids[i] for i in order), *trace.interval_ids[len(order) :]],
        segments=replace(segments, interval=i32(label[segments.interval])),
        invocations=replace(
            inv, interval=i32(label[inv.interval]), fs=clock.ns(inv.thread, inv.fs), fe=clock.ns(inv.thread, inv.fe)
        ),
        wakeups=wakeups,
        created=Created(made.creator, np.minimum(clock.ns(creator, made.ts), ts2 - 1), made.thread, ts2),
        intervals=Intervals(
            iv.type[order], iv.begin_thread[order], begin[order], iv.end_thread[order], end[order], iv.ignore[order]
        ),
        attempts=_attempts(trace.attempts, number, clock, begin, end),
        wait_samples=replace(trace.wait_samples, interval=i32(label[trace.wait_samples.interval])),
        slices=[],
        probe_ns=None,
    )


def _labels(trace: Trace, number: Int64) -> Int64:
    """By label its new number, those of no interval as they are; the last serves NONE."""
    tables = (trace.segments.interval, trace.invocations.interval, trace.wait_samples.interval)
    most = max(len(number), *(int(column.max(initial=NONE)) + 1 for column in tables))
    label = np.r_[np.arange(most), NONE]
    label[: len(number)] = number
    return i64(label)


def _segments(trace: Trace, clock: Clock) -> tuple[Segments, Wakeups]:
    """Those that still take time, and the wake-ups of waits among them."""
    seg, wake = trace.segments, trace.wakeups
    ts, te = clock.ns(seg.thread, seg.ts), clock.ns(seg.thread, seg.te)
    kept = ts < te
    row = np.cumsum(kept) - 1
    segments = Segments(
        thread=seg.thread[kept],
        interval=seg.interval[kept],
        ts=ts[kept],
        te=te[kept],
        state=seg.state[kept],
        object_class=seg.object_class[kept],
        object=seg.object[kept],
    )
    mine = np.flatnonzero(kept[wake.segment])
    of = wake.segment[mine]
    waker = wake.waker[mine]
    t = np.clip(clock.ns(waker, wake.t[mine]), ts[of], te[of])
    known = wake.since[mine] != SINCE_ALWAYS
    since = np.full(len(mine), SINCE_ALWAYS)
    since[known] = clock.ns(waker[known], wake.since[mine][known])
    order = np.lexsort((wake.t[mine], of))
    t, since = t[order], since[order]
    ok = _one_after_the_other(i64(row[of[order]]), t, since)
    chosen = order[ok]
    return segments, Wakeups(wake.thread[mine][chosen], waker[chosen], t[ok], i32(row[of[chosen]]), since[ok])


@kernel
def _one_after_the_other(of: Int64, t: Int64, since: Int64) -> Int64:
    """Of each wait the wakers that are to blame for a time of their own, as they have to be: those rows stay. Changes
    `t` and `since`."""
    stays = np.ones(len(of), np.bool_)
    later_t = later_since = _FOREVER
    for i in range(len(of) - 1, -1, -1):
        if i == len(of) - 1 or of[i + 1] != of[i]:
            later_t = later_since = _FOREVER
        t[i] = min(t[i], later_t)
        if since[i] != SINCE_ALWAYS:
            since[i] = min(since[i], t[i] - 1)
        stays[i] = since[i] < later_since
        if stays[i]:
            later_t = t[i]
            later_since = since[i] if since[i] != SINCE_ALWAYS else _FOREVER
    return np.flatnonzero(stays)


def _attempts(attempts: Attempts, number: Int64, clock: Clock, begin: Int64, end: Int64) -> Attempts:
    """Within their intervals, one after the other."""
    of = attempts.interval
    if not len(of):
        return attempts
    low, high = begin[of], end[of]
    first = np.clip(clock.ns(attempts.thread, attempts.begin), low, high)
    is_first = np.r_[True, of[1:] != of[:-1]]
    first[is_first] = low[is_first]
    stop = np.clip(clock.ns(attempts.thread, attempts.end), first, high)
    again = np.clip(clock.ns(attempts.next_thread, attempts.next_begin), stop, high)
    first[~is_first] = again[np.flatnonzero(~is_first) - 1]
    stop, interval = np.maximum(stop, first), number[of]
    order = np.lexsort((first, interval))
    return Attempts(
        interval=i32(interval[order]),
        thread=attempts.thread[order],
        begin=first[order],
        end=stop[order],
        next_thread=attempts.next_thread[order],
        next_begin=np.maximum(again, stop)[order],
    )
