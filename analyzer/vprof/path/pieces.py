"""The two tables that critical paths are made of, and how the walk writes them.

    rows of the walk, backwards  ->  Pieces (what the time was) + Waits (where it is nested), by interval and time

Guaranteed, and checked on every run: the pieces of an interval partition [begin, end] exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from vprof.errors import InvariantError
from vprof.tables.columns import i8, i32, i64
from vprof.tables.kernels import helper, kernel, loop
from vprof.tables.model import NONE, Int8, Int32, Int64, Trace


@dataclass(frozen=True)
class Pieces:
    """One row per piece, sorted by (interval, start); `wait` is the row of `Waits` it lies in, NONE on the home
    path."""

    interval: Int32
    kind: Int8
    thread: Int32
    start: Int64
    stop: Int64
    wait: Int32


@dataclass(frozen=True, kw_only=True)
class Waits:
    """Windows [start, stop] in which `thread` waited and somebody else's work counts.

    `interval` has the wait on its path. `parent` is the wait of the walk that met this one, NONE on the home path;
    parents come first. `anchored`: not a waiting segment (0) but
    the time before a task came from a creator that did not work for the interval (FOR_TASK), or in which the thread
    itself did not work for it (BUSY); it hangs where `[queue]` would. `segment` is the segment that waits (NONE if
    anchored), `waker` the thread that ended the wait at `ended`, or made the task, or was busy (NONE if nobody is
    known: `ended` is 0).
    """

    interval: Int32
    parent: Int32
    thread: Int32
    start: Int64
    stop: Int64
    anchored: Int8
    segment: Int64
    waker: Int32
    ended: Int64


@dataclass(frozen=True)
class Paths:
    pieces: Pieces
    waits: Waits


W_INTERVAL, W_PARENT, W_THREAD, W_START, W_STOP, W_ANCHORED, W_SEGMENT, W_WAKER, W_ENDED = range(9)
"""Columns of `Waits` in the walk's table."""

C_INTERVAL, C_KIND, C_THREAD, C_START, C_STOP, C_WAIT = range(6)
"""Columns of `Pieces` in the walk's table."""

FOR_TASK, BUSY = 1, 2
"""Of an anchored wait: what it is."""

N_PIECES, N_WAITS = range(2)

ROOM = 4
"""Rows that one step of the walk may add to a table."""


class Tables(NamedTuple):
    """The walk's tables, with room, and how many of their rows are used (N_*)."""

    pieces: Int64
    waits: Int64
    used: Int64


@helper
def add_piece(found: Tables, interval: int, kind: int, thread: int, start: int, stop: int, wait: int) -> None:
    """Adds a piece, unless it is empty."""
    if start < stop:
        row = found.pieces[found.used[N_PIECES]]
        row[C_INTERVAL], row[C_KIND], row[C_THREAD] = interval, kind, thread
        row[C_START], row[C_STOP], row[C_WAIT] = start, stop, wait
        found.used[N_PIECES] += 1


@helper
def add_wait(
    found: Tables, interval: int, parent: int, thread: int, start: int, stop: int, segment: int, waker: int, ended: int
) -> None:
    """Adds the wait of a segment."""
    row = found.waits[found.used[N_WAITS]]
    row[W_INTERVAL], row[W_PARENT], row[W_THREAD], row[W_START], row[W_STOP] = interval, parent, thread, start, stop
    row[W_ANCHORED], row[W_SEGMENT], row[W_WAKER], row[W_ENDED] = 0, segment, waker, ended
    found.used[N_WAITS] += 1


@helper
def add_anchored(
    found: Tables, interval: int, what: int, thread: int, start: int, stop: int, worker: int, until: int
) -> None:
    """Adds an anchored wait of the home path: `worker` counts from `start` until then."""
    add_wait(found, interval, NONE, thread, start, stop, NONE, worker, until)
    found.waits[found.used[N_WAITS] - 1, W_ANCHORED] = what


@helper
def is_full(found: Tables) -> bool:
    """Whether a step of the walk may need more room."""
    used = found.used
    return bool(used[N_PIECES] + ROOM > len(found.pieces) or used[N_WAITS] + ROOM > len(found.waits))


def paths_of(pieces: Int64, waits: Int64) -> Paths:
    """From the walk's tables: rows of pieces, columns W_* of waits."""
    return Paths(
        Pieces(*_in_order(pieces)),
        Waits(
            interval=i32(waits[W_INTERVAL]),
            parent=i32(waits[W_PARENT]),
            thread=i32(waits[W_THREAD]),
            start=i64(waits[W_START]),
            stop=i64(waits[W_STOP]),
            anchored=i8(waits[W_ANCHORED]),
            segment=i64(waits[W_SEGMENT]),
            waker=i32(waits[W_WAKER]),
            ended=i64(waits[W_ENDED]),
        ),
    )


@kernel
def _in_order(pieces: Int64) -> tuple[Int32, Int8, Int32, Int64, Int64, Int32]:
    """The columns of `Pieces`: those of each interval, which come together, in order of time."""
    n = len(pieces)
    interval, kind, thread = np.empty(n, np.int32), np.empty(n, np.int8), np.empty(n, np.int32)
    start, stop, wait = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int32)
    _put_in_order(pieces, np.empty(n, np.int64), interval, kind, thread, start, stop, wait)
    return interval, kind, thread, start, stop, wait


@loop
def _put_in_order(
    pieces: Int64, order: Int64, interval: Int32, kind: Int8, thread: Int32, start: Int64, stop: Int64, wait: Int32
) -> None:
    begin = 0
    for i in range(len(pieces)):
        order[i] = i
        if i + 1 == len(pieces) or pieces[i + 1, C_INTERVAL] != pieces[i, C_INTERVAL]:
            _sort_by_start(pieces, order, begin, i + 1)
            begin = i + 1
    for i in range(len(pieces)):
        row = pieces[order[i]]
        interval[i], kind[i], thread[i] = row[C_INTERVAL], row[C_KIND], row[C_THREAD]
        start[i], stop[i], wait[i] = row[C_START], row[C_STOP], row[C_WAIT]


@helper
def _sort_by_start(pieces: Int64, order: Int64, begin: int, end: int) -> None:
    """Shell sort of order[begin:end]: most intervals have a few dozens of pieces. The path comes backwards."""
    low, high = begin, end - 1
    while low < high:
        order[low], order[high] = order[high], order[low]
        low, high = low + 1, high - 1
    gap = 1
    while 3 * gap + 1 < end - begin:
        gap = 3 * gap + 1
    while gap:
        for i in range(begin + gap, end):
            row, j = order[i], i
            time = pieces[row, C_START]
            while j >= begin + gap and pieces[order[j - gap], C_START] > time:
                order[j] = order[j - gap]
                j -= gap
            order[j] = row
        gap //= 3


def check_partition(trace: Trace, rows: Int64, p: Pieces) -> None:
    """Raises InvariantError unless every interval's pieces join end to end from begin to end."""
    long = rows[trace.intervals.end[rows] > trace.intervals.begin[rows]]
    first = np.flatnonzero(np.r_[True, p.interval[1:] != p.interval[:-1]]) if len(p.interval) else np.zeros(0, np.int64)
    last = np.r_[first[1:] - 1, len(p.interval) - 1] if len(first) else first
    inner = np.ones(len(p.interval), np.bool_)
    inner[first] = False
    ok = (
        np.array_equal(p.interval[first], long)
        and np.array_equal(p.start[first], trace.intervals.begin[long])
        and np.array_equal(p.stop[last], trace.intervals.end[long])
        and np.array_equal(p.start[inner], p.stop[np.flatnonzero(inner) - 1])
        and bool(np.all(p.stop > p.start))
    )
    if not ok:
        raise InvariantError("the pieces of a critical path do not partition its interval: please report this trace")
