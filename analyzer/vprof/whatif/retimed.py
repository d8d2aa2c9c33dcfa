"""A trace with other times: what a replay found, as a trace that can be analyzed.

    Trace, or a window of it, + Clock (windows.py)  ->  Trace

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
    Int64,
    Intervals,
    Segments,
    Trace,
    Wakeups,
)
from vprof.whatif.windows import Clock

_FOREVER = int(np.iinfo(np.int64).max)


def retimed(trace: Trace, clock: Clock, begin: Int64, end: Int64) -> tuple[Trace, Int64]:
    """What the trace, or a window of it, would have been; and its intervals, in the new order. `begin`, `end`: of each
    interval, new."""
    inv, iv, made = trace.invocations, trace.intervals, trace.created
    outside = i64(np.full(len(made.ts), len(trace.threads)))
    creator = np.where(made.creator == NONE, outside, made.creator)
    order = np.argsort(begin, kind="stable")
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    label = _labels(trace, number)
    segments, wakeups = _segments(trace, clock)
    ts2 = clock.ns(made.thread, made.ts2)
    ids = trace.interval_ids
    new = replace(
        trace,
        interval_ids=[ids[i] for i in order] + ids[len(order) :] if ids else [],
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
    return new, order


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
