"""`--root F`: every outermost call of F becomes a semantic interval, so a program needs no annotations.

    Trace + function name  ->  Trace whose intervals are "F#1", "F#2", ... in order of their begin

The calling thread's segments are cut at the calls' ends and relabelled: within a call they work for its interval,
outside for none. Waits stay waits. Annotated intervals of the trace are given up. Calls still open at the end of the
recording and calls that touch spoiled times are excluded and counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from vprof.errors import NoIntervalError, UsageError
from vprof.tables.columns import i32
from vprof.tables.kernels import kernel
from vprof.tables.lookup import values_of
from vprof.tables.model import NONE, Aborted, Attempts, Bool, Int32, Int64, Intervals, Segments, Trace, Wakeups

LOSS = "touches lost records"
UNFINISHED = "unfinished"


def with_root(trace: Trace, root: str) -> Trace:
    """Raises UsageError when the program has no such function, NoIntervalError when none of its calls was recorded."""
    inv = trace.invocations
    calls = outermost(inv.thread, inv.function, inv.fs, inv.fe, functions_named(trace.program.functions, root))
    programs = [path for one in trace.recorded if one.before_bodies for path in one.modules]
    chosen = choose(root, programs, inv.thread[calls], inv.fs[calls], inv.fe[calls], trace.spoiled, trace.open_at)
    segments, wakeups = _relabel(trace, chosen.intervals)
    return replace(
        trace,
        interval_ids=chosen.ids,
        types=[""],
        segments=segments,
        wakeups=wakeups,
        intervals=chosen.intervals,
        invocations=replace(inv, interval=label(chosen.intervals, inv.thread, inv.fs)),
        excluded=chosen.excluded,
        excluded_latencies=chosen.lost_latencies,
        attempts=Attempts.none(),
        aborted=Aborted(),
        root=root,
    )


@dataclass(frozen=True)
class Chosen:
    """The calls that are intervals, by begin, and what became of the others."""

    intervals: Intervals
    ids: list[str]
    excluded: dict[str, int]
    lost_latencies: Int64


def choose(
    root: str,
    programs: Sequence[str],
    thread: Int32,
    fs: Int64,
    fe: Int64,
    spoiled: list[tuple[int, int, int, str]],
    open_at: int | None,
) -> Chosen:
    """From outermost calls, by (thread, begin). `programs`: paths of what may have copies of the root, where its calls
    are not seen. `spoiled`, `open_at`: of `Trace`. Raises NoIntervalError if there is no call."""
    if not len(thread):
        raise NoIntervalError(_why_no_call(root, programs), began=False, exit_code=2)
    reason = np.full(len(thread), "", dtype=object)
    for where, start, stop, why in spoiled:
        reason[((where == NONE) | (thread == where)) & (fs < stop) & (fe > start)] = why
    if open_at is not None:
        reason[fe >= open_at] = UNFINISHED
    kept = np.flatnonzero(reason == "")
    kept = kept[np.argsort(fs[kept], kind="stable")]
    lost = reason == LOSS
    thread_of = i32(thread[kept])
    count = len(kept)
    return Chosen(
        Intervals(i32(np.zeros(count)), thread_of, fs[kept], thread_of, fe[kept], np.zeros(count, np.bool_)),
        [f"{root}#{i + 1}" for i in range(count)],
        {why: int(np.count_nonzero(reason == why)) for why in sorted(set(reason)) if why},
        fe[lost] - fs[lost],
    )


def _why_no_call(root: str, programs: Sequence[str]) -> str:
    # This reads programs, which takes a library.
    from vprof.program.expanded import expanded_in_others, said_unseen

    others = expanded_in_others(map(Path, programs), root)
    if not others:
        return f"no call of {root} was recorded: was its probe on (--sites), and was it called?"
    return f"no call of {root} was recorded: {said_unseen(root, others)}"


def functions_named(names: list[str], root: str) -> Bool:
    """Marks the functions of that name. Raises UsageError when there is none."""
    found = np.array([name == root for name in names], np.bool_)
    if not found.any():
        import difflib

        near = difflib.get_close_matches(root, names, 3)
        raise UsageError(f"no function {root} in this trace" + (f": did you mean {' or '.join(near)}?" if near else ""))
    return found


@kernel
def outermost(thread: Int32, function: Int32, fs: Int64, fe: Int64, wanted: Bool) -> Int64:
    """Calls of the wanted functions that do not lie in another call of them."""
    rows, n = np.empty(len(thread), np.int64), 0
    for i in range(len(thread)):
        inside = n and thread[rows[n - 1]] == thread[i] and fs[i] < fe[rows[n - 1]]
        if wanted[function[i]] and not inside:
            rows[n] = i
            n += 1
    return rows[:n].copy()


def _relabel(trace: Trace, intervals: Intervals) -> tuple[Segments, Wakeups]:
    """Cuts segments where intervals begin or end. A wake-up stays with the last part of its wait."""
    seg = trace.segments
    row: list[Int64] = []
    start: list[Int64] = []
    stop: list[Int64] = []
    for thread in range(len(trace.threads)):
        a, b = np.searchsorted(seg.thread, [thread, thread + 1])
        mine = intervals.begin_thread == thread
        cuts = values_of(np.r_[intervals.begin[mine], intervals.end[mine]])
        r, s, e = _cut(seg.ts[a:b], seg.te[a:b], cuts)
        row.append(r + a)
        start.append(s)
        stop.append(e)
    rows, ts, te = (np.concatenate(c) if c else np.zeros(0, np.int64) for c in (row, start, stop))
    thread_of = i32(seg.thread[rows])
    last_part = np.searchsorted(rows, np.arange(len(seg.ts)), side="right") - 1
    wakeups = replace(trace.wakeups, segment=i32(last_part[trace.wakeups.segment]))
    return Segments(
        thread=thread_of,
        interval=label(intervals, thread_of, ts),
        ts=ts,
        te=te,
        state=seg.state[rows],
        object_class=seg.object_class[rows],
        object=seg.object[rows],
    ), wakeups


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


def label(intervals: Intervals, thread: Int32, t: Int64) -> Int32:
    """The interval of that thread in which each time lies, or NONE."""
    found = np.full(len(t), NONE, np.int32)
    for home in values_of(intervals.begin_thread):
        mine = np.flatnonzero(intervals.begin_thread == home)
        here = np.flatnonzero(thread == home)
        at = np.searchsorted(intervals.begin[mine], t[here], side="right") - 1
        inside = (at >= 0) & (t[here] < intervals.end[mine[at]])
        found[here[inside]] = mine[at[inside]]
    return found
