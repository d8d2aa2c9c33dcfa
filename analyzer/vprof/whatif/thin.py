"""What a replay needs of a trace, and no more: read window by window, without the calls that are not changed.

    Source + functions -> [window] segments, wake-ups, tasks, calls of these functions -> Trace, thin

Memory: by segments, edges and calls that are changed, not by records. The result is the same as with the whole trace:
each row is taken from the window in which it ends; what executes across a border is two segments. Labels of segments
say only whether the thread worked for an interval, which is all that a replay asks.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import numpy as np

from vprof.tables.columns import i32
from vprof.tables.model import NONE, Bool, Created, Int64, Invocations, Segments, Trace, Wakeups
from vprof.trace.sources import Source
from vprof.trace.window import Window

T = TypeVar("T")


@dataclass(frozen=True)
class Thin:
    """`called`: of the functions of the trace, those that were called at all."""

    trace: Trace
    called: Bool


def read_thin(source: Source, wanted: set[str]) -> Thin:
    """`wanted`: the names of the functions of which the calls are kept."""
    bare = source.bare()
    is_wanted = np.array([name in wanted for name in bare.program.functions], np.bool_)
    called = np.zeros(len(is_wanted), np.bool_)
    parts = []
    for window in source.windows():
        trace = source.trace(Window(window.begin, window.begin, window.end))
        called[trace.invocations.function] = True
        parts.append(_owned(trace, window, is_wanted))
    rows = np.cumsum([0, *(len(segments.ts) for segments, *_ in parts)])
    segments = _join(Segments, [part[0] for part in parts])
    wakeups = [replace(part[1], segment=part[1].segment + first) for part, first in zip(parts, rows, strict=False)]
    order = np.lexsort((segments.ts, segments.thread))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    joined = _join(Wakeups, wakeups)
    invocations = _join(Invocations, [part[3] for part in parts])
    by_start = np.lexsort((invocations.depth, invocations.fs, invocations.thread))
    thin = replace(
        bare,
        segments=_chosen(segments, order),
        wakeups=replace(joined, segment=i32(place[joined.segment])),
        created=_join(Created, [part[2] for part in parts]),
        invocations=_chosen(invocations, by_start),
    )
    return Thin(source.conclude(thin), called)


def _owned(trace: Trace, window: Window, wanted: Bool) -> tuple[Segments, Wakeups, Created, Invocations]:
    """The rows that end in the window; wake-ups with their waits. A segment that ends at a border is of the window
    before it, as what executes across a border is cut there."""
    seg, wake, made, inv = trace.segments, trace.wakeups, trace.created, trace.invocations
    kept = (seg.te > window.begin) & (seg.te <= window.end)
    row = np.cumsum(kept) - 1
    woken = np.flatnonzero(kept[wake.segment])
    wakeups = _chosen(wake, woken)
    label = np.where(seg.interval == NONE, NONE, 0)
    return (
        _chosen(replace(seg, interval=i32(label)), np.flatnonzero(kept)),
        replace(wakeups, segment=i32(row[wakeups.segment])),
        _chosen(made, np.flatnonzero(window.owns(made.ts2))),
        _chosen(inv, np.flatnonzero(wanted[inv.function] & window.owns(inv.fe))),
    )


def _chosen(table: T, rows: Int64) -> T:
    columns: dict[str, Any] = {name: column[rows] for name, column in vars(table).items()}
    return replace(table, **columns)  # type: ignore[type-var]


def _join(table: type[T], parts: list[T]) -> T:
    names = [column.name for column in fields(table)]  # type: ignore[arg-type]
    return table(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})
