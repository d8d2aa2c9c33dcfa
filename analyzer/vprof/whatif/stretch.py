"""What a graph needs of one window of a trace, and no more: each row belongs to the window in which it ends.

    trace of a window + what is known of the windows before  ->  Stretch

What executes across a border is two segments, cut there; whatever else crosses one is told where it ends. A call that
crosses borders is in every window that it meets.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from vprof.tables.columns import i32
from vprof.tables.lookup import latest
from vprof.tables.model import NONE, Bool, Created, Int64, Intervals, Invocations, Segments, Trace, Wakeups
from vprof.trace.window import WHOLE, Window

T = TypeVar("T")
NEVER = int(np.iinfo(np.int64).min)


@dataclass(frozen=True)
class Stretch:
    """`begins` and `ends`: rows of `intervals`, which are all of the trace; those of `outside` begin when their request
    was made, by nobody of the program. `calls`: those that may be changed. `since`: by thread the time of its last
    moment in the windows before, NEVER if it has none; `origin`: what times count from, None: the earliest here."""

    threads: int
    window: Window
    segments: Segments
    wakeups: Wakeups
    created: Created
    calls: Invocations
    intervals: Intervals
    begins: Int64
    ends: Int64
    outside: Bool
    since: Int64
    origin: int | None


def whole(trace: Trace, wanted: Bool) -> Stretch:
    """Of a trace in memory. `wanted`: the functions whose calls may be changed."""
    outside = made_outside(trace.created, trace.intervals)
    since = np.full(len(trace.threads), NEVER)
    return stretch(trace, WHOLE, wanted, trace.intervals, outside, since, None)


def stretch(
    trace: Trace,
    window: Window,
    wanted: Bool,
    intervals: Intervals,
    outside: Bool,
    since: Int64,
    origin: int | None,
) -> Stretch:
    """`trace`: of the window; `wanted`: its functions whose calls may be changed."""
    seg, wake, made, inv = trace.segments, trace.wakeups, trace.created, trace.invocations
    kept = (seg.te > window.begin) & (seg.te <= window.end)
    row = np.cumsum(kept) - 1
    segments = _chosen(seg, np.flatnonzero(kept))
    wakeups = _chosen(wake, np.flatnonzero(kept[wake.segment]))
    calls = wanted[inv.function] & (inv.fe >= window.begin) & (inv.fs < window.end)
    return Stretch(
        threads=len(trace.threads),
        window=window,
        segments=replace(segments, ts=np.maximum(segments.ts, since[segments.thread])),
        wakeups=replace(wakeups, segment=i32(row[wakeups.segment])),
        created=_chosen(made, np.flatnonzero(window.owns(made.ts2))),
        calls=_chosen(inv, np.flatnonzero(calls)),
        intervals=intervals,
        begins=np.flatnonzero(window.owns(intervals.begin)),
        ends=np.flatnonzero(window.owns(intervals.end)),
        outside=outside,
        since=since,
        origin=origin,
    )


def made_outside(made: Created, iv: Intervals) -> Bool:
    """The intervals that begin when their request was made, by nobody of the program."""
    nobody = np.flatnonzero(made.creator == NONE)
    row = latest(made.thread[nobody], made.ts[nobody], iv.begin_thread, iv.begin)
    found: Bool = (row != NONE) & (np.r_[made.ts[nobody], 0][row] == iv.begin)
    return found


def _chosen(table: T, rows: Int64) -> T:
    columns: dict[str, Any] = {name: column[rows] for name, column in vars(table).items()}
    return replace(table, **columns)  # type: ignore[type-var]
