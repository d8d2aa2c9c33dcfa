"""Invocations of probed functions: from records written at exit to nested calls in order of entry.

INVOCATION, ABANDONED, frames still open at the end -> post-order rows -> starts made to nest -> pre-order
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from vprof.clock import Clock
from vprof.columns import groups
from vprof.model import NONE, Bool, Int32, Int64
from vprof.nesting import SATURATED, nest, preorder
from vprof.records import ABANDONED, INVOCATION, LONG_DURATION, LONG_START, Records, UInt16


@dataclass(frozen=True)
class Calls:
    """Invocations sorted by (thread, start, depth); `number` is a site number, `call` the caller's call number.

    `parent` is the row of the innermost recorded call around it, or NONE. `abandoned` calls were left by longjmp or
    thread exit (their end is an upper bound), `open` ones were not left before the end of the file.
    """

    thread: Int32
    number: Int64
    call: UInt16
    start: Int64
    end: Int64
    depth: Int32
    parent: Int64
    abandoned: int
    open: int
    corrected: int


@dataclass(frozen=True)
class _PostOrder:
    thread: Int32
    number: Int64
    call: UInt16
    start: Int64
    end: Int64
    depth: Int32


def read_calls(records: Records, clock: Clock, open_events: list[dict[str, Any]], file_end: int) -> Calls:
    """All invocations of a trace. Those of `open` events end at `file_end` (ns)."""
    rows = np.flatnonzero((records.kind == INVOCATION) | (records.kind == ABANDONED))
    closed = _PostOrder(
        thread=records.thread[rows],
        number=records.site(rows),
        call=records.call(rows),
        start=_starts(records, rows, clock),
        end=records.t[rows],
        depth=records.aux[rows].astype(np.int32),
    )
    still_open = _open_frames(records, clock, open_events, file_end)
    calls = _joined(closed, still_open) if len(still_open.thread) else closed
    start = calls.start.copy()
    span, corrected = nest(calls.thread, calls.depth, start, calls.end)
    order, parent = preorder(calls.thread, span)
    position = np.empty(len(order), np.int64)
    position[order] = np.arange(len(order))
    parent = parent[order]
    return Calls(
        thread=calls.thread[order],
        number=calls.number[order],
        call=calls.call[order],
        start=start[order],
        end=calls.end[order],
        depth=calls.depth[order],
        parent=np.where(parent >= 0, position[parent], NONE),
        abandoned=int(np.count_nonzero(records.kind[rows] == ABANDONED)),
        open=len(still_open.thread),
        corrected=corrected,
    )


def _starts(records: Records, rows: Int64, clock: Clock) -> Int64:
    """Entry times in ns: exit minus duration, or what the LONG_START record before says."""
    duration = records.low(rows)
    ticks = records.ticks[rows] - duration
    long = (duration == LONG_DURATION) & (rows > 0)
    long[long] = records.kind[rows[long] - 1] == LONG_START
    ticks[long] = records.word[rows[long] - 1].astype(np.int64)
    return clock.to_ns(ticks)


def _open_frames(records: Records, clock: Clock, events: list[dict[str, Any]], file_end: int) -> _PostOrder:
    """Frames nobody left, innermost first. Those of version 1 have no call number."""
    threads = {uid: index for index, uid in enumerate(records.uids)}
    rows = [
        (threads[event["uid"]], number, call[0] if call else 0, clock.one(start_ticks), min(depth, SATURATED))
        for event in events
        for depth, (number, start_ticks, *call) in reversed(list(enumerate(event["frames"])))
    ]
    thread, number, call, start, depth = np.array(rows, np.int64).reshape(-1, 5).T
    end = np.full(len(rows), file_end)
    return _PostOrder(thread.astype(np.int32), number, call.astype(np.uint16), start, end, depth.astype(np.int32))


def _joined(first: _PostOrder, then: _PostOrder) -> _PostOrder:
    """Both, grouped by thread; of each thread the rows of `first` first."""
    thread = np.concatenate([first.thread, then.thread])
    order = np.argsort(thread, kind="stable")
    columns = (
        np.concatenate([getattr(first, name), getattr(then, name)])[order]
        for name in ("number", "call", "start", "end", "depth")
    )
    return _PostOrder(thread[order], *columns)


def kept(calls: Calls, keep: Bool) -> Calls:
    """The calls marked in `keep`; a child whose parent goes belongs to the nearest one that stays."""
    parent = _adopt(calls.parent, keep)
    position = np.cumsum(keep) - 1
    parent = parent[keep]
    return Calls(
        thread=calls.thread[keep],
        number=calls.number[keep],
        call=calls.call[keep],
        start=calls.start[keep],
        end=calls.end[keep],
        depth=calls.depth[keep],
        parent=np.where(parent >= 0, position[parent], NONE),
        abandoned=calls.abandoned,
        open=calls.open,
        corrected=calls.corrected,
    )


def _adopt(parent: Int64, keep: Bool) -> Int64:
    out = parent.copy()
    orphans = np.flatnonzero(out >= 0)
    while len(orphans := orphans[~keep[out[orphans]]]):
        out[orphans] = out[out[orphans]]
        orphans = orphans[out[orphans] >= 0]
    return out


def labels_at_entry(thread: Int32, start: Int64, label_thread: Int32, label_t: Int64, label: Int32) -> Int32:
    """What the thread worked on when it entered each call; both tables sorted by (thread, time)."""
    out = np.full(len(thread), NONE, np.int32)
    for calls in groups(thread):
        a, b = np.searchsorted(label_thread, [thread[calls.start], thread[calls.start] + 1])
        at = np.searchsorted(label_t[a:b], start[calls], "right")
        out[calls] = np.r_[np.int32(NONE), label[a:b]][at]
    return out


def observed_edges(parent: Int64, function: Int32, functions: int) -> Int64:
    """Distinct (caller * functions + callee) of calls that nested directly, sorted."""
    rows = np.flatnonzero(parent >= 0)
    return np.unique(function[parent[rows]].astype(np.int64) * functions + function[rows])
