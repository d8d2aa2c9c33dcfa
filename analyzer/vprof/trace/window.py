"""The second reading of a trace: the calls, waits and time off the CPU of one window of time.

    scan (scan.py) + window  ->  post-order rows of all that overlaps it

Guaranteed: for times inside the window the rows are those of the whole trace. They may hold more before its begin;
what began after its end is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vprof.tables.columns import i64
from vprof.tables.kernels import helper, kernel, loop, maker, roomy
from vprof.tables.model import NONE, SINCE_ALWAYS, Int32, Int64, UInt16
from vprof.trace.chunks import TraceFile
from vprof.trace.clock import Clock, line_at, ns_on
from vprof.trace.decode import (
    TIME_UNKNOWN,
    TIMED_OUT,
    X_AUX,
    X_END,
    X_KIND,
    X_NAMED,
    X_PEER,
    X_START,
    X_THREAD,
    X_WAKE,
    X_WORD,
    Source,
    aux_of,
    call_of,
    class_of_hold,
    fill_wait,
    has_time,
    is_call,
    is_hold,
    is_named,
    is_stack,
    is_wait,
    kind_of,
    lock_at,
    name_of,
    off_ns,
    site_of,
    start_of_call,
    start_of_hold,
    start_of_name,
    start_of_wait,
    unwrapped,
)
from vprof.trace.holds import H_CLASS, H_OBJECT, H_RELEASE, H_SINCE, H_THREAD, lock_of
from vprof.trace.nesting import SATURATED
from vprof.trace.records import BLOCKED, EXTENDED, INVOCATION, LOST, OF_RELEASE, OFF_CPU, SITE_BITS
from vprof.trace.scan import C_AT, C_BASE, C_BEFORE, C_COUNT, C_LAST, C_RECORD, C_THREAD, FOREVER, NEVER, Scan


@dataclass(frozen=True)
class Window:
    """What ends in [begin, end) is the window's own; `since` is when its data begins, not after `begin`: intervals
    that end in the window may have begun before it."""

    since: int
    begin: int
    end: int

    def owns(self, t: Int64) -> NDArray[np.bool_]:
        owned: NDArray[np.bool_] = (t >= self.begin) & (t < self.end)
        return owned


WHOLE = Window(NEVER, NEVER, FOREVER)


class PostOrder(NamedTuple):
    """Calls, grouped by thread, in the order of their ends."""

    thread: Int32
    number: Int32
    call: UInt16
    start: Int64
    end: Int64
    depth: Int32


W_THREAD, W_BEGIN, W_END, W_CLASS, W_WAKER, W_WAKE, W_LOCK, W_TOLD, W_TIMED_OUT, W_NAME = range(10)
"""Columns of a table of waits: class of the object, waker or NONE, wake-up, lock, and the wake-up again, or
SINCE_ALWAYS if its time is not recorded; whether a time was over that the thread had set; the number of its name, 0: it
has none."""

O_THREAD, O_BEFORE, O_STOP, O_BITS, O_NS = range(5)
"""Columns of a table of times off the CPU: the last record before it, when it was noticed, what for, how long."""


K_THREAD, K_TIME, K_RELEASE, K_WORD = range(4)
"""Columns of a table of samples of where threads wait: the time of the thread's record before it; w1."""


@dataclass(frozen=True)
class RawContent:
    """`waits`: columns W_*. `holds`: columns H_* of holds.py. `offs`: columns O_*. `stacks`: columns K_*."""

    calls: PostOrder
    waits: Int64
    holds: Int64
    offs: Int64
    stacks: Int64


def open_frames(scan: Scan, clock: Clock, events: list[dict[str, Any]], file_end: int) -> Int64:
    """Frames nobody left, innermost first, as rows X_* that end at `file_end`. Those of version 1 have no call
    number."""
    threads = scan.threads
    rows = [
        (
            threads[event["uid"]],
            INVOCATION,
            clock.one(ticks),
            file_end,
            min(depth, SATURATED),
            number << 32 | place,
            0,
            0,
        )
        for event in events
        for depth, (number, ticks, *call) in reversed(list(enumerate(event["frames"])))
        for place in [(call[0] if call else 0) << (32 + SITE_BITS)]
    ]
    return np.array([_signed(row) for row in rows], np.int64).reshape(-1, 8)


def _signed(row: tuple[int, ...]) -> list[int]:
    return [value - (1 << 64) if value >= 1 << 63 else value for value in row]


def read_window(file: TraceFile, scan: Scan, clock: Clock, window: Window, still_open: Int64) -> RawContent:
    """All that overlaps the window. `still_open`: of `open_frames`."""
    spanning = scan.spanning
    beyond = spanning[(spanning[:, X_START] < window.end) & (spanning[:, X_END] >= window.end)]
    beyond = np.concatenate([beyond, still_open[still_open[:, X_START] < window.end]])
    beyond = i64(beyond[np.argsort(beyond[:, X_THREAD], kind="stable")])
    threads = np.arange(len(scan.records.uids) + 1)
    first, last = _chunks_of(scan.chunks, window, len(threads) - 1)
    for a, b in zip(first, last, strict=True) if not file.is_mapped else ():
        file.need(scan.chunks[a:b, C_AT], 2 * scan.chunks[a:b, C_COUNT])
    size = int(sum(scan.chunks[a:b, C_COUNT].sum() for a, b in zip(first, last, strict=True))) + len(beyond)
    calls = PostOrder(
        np.empty(size, np.int32),
        np.empty(size, np.int32),
        np.empty(size, np.uint16),
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.empty(size, np.int32),
    )
    uids = np.array(scan.records.uids, np.int64)
    order = np.argsort(uids)
    beyond_first = i64(np.searchsorted(beyond[:, X_THREAD], threads))
    wanted = _Wanted(scan.chunks, first, last, window.end, beyond, beyond_first)
    n, found = _unpack(Source(file.words, clock.lines()), wanted, _Peers(i64(uids[order]), i64(order)), calls)
    return RawContent(PostOrder._make(column[:n] for column in calls), *found)


def _chunks_of(chunks: Int64, window: Window, threads: int) -> tuple[Int64, Int64]:
    """By thread: the first of its chunks that may hold times from `since` on, and the one after the last that holds
    times before `end`."""
    owner = chunks[:, C_THREAD]
    start = np.searchsorted(owner, np.arange(threads + 1))
    first, last = np.empty(threads, np.int64), np.empty(threads, np.int64)
    for thread in range(threads):
        a, b = start[thread], start[thread + 1]
        first[thread] = a + np.searchsorted(chunks[a:b, C_LAST], window.since)
        last[thread] = a + np.searchsorted(chunks[a:b, C_BEFORE], window.end)
    return first, last


class _Wanted(NamedTuple):
    """Of each thread the chunks first[thread] .. last[thread], until the time `end`; and what goes on after it: rows
    X_*, `beyond_first` as offsets."""

    chunks: Int64
    first: Int64
    last: Int64
    end: int
    beyond: Int64
    beyond_first: Int64


class _Peers(NamedTuple):
    """Thread numbers by uid."""

    uids: Int64
    numbers: Int64


class _Found(NamedTuple):
    """Calls, tables that have room, how much of each is `used` (_N_*), and a row X_* as scratch."""

    calls: PostOrder
    waits: Int64
    holds: Int64
    offs: Int64
    stacks: Int64
    used: Int64
    row: Int64


_N_CALLS, _N_WAITS, _N_HOLDS, _N_OFFS, _N_STACKS, _LINE = range(6)
"""Also counted: the line of the clock that was needed last."""


@kernel
def _unpack(
    source: Source, wanted: _Wanted, peers: _Peers, calls: PostOrder
) -> tuple[int, tuple[Int64, Int64, Int64, Int64]]:
    """Fills the columns of `calls`; returns their number, and tables of waits, holds, times off the CPU and samples of
    stacks."""
    found = _Found(
        calls,
        np.zeros((64, 10), np.int64),
        np.zeros((64, 5), np.int64),
        np.zeros((64, 5), np.int64),
        np.zeros((64, 4), np.int64),
        np.zeros(6, np.int64),
        np.zeros(8, np.int64),
    )
    for thread in range(len(wanted.first)):
        for c in range(wanted.first[thread], wanted.last[thread]):
            found = _roomy(found, wanted.chunks[c, C_COUNT])
            if not _unpack_chunk(source, wanted.chunks[c], wanted.end, peers, found):
                break
        found = _roomy(found, wanted.beyond_first[thread + 1] - wanted.beyond_first[thread])
        _add_beyond(wanted, thread, peers, found)
    count = found.used
    return count[_N_CALLS], (
        found.waits[: count[_N_WAITS]],
        found.holds[: count[_N_HOLDS]],
        found.offs[: count[_N_OFFS]],
        found.stacks[: count[_N_STACKS]],
    )


@maker
def _roomy(found: _Found, more: int) -> _Found:
    """With room for so many more rows in each table."""
    count = found.used
    return _Found(
        found.calls,
        roomy(found.waits, count[_N_WAITS], more),
        roomy(found.holds, count[_N_HOLDS], more),
        roomy(found.offs, count[_N_OFFS], more),
        roomy(found.stacks, count[_N_STACKS], more),
        count,
        found.row,
    )


@loop
def _unpack_chunk(source: Source, chunk: Int64, end: int, peers: _Peers, found: _Found) -> bool:
    """False when a time beyond the window was met."""
    words, lines, count = source.words, source.lines, found.used
    begin, size, thread, base = chunk[C_AT], chunk[C_COUNT], chunk[C_THREAD], chunk[C_BASE]
    t, recorded, n, line = chunk[C_BEFORE], chunk[C_RECORD], count[_N_CALLS], count[_LINE]
    previous = 0
    for i in range(size):
        at = begin + 2 * i
        head, word = words[at], words[at + 1]
        kind, aux = kind_of(head), aux_of(head)
        held = is_hold(words, at, size - i)
        if has_time(kind) or held:
            ticks = unwrapped(head, base)
            line = line_at(lines, ticks, line)
            now = ns_on(lines, ticks, line)
            t = max(now, t + 1) if t != NEVER else now
            if t >= end:
                break
            if is_call(kind):
                _call(found.calls, n, thread, start_of_call(source, at, previous, ticks, line), t, aux, word)
                n += 1
            elif kind == BLOCKED and is_wait(words, at, size - i):
                found.row[X_THREAD], found.row[X_START], found.row[X_END] = thread, start_of_wait(source, at, line), t
                fill_wait(found.row, source, at, base, line)
                _wait(found, peers, found.row)
            elif held:
                _hold(found, lock_at(words, at), thread, start_of_hold(source, at, line, t), t, class_of_hold(head))
            elif kind == OFF_CPU:
                _off(found, thread, recorded, t, aux, off_ns(word))
            if kind != LOST and not held:
                recorded = t
        elif is_stack(head):
            _stack(found, thread, t, aux & OF_RELEASE, word)
        elif is_named(head):
            _name(found, thread, start_of_name(source, at, base, line), name_of(word))
        previous = kind
    count[_N_CALLS], count[_LINE] = n, line
    return bool(t < end)


@loop
def _add_beyond(wanted: _Wanted, thread: int, peers: _Peers, found: _Found) -> None:
    """What the thread still does at the end of the window."""
    for k in range(wanted.beyond_first[thread], wanted.beyond_first[thread + 1]):
        row = wanted.beyond[k]
        if row[X_KIND] == INVOCATION:
            n = found.used[_N_CALLS]
            _call(found.calls, n, thread, row[X_START], row[X_END], row[X_AUX], row[X_WORD])
            found.used[_N_CALLS] += 1
        elif row[X_KIND] == BLOCKED:
            _wait(found, peers, row)
        elif row[X_KIND] == EXTENDED:
            _hold(found, row[X_WORD], thread, row[X_START], row[X_END], row[X_AUX])
        elif row[X_KIND] == X_NAMED:
            _name(found, thread, row[X_START], row[X_WORD])
        else:
            _off(found, thread, row[X_PEER], row[X_END], row[X_AUX], off_ns(row[X_WORD]))


@helper
def _call(calls: PostOrder, n: int, thread: int, start: int, end: int, depth: int, word: int) -> None:
    calls.thread[n], calls.number[n], calls.call[n] = thread, site_of(word), call_of(word)
    calls.start[n], calls.end[n], calls.depth[n] = start, end, depth


@helper
def _wait(found: _Found, peers: _Peers, of: Int64) -> None:
    """Adds the wait that is a row X_*."""
    row, class_ = found.waits[found.used[_N_WAITS]], of[X_AUX] & 0xFFF
    row[W_THREAD], row[W_BEGIN], row[W_END], row[W_CLASS] = of[X_THREAD], of[X_START], of[X_END], class_
    row[W_WAKER], row[W_WAKE], row[W_LOCK] = _peer(peers, of[X_PEER]), of[X_WAKE], lock_of(class_, of[X_WORD])
    row[W_TOLD] = SINCE_ALWAYS if of[X_AUX] & TIME_UNKNOWN else of[X_WAKE]
    row[W_TIMED_OUT] = of[X_AUX] & TIMED_OUT != 0
    row[W_NAME] = 0
    found.used[_N_WAITS] += 1


@helper
def _name(found: _Found, thread: int, since: int, name: int) -> None:
    """Names those of the thread's waits so far that began then or later and have no name. They are in the order of
    their ends."""
    w = found.used[_N_WAITS] - 1
    while w >= 0 and found.waits[w, W_THREAD] == thread and found.waits[w, W_END] >= since:
        if found.waits[w, W_BEGIN] >= since and found.waits[w, W_NAME] == 0:
            found.waits[w, W_NAME] = name
        w -= 1


@helper
def _hold(found: _Found, lock: int, thread: int, since: int, release: int, class_: int) -> None:
    row = found.holds[found.used[_N_HOLDS]]
    row[H_OBJECT], row[H_THREAD], row[H_SINCE], row[H_RELEASE] = lock, thread, since, release
    row[H_CLASS] = class_
    found.used[_N_HOLDS] += 1


@helper
def _off(found: _Found, thread: int, before: int, stop: int, bits: int, ns: int) -> None:
    row = found.offs[found.used[_N_OFFS]]
    row[O_THREAD], row[O_BEFORE], row[O_STOP], row[O_BITS], row[O_NS] = thread, before, stop, bits, ns
    found.used[_N_OFFS] += 1


@helper
def _stack(found: _Found, thread: int, t: int, release: int, word: int) -> None:
    row = found.stacks[found.used[_N_STACKS]]
    row[K_THREAD], row[K_TIME], row[K_RELEASE], row[K_WORD] = thread, t, release, word
    found.used[_N_STACKS] += 1


@helper
def _peer(peers: _Peers, uid: int) -> int:
    """The number of the thread with this uid; NONE for a negative one. REQUIRES: it is known."""
    if uid < 0:
        return NONE
    a, b = 0, len(peers.uids)
    while a < b:
        m = (a + b) // 2
        if peers.uids[m] < uid:
            a = m + 1
        else:
            b = m
    return int(peers.numbers[a])


@kernel
def rows_between(first: Int64, t: Int64, since: Int64, until: Int64) -> Int64:
    """Rows of a table that is sorted by (thread, t), `first` as offsets: of each thread those in [since, until] of it,
    and the one before them."""
    rows, n = np.empty(len(t), np.int64), 0
    for thread in range(len(first) - 1):
        a, b = first[thread], first[thread + 1]
        begin = max(a, a + np.searchsorted(t[a:b], since[thread], side="right") - 1)
        for row in range(begin, b):
            if t[row] > until[thread]:
                break
            rows[n] = row
            n += 1
    return rows[:n].copy()
