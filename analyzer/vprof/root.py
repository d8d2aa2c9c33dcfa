"""`--root F`: every outermost call of F becomes a semantic interval, so a program needs no annotations.

    Trace + function name  ->  Trace whose intervals are "F#1", "F#2", ... in order of their begin

The calling thread's segments are cut at the calls' ends and relabelled: within a call they work for its interval,
outside for none. Waits stay waits. Annotated intervals of the trace are given up. Calls still open at the end of the
recording and calls that touch spoiled times are excluded and counted.
"""

from __future__ import annotations

import difflib
from dataclasses import replace

import numpy as np

from vprof.columns import i32
from vprof.errors import UsageError
from vprof.model import NONE, Int32, Int64, Intervals, Invocations, Segments, Trace, Wakeups

LOSS = "touches lost records"
UNFINISHED = "unfinished"


def with_root(trace: Trace, root: str) -> Trace:
    """Raises UsageError when the program has no such function, or none of its calls was recorded."""
    calls = _outermost(trace.invocations, _functions(trace, root))
    inv = trace.invocations
    if not len(calls):
        raise UsageError(f"no call of {root} was recorded: was its probe on (--sites), and was it called?")
    reason = _excluded(trace, calls)
    lost = calls[[r == LOSS for r in reason]]
    kept = calls[[not r for r in reason]]
    kept = kept[np.argsort(inv.fs[kept], kind="stable")]
    intervals = Intervals(
        np.zeros(len(kept), np.int32),
        inv.thread[kept],
        inv.fs[kept],
        inv.thread[kept],
        inv.fe[kept],
        np.zeros(len(kept), np.bool_),
    )
    segments, wakeups = _relabel(trace, intervals)
    return replace(
        trace,
        interval_ids=[f"{root}#{i + 1}" for i in range(len(kept))],
        types=[""],
        segments=segments,
        wakeups=wakeups,
        intervals=intervals,
        invocations=replace(inv, interval=_label(intervals, inv.thread, inv.fs)),
        excluded={r: reason.count(r) for r in sorted(set(reason)) if r},
        excluded_latencies=inv.fe[lost] - inv.fs[lost],
    )


def _functions(trace: Trace, root: str) -> list[int]:
    names = trace.program.functions
    found = [f for f, name in enumerate(names) if name == root]
    if not found:
        near = difflib.get_close_matches(root, names, 3)
        raise UsageError(f"no function {root} in this trace" + (f": did you mean {' or '.join(near)}?" if near else ""))
    return found


def _outermost(inv: Invocations, functions: list[int]) -> Int64:
    """Calls of the functions that do not lie in another call of them."""
    rows = np.flatnonzero(np.isin(inv.function, functions))
    keep = []
    thread, end = NONE, 0
    for i, t, fs, fe in zip(rows, inv.thread[rows], inv.fs[rows], inv.fe[rows], strict=True):
        if t != thread or fs >= end:
            keep.append(i)
            thread, end = t, fe
    return np.array(keep, np.int64)


def _excluded(trace: Trace, calls: Int64) -> list[str]:
    """By call: why it cannot be used, or ""."""
    inv = trace.invocations
    reason = np.full(len(calls), "", dtype=object)
    thread, fs, fe = inv.thread[calls], inv.fs[calls], inv.fe[calls]
    for where, start, stop, why in trace.spoiled:
        reason[((where == NONE) | (thread == where)) & (fs < stop) & (fe > start)] = why
    if trace.open_at is not None:
        reason[fe >= trace.open_at] = UNFINISHED
    return [str(r) for r in reason]


def _relabel(trace: Trace, intervals: Intervals) -> tuple[Segments, Wakeups]:
    """Cuts segments where intervals begin or end. A wake-up stays with the last part of its wait."""
    seg = trace.segments
    row: list[Int64] = []
    start: list[Int64] = []
    stop: list[Int64] = []
    for thread in range(len(trace.threads)):
        a, b = np.searchsorted(seg.thread, [thread, thread + 1])
        mine = intervals.begin_thread == thread
        cuts = np.unique(np.r_[intervals.begin[mine], intervals.end[mine]])
        r, s, e = _cut(seg.ts[a:b], seg.te[a:b], cuts)
        row.append(r + a)
        start.append(s)
        stop.append(e)
    rows, ts, te = (np.concatenate(c) if c else np.zeros(0, np.int64) for c in (row, start, stop))
    thread_of = i32(seg.thread[rows])
    last_part = np.searchsorted(rows, np.arange(len(seg.ts)), side="right") - 1
    wakeups = replace(trace.wakeups, segment=i32(last_part[trace.wakeups.segment]))
    label = _label(intervals, thread_of, ts)
    return Segments(thread_of, label, ts, te, seg.state[rows], seg.object_class[rows]), wakeups


def _cut(ts: Int64, te: Int64, cuts: Int64) -> tuple[Int64, Int64, Int64]:
    """Cuts [ts, te) at all `cuts` inside; returns the row each part came from, its start and its end."""
    first = np.searchsorted(cuts, ts, side="right")
    parts = np.searchsorted(cuts, te, side="left") - first + 1
    row = np.repeat(np.arange(len(ts)), parts)
    part = np.arange(len(row)) - np.repeat(np.cumsum(parts) - parts, parts)
    padded = np.r_[cuts, 0]
    at = first[row] + part
    start = np.where(part == 0, ts[row], padded[at - 1])
    stop = np.where(part == parts[row] - 1, te[row], padded[np.minimum(at, len(cuts))])
    return row, start, stop


def _label(intervals: Intervals, thread: Int32, t: Int64) -> Int32:
    """The interval of that thread in which each time lies, or NONE."""
    label = np.full(len(t), NONE, np.int32)
    for home in np.unique(intervals.begin_thread):
        mine = np.flatnonzero(intervals.begin_thread == home)
        here = np.flatnonzero(thread == home)
        at = np.searchsorted(intervals.begin[mine], t[here], side="right") - 1
        inside = (at >= 0) & (t[here] < intervals.end[mine[at]])
        label[here[inside]] = mine[at[inside]]
    return label
