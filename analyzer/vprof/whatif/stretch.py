"""What a replay needs of a trace, window by window, and no more; and what is carried across their borders.

    trace of a window  ->  Read: what counts of it  + what was carried  ->  Stretch: all that is known until the
    window's end  ->  [graph.py] decides until when it is replayed  ->  carried: what is not over then

Windows may be read in any order, by any process: what is read of one is all that the others need.

A window's trace holds all that overlaps it: waits that go on after its end are told with who ends them. So everything
before the border is known, with two exceptions, for which the replay stays behind the border (graph.py): whether a task
that is taken up later ended a wait, and what was waited for before an interval that begins later.

Before a border a segment's begin is as the window before told it, for a later one may not see what was before it.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import numpy as np

from vprof.tables.columns import i64
from vprof.tables.kinds import BLOCKED, EXEC
from vprof.tables.lookup import latest
from vprof.tables.model import NONE, Bool, Created, Int32, Int64, Intervals, Segments, Trace, Wakeups
from vprof.trace.scan import NEVER
from vprof.trace.sources import Source
from vprof.trace.window import Window

T = TypeVar("T", bound="tuple[Any, ...]")


class Rows(NamedTuple):
    """Segments by (thread, begin). `label`: 0 if the thread worked for an interval, else NONE. `waker`: of those that
    ended the wait the last, NONE if nobody is known to have; `woken`: when."""

    thread: Int64
    label: Int64
    state: Int64
    ts: Int64
    te: Int64
    waker: Int64
    woken: Int64


class Calls(NamedTuple):
    """By (thread, begin, depth). `label`: 0 if it was entered for an interval, else NONE."""

    thread: Int64
    label: Int64
    function: Int64
    fs: Int64
    fe: Int64
    depth: Int64


class Tasks(NamedTuple):
    """As `Created`."""

    creator: Int64
    ts: Int64
    thread: Int64
    ts2: Int64


class Stretch(NamedTuple):
    """What is not replayed of the time until `end`, all threads' from `begin` on. `rows` and `calls` may go on after
    it. `tasks`: made or taken up in it; `waiting`: those of them, and older ones, that are taken up after it. `begins`
    and `ends`: rows of `intervals`, those of all; those of `outside` begin when their request was made, by nobody of
    the program. `kept`: columns thread and time of moments before it that are needed. By thread: `ahead`, whether it
    takes up a task after the end, `begins_ahead`, whether it begins an interval then. `origin`: what times count from,
    None: the earliest here. `marked`: columns thread and time of moments that are asked for beside."""

    threads: int
    begin: int
    end: int
    rows: Rows
    calls: Calls
    tasks: Tasks
    waiting: Tasks
    intervals: Intervals
    begins: Int64
    ends: Int64
    outside: Bool
    kept: tuple[Int64, Int64]
    ahead: Bool
    begins_ahead: Bool
    origin: int | None
    marked: tuple[Int64, Int64]


class Read(NamedTuple):
    """What counts of a window: `rows` that begin before its end, and end after its begin; the `calls` that begin in it
    of functions that may be changed."""

    rows: Rows
    calls: Calls


NOTHING_MARKED: tuple[Int64, Int64] = (np.zeros(0, np.int64), np.zeros(0, np.int64))


class Stretches:
    """Of one trace, in order."""

    def __init__(self, source: Source, marked: tuple[Int64, Int64] = NOTHING_MARKED) -> None:
        """`marked`: of a trace that is one window."""
        bare, made = source.bare(), source.created()
        self.intervals, self.threads = bare.intervals, len(bare.threads)
        self._marked = marked
        self._outside = made_outside(made, bare.intervals)
        self._tasks = Tasks(*(i64(column) for column in (made.creator, made.ts, made.thread, made.ts2)))
        self._by_made, self._by_taken = np.argsort(made.ts, kind="stable"), np.argsort(made.ts2, kind="stable")
        self._made, self._taken = self._tasks.ts[self._by_made], self._tasks.ts2[self._by_taken]
        iv, threads = bare.intervals, self.threads
        self._by_end = np.argsort(iv.end, kind="stable")
        self._ends = iv.end[self._by_end]
        own = ~self._outside
        self._last_taken = _last(threads, made.thread, made.ts2)
        self._last_begin = _last(threads, iv.begin_thread[own], iv.begin[own])
        none = np.zeros(0, np.int64)
        self._rows, self._calls, self._open = Rows(*[none] * 7), Calls(*[none] * 6), Rows(*[none] * 7)
        self._waiting, self._kept = Tasks(*[none] * 4), (none, none)
        self._begin, self._end = NEVER, NEVER
        self.origin: int | None = None

    def next(self, read: Read, window: Window) -> Stretch:
        """The next window: what is known with it."""
        rows = self._joined(read.rows, window)
        begin, end = self._begin, window.end
        made = self._by_made[slice(*np.searchsorted(self._made, [begin, end]))]
        taken = self._by_taken[slice(*np.searchsorted(self._taken, [begin, end]))]
        waiting = _concatenated(self._waiting, _of(self._tasks, made[self._tasks.ts[made] >= self._end]))
        self._waiting = waiting = _of(waiting, waiting.ts2 >= end)
        self._end = end
        return Stretch(
            threads=self.threads,
            begin=begin,
            end=end,
            rows=rows,
            calls=self._called(read.calls),
            tasks=_of(self._tasks, np.union1d(made, taken)),
            waiting=waiting,
            intervals=self.intervals,
            begins=np.arange(*np.searchsorted(self.intervals.begin, [begin, end])),
            ends=self._by_end[slice(*np.searchsorted(self._ends, [begin, end]))],
            outside=self._outside,
            kept=self._kept,
            ahead=self._last_taken >= end,
            begins_ahead=self._last_begin >= end,
            origin=self.origin,
            marked=self._marked,
        )

    def carry(self, part: Stretch, until: int, kept: tuple[Int64, Int64], origin: int | None) -> None:
        """What is needed after `until`, when the stretch is replayed until then."""
        rows = part.rows
        self._rows = _of(rows, (rows.te >= until) & (rows.te <= part.end))
        self._open = _of(rows, rows.te > part.end)
        self._calls = _of(part.calls, part.calls.fe >= until)
        self._kept, self._begin, self.origin = kept, until, origin

    def _joined(self, new: Rows, window: Window) -> Rows:
        """What was carried, and the rows of a window."""
        new = new._replace(ts=new.ts.copy(), waker=new.waker.copy(), woken=new.woken.copy())
        crosses = np.flatnonzero((new.ts < window.begin) | ((new.ts == window.begin) & (new.state == EXEC)))
        of = new.thread[crosses]
        opened, place = self._open, np.full(self.threads, NONE)
        place[opened.thread] = np.arange(len(opened.thread))
        at = place[of]
        known = (at != NONE) & (new.state[crosses] != EXEC)
        begun = np.where(known, np.r_[opened.ts, window.begin][at], window.begin)
        past = new.woken[crosses] < window.begin
        known &= past
        waker, woken = new.waker[crosses], new.woken[crosses]
        waker = np.where(known, np.r_[opened.waker, NONE][at], np.where(past, NONE, waker))
        woken = np.where(known, np.r_[opened.woken, NEVER][at], np.where(past, NEVER, woken))
        new.waker[crosses], new.woken[crosses] = waker, woken
        old = self._rows
        ending = np.flatnonzero((old.te == window.begin) & (old.state == EXEC))
        place[:] = NONE
        place[old.thread[ending]] = ending
        at = place[of]
        same = (at != NONE) & (new.state[crosses] == EXEC) & (np.r_[old.label, NONE][at] == new.label[crosses])
        begun = np.where(same, np.r_[old.ts, NEVER][at], begun)
        new.ts[crosses] = begun
        stays = np.ones(len(old.thread), np.bool_)
        stays[at[same]] = False
        rows = _concatenated(_of(old, stays), new)
        return _of(rows, np.lexsort((rows.ts, rows.thread)))

    def _called(self, new: Calls) -> Calls:
        """What was carried, and the calls that begin in the window."""
        calls = _concatenated(self._calls, new)
        return _of(calls, np.lexsort((calls.depth, calls.fs, calls.thread)))


def read_of(trace: Trace, window: Window, wanted: Bool) -> Read:
    """`wanted`: the functions of the trace whose calls may be changed."""
    inv = trace.invocations
    mine = np.flatnonzero(wanted[inv.function] & (inv.fs >= window.begin) & (inv.fs < window.end))
    label = np.where(inv.interval == NONE, NONE, 0)
    columns = (inv.thread, label, inv.function, inv.fs, inv.fe, inv.depth)
    return Read(_owned(trace, window), Calls(*(i64(column[mine]) for column in columns)))


def _owned(trace: Trace, window: Window) -> Rows:
    seg = trace.segments
    deciding = _deciding(trace.wakeups, seg)
    waker, woken = np.full(len(seg.ts), NONE, np.int64), np.full(len(seg.ts), NEVER)
    of = trace.wakeups.segment[deciding]
    waker[of], woken[of] = trace.wakeups.waker[deciding], trace.wakeups.t[deciding]
    mine = np.flatnonzero((seg.te > window.begin) & (seg.ts < window.end))
    label = np.where(seg.interval == NONE, NONE, 0)
    columns = (seg.thread, label, seg.state, seg.ts, seg.te, waker, woken)
    return Rows(*(i64(column[mine]) for column in columns))


def _deciding(wakeups: Wakeups, seg: Segments) -> Int64:
    """Rows of the wake-ups that ended a wait: of each blocked segment the last one, by another thread."""
    rows = np.flatnonzero(
        (wakeups.waker != NONE) & (wakeups.waker != wakeups.thread) & (seg.state[wakeups.segment] == BLOCKED)
    )
    rows = rows[np.lexsort((wakeups.t[rows], wakeups.segment[rows]))]
    of = wakeups.segment[rows]
    last: Int64 = rows[np.r_[of[1:] != of[:-1], True][: len(rows)]]
    return last


def made_outside(made: Created, iv: Intervals) -> Bool:
    """The intervals that begin when their request was made, by nobody of the program."""
    nobody = np.flatnonzero(made.creator == NONE)
    row = latest(made.thread[nobody], made.ts[nobody], iv.begin_thread, iv.begin)
    found: Bool = (row != NONE) & (np.r_[made.ts[nobody], 0][row] == iv.begin)
    return found


def _last(threads: int, thread: Int32, t: Int64) -> Int64:
    found = np.full(threads, NEVER)
    np.maximum.at(found, thread, t)
    return found


def _of(table: T, rows: Int64 | Bool) -> T:
    return type(table)(*(column[rows] for column in table))


def _concatenated(*tables: T) -> T:
    return type(tables[0])(*(np.concatenate(columns) for columns in zip(*tables, strict=True)))
