"""A run as a Perfetto trace (ui.perfetto.dev, its trace processor).

    chosen intervals -> critical paths -> spans of time by thread -> calls, waits, wake-ups in these -> packets.py

Tracks: intervals, in each the pieces of its critical path; a thread's calls; below it its waits, with an arrow from the
waker. Calls and waits are cut where a span begins and ends. Times count from the earliest interval's begin.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from vprof.export.packets import Packets, TrackSlice
from vprof.path.critical_path import critical_paths
from vprof.path.path_tree import display_names
from vprof.path.pieces import Paths
from vprof.tables.kinds import EXEC, PIECE_NAMES, STATE_NAMES
from vprof.tables.model import NONE, OBJECT_CLASSES, Int32, Int64, Trace

Spans = dict[int, Int64]
"""By thread: times as rows (from, to), in order, apart from each other."""


def export(trace: Trace, chosen: Iterable[str] | None, path: Path) -> None:
    """Writes what happened in the chosen intervals (by id; None: in all) on the threads of their critical paths.

    Raises VprofError when Perfetto's package is not installed, OSError when the file cannot be written.
    """
    if chosen is not None:
        wanted = set(chosen)
        others = [sid not in wanted for sid in trace.interval_ids[: len(trace.intervals.begin)]]
        trace = replace(trace, intervals=replace(trace.intervals, ignore=np.array(others, np.bool_)))
    paths = critical_paths(trace)
    spans = _spans(trace, paths)
    with path.open("wb") as file:
        packets = Packets(file, min(int(times[0, 0]) for times in spans.values()))
        _intervals(trace, paths, packets)
        threads = {thread: packets.thread(*_identity(trace.threads[thread], thread)) for thread in spans}
        waits = {thread: packets.track("waits", parent) for thread, parent in threads.items()}
        for thread, times in spans.items():
            packets.slices(threads[thread], _calls(trace, thread, times))
            packets.slices(waits[thread], _waits(trace, thread, times))
        _wakeups(trace, spans, waits, packets)


def _spans(trace: Trace, paths: Paths) -> Spans:
    """When the intervals were under way whose critical paths cross a thread."""
    iv, p = trace.intervals, paths.pieces
    found = {}
    for thread in np.unique(p.thread).tolist():
        rows = np.unique(p.interval[p.thread == thread])
        begin, end = iv.begin[rows], np.maximum.accumulate(iv.end[rows])
        first = np.flatnonzero(np.r_[True, begin[1:] > end[:-1]])
        found[thread] = np.stack((begin[first], end[np.r_[first[1:] - 1, len(rows) - 1]]), 1)
    return found


def _intervals(trace: Trace, paths: Paths, packets: Packets) -> None:
    """On as few tracks as it takes for none to overlap."""
    iv, p = trace.intervals, paths.pieces
    first = np.searchsorted(p.interval, np.arange(len(iv.begin) + 1))
    parent = packets.track("intervals")
    free: list[tuple[int, int]] = []
    for row in np.flatnonzero(~iv.ignore).tolist():
        begin, end = int(iv.begin[row]), int(iv.end[row])
        lane = heapq.heappop(free)[1] if free and free[0][0] <= begin else packets.track("critical paths", parent)
        heapq.heappush(free, (end, lane))
        type_ = trace.types[iv.type[row]]
        name = f"{trace.interval_ids[row]} ({type_})" if type_ else trace.interval_ids[row]
        pieces = [
            TrackSlice(int(p.start[k]), int(p.stop[k]), f"{PIECE_NAMES[p.kind[k]]}: {trace.threads[p.thread[k]]}")
            for k in range(first[row], first[row + 1])
        ]
        packets.slices(lane, [TrackSlice(begin, end, name), *pieces])


def _identity(name: str, number: int) -> tuple[int, int, str]:
    """Of "pid/tid name"; threads of JSON traces have names only."""
    known = re.match(r"(\d+)/(\d+) (.*)", name)
    return (int(known[1]), int(known[2]), known[3]) if known else (1, number + 2, name)


def _calls(trace: Trace, thread: int, times: Int64) -> Iterator[TrackSlice]:
    inv, names = trace.invocations, display_names(trace)
    mine = _of_thread(inv.thread, thread)
    for k, start, stop in _within(times, inv.fs[mine], inv.fe[mine]):
        yield TrackSlice(start, stop, names[inv.function[mine[k]]])


def _waits(trace: Trace, thread: int, times: Int64) -> Iterator[TrackSlice]:
    """Segments in which the thread did not execute."""
    s = trace.segments
    mine = _of_thread(s.thread, thread)
    mine = mine[s.state[mine] != EXEC]
    for k, start, stop in _within(times, s.ts[mine], s.te[mine]):
        what, state = OBJECT_CLASSES[s.object_class[mine[k]]], STATE_NAMES[s.state[mine[k]]]
        yield TrackSlice(start, stop, f"{state}: {what}" if what else state)


def _within(times: Int64, start: Int64, stop: Int64) -> Iterator[tuple[int, int, int]]:
    """The parts of rows that lie in the spans: (row, from, to), by span, in the order of the rows."""
    first = np.searchsorted(times[:, 1], start, "right")
    count = np.maximum(np.searchsorted(times[:, 0], stop, "left") - first, 0)
    row = np.repeat(np.arange(len(start)), count)
    span = first[row] + np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
    order = np.argsort(span, kind="stable")
    row, span = row[order], span[order]
    begin, end = np.maximum(start[row], times[span, 0]), np.minimum(stop[row], times[span, 1])
    return zip(row.tolist(), begin.tolist(), end.tolist(), strict=True)


def _wakeups(trace: Trace, spans: Spans, tracks: dict[int, int], packets: Packets) -> None:
    """Those of which both threads and their time are shown."""
    w = trace.wakeups
    for k in np.flatnonzero(w.waker != NONE).tolist():
        waker, thread, t = int(w.waker[k]), int(w.thread[k]), int(w.t[k])
        if waker == thread or not (_holds(spans, waker, t) and _holds(spans, thread, t)):
            continue
        end = max(t, int(trace.segments.te[w.segment[k]])) if w.segment[k] != NONE else t
        wakes, woken = f"wakes {trace.threads[thread]}", f"woken by {trace.threads[waker]}"
        packets.arrow((tracks[waker], t, wakes), (tracks[thread], end, woken))


def _of_thread(column: Int32, thread: int) -> Int64:
    """Rows of a table that is sorted by thread."""
    return np.arange(np.searchsorted(column, thread), np.searchsorted(column, thread + 1))


def _holds(spans: Spans, thread: int, t: int) -> bool:
    times = spans.get(thread)
    if times is None:
        return False
    at = int(np.searchsorted(times[:, 0], t, "right")) - 1
    return at >= 0 and t <= times[at, 1]
