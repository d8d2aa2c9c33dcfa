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

from vprof.chunks import TraceFile
from vprof.clock import Clock, line_at, ns_on
from vprof.columns import i64
from vprof.kernels import helper, kernel, roomy
from vprof.model import NONE, Int32, Int64
from vprof.nesting import SATURATED
from vprof.records import BLOCKED, INVOCATION, LOST, OFF_CPU, PEER_UNKNOWN, SITE_BITS
from vprof.scan import (
    C_AT,
    C_BASE,
    C_BEFORE,
    C_COUNT,
    C_EVENT,
    C_LAST,
    C_THREAD,
    FOREVER,
    NEVER,
    X_AUX,
    X_END,
    X_KIND,
    X_PEER,
    X_START,
    X_THREAD,
    X_WAKE,
    X_WORD,
    Scan,
    has_time,
    is_call,
    is_group,
    off_ns,
    start_ticks,
    unwrapped,
)

UInt16 = NDArray[np.uint16]


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


@dataclass(frozen=True)
class Content:
    """`waits`: rows (thread, begin, end, object class, waker or NONE, wake-up); `offs`: (thread, last event before it,
    noticed at, bits, duration)."""

    calls: PostOrder
    waits: Int64
    offs: Int64


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


def read_window(file: TraceFile, scan: Scan, clock: Clock, window: Window, still_open: Int64) -> Content:
    """All that overlaps the window. `still_open`: of `open_frames`."""
    spanning = scan.spanning
    beyond = spanning[(spanning[:, X_START] < window.end) & (spanning[:, X_END] >= window.end)]
    beyond = np.concatenate([beyond, still_open[still_open[:, X_START] < window.end]])
    beyond = i64(beyond[np.argsort(beyond[:, X_THREAD], kind="stable")])
    threads = np.arange(len(scan.records.uids) + 1)
    first, last = _chunks_of(scan.chunks, window, len(threads) - 1)
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
    peers = _Peers(i64(uids[order]), i64(order))
    n, waits, offs = _unpack(
        file.words, scan.chunks, first, last, clock.lines(), window.end, beyond, beyond_first, peers, calls
    )
    return Content(PostOrder._make(column[:n] for column in calls), waits, offs)


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


class _Peers(NamedTuple):
    """Thread numbers by uid."""

    uids: Int64
    numbers: Int64


@kernel
def _unpack(words, chunks, first, last, lines, end, beyond, beyond_first, peers, calls):  # type: ignore[no-untyped-def]
    """Fills the columns of `calls`; returns their number, and tables of waits and of times off the CPU."""
    n = line = 0
    waits, offs, count = np.zeros((64, 6), np.int64), np.zeros((64, 5), np.int64), np.zeros(2, np.int64)
    for thread in range(len(first)):
        for c in range(first[thread], last[thread]):
            size = chunks[c, C_COUNT]
            waits, offs = roomy(waits, count[0], size), roomy(offs, count[1], size)
            n, line, over = _unpack_chunk(words, chunks[c], lines, line, end, peers, calls, n, waits, offs, count)
            if over:
                break
        more = beyond_first[thread + 1] - beyond_first[thread]
        waits, offs = roomy(waits, count[0], more), roomy(offs, count[1], more)
        for k in range(beyond_first[thread], beyond_first[thread + 1]):
            row = beyond[k]
            if row[X_KIND] == INVOCATION:
                n = _call(calls, n, thread, row[X_START], row[X_END], row[X_AUX], row[X_WORD])
            elif row[X_KIND] == BLOCKED:
                peer = _peer(peers, row[X_PEER])
                _wait_row(waits, count, thread, row[X_START], row[X_END], row[X_AUX], peer, row[X_WAKE])
            else:
                _off(offs, count, thread, row[X_PEER], row[X_END], row[X_AUX], off_ns(row[X_WORD]))
    return n, waits[: count[0]], offs[: count[1]]


@helper
def _unpack_chunk(words, chunk, lines, line, end, peers, calls, n, waits, offs, count):  # type: ignore[no-untyped-def]
    """Returns the number of calls, the line of the clock, and whether a time beyond the window was met."""
    at, size, thread, base = chunk[C_AT], chunk[C_COUNT], chunk[C_THREAD], chunk[C_BASE]
    t, event = chunk[C_BEFORE], chunk[C_EVENT]
    previous = 0
    for i in range(size):
        head, word = words[at + 2 * i], words[at + 2 * i + 1]
        kind, aux = (head >> 60) & 15, (head >> 48) & 0xFFF
        if has_time(kind):
            ticks = unwrapped(head, base)
            line = line_at(lines, ticks, line)
            now = ns_on(lines, ticks, line)
            t = max(now, t + 1) if t != NEVER else now
            if t >= end:
                return n, line, True
            if is_call(kind):
                started = start_ticks(words, at + 2 * i, previous, ticks, word)
                start = ns_on(lines, started, line_at(lines, started, line))
                n = _call(calls, n, thread, start, t, aux, word)
            elif kind == BLOCKED and is_group(words, at + 2 * i, size - i):
                _wait(waits, count, thread, words, at + 2 * i, base, lines, line, t, peers)
            elif kind == OFF_CPU:
                _off(offs, count, thread, event, t, aux, off_ns(word))
            if kind != LOST:
                event = t
        previous = kind
    return n, line, False


@helper
def _call(calls, n, thread, start, end, depth, word):  # type: ignore[no-untyped-def]
    calls.thread[n] = thread
    calls.number[n] = (word >> 32) & ((1 << SITE_BITS) - 1)
    calls.call[n] = (word >> (32 + SITE_BITS)) & 1023
    calls.start[n], calls.end[n], calls.depth[n] = start, end, depth
    return n + 1


@helper
def _wait(waits, count, thread, words, at, base, lines, line, end, peers):  # type: ignore[no-untyped-def]
    """The wait of three records at word `at`."""
    begun, head, uid = words[at + 1], words[at + 4], words[at + 5]
    begin = ns_on(lines, begun, line_at(lines, begun, line))
    woke = unwrapped(head, base)
    wake = ns_on(lines, woke, line_at(lines, woke, line))
    peer = NONE if (head >> 48) & PEER_UNKNOWN else _peer(peers, uid & 0xFFFFFFFF)
    _wait_row(waits, count, thread, begin, end, (words[at] >> 48) & 0xFFF, peer, wake)


@helper
def _wait_row(waits, count, thread, begin, end, aux, peer, wake):  # type: ignore[no-untyped-def]
    row = waits[count[0]]
    row[0], row[1], row[2], row[3], row[4], row[5] = thread, begin, end, aux, peer, wake
    count[0] += 1


@helper
def _off(offs, count, thread, before, stop, aux, ns):  # type: ignore[no-untyped-def]
    row = offs[count[1]]
    row[0], row[1], row[2], row[3], row[4] = thread, before, stop, aux, ns
    count[1] += 1


@helper
def _peer(peers, uid):  # type: ignore[no-untyped-def]
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
    return peers.numbers[a]


@kernel
def rows_between(first, t, since, until):  # type: ignore[no-untyped-def]
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
