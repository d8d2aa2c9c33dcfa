"""The first reading of a trace: what must be known of the whole before any window of it can be read alone.

    chunks -> times, made strictly increasing per thread -> records of intervals, tasks, threads and losses; and of
    calls, waits and time off the CPU only what spans a border between two windows

What it finds of a thread depends on that thread's chunks alone: so several processes may scan some threads each.
Windows are cut at `borders`. What ends in a window is in its records; what began before its end and ends later is a row
of `Scan.spanning`. So memory does not grow with the number of calls and waits, and the analysis of a window
(window.py) sees the same calls, waits and pieces as that of the whole trace.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vprof.jobs.tasks import Progress
from vprof.tables.columns import i64
from vprof.tables.kernels import helper, kernel, loop, roomy
from vprof.tables.lookup import values_of
from vprof.tables.model import NONE, Bool, Int64
from vprof.trace.chunks import RELEASE_BYTES, TraceFile
from vprof.trace.clock import Clock, line_at, ns_on
from vprof.trace.decode import (
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
    class_of_hold,
    fill_wait,
    has_time,
    is_call,
    is_hold,
    is_lock,
    is_named,
    is_sparse,
    is_stack,
    is_wait,
    kind_of,
    lock_at,
    name_of,
    off_ns,
    peer_at,
    site_of,
    start_of_call,
    start_of_hold,
    start_of_name,
    start_of_wait,
    unwrapped,
)
from vprof.trace.holds import RECENT_WAITS
from vprof.trace.lives import Lives
from vprof.trace.records import (
    ABANDONED,
    BLOCKED,
    EXTENDED,
    INVOCATION,
    LOST,
    OFF_CPU,
    PEER,
    PEER_UNKNOWN,
    SITE_BITS,
    Records,
)

NEVER, FOREVER = np.iinfo(np.int64).min, np.iinfo(np.int64).max

C_AT, C_COUNT, C_THREAD, C_BASE, C_BEFORE, C_RECORD, C_LAST = range(7)
"""Columns of a chunk: where its words are, records, thread, base ticks; the thread's latest time before it, its latest
time with a record before it (LOST is told at any later one), and its latest time in it or before."""

_LAST, _HIGHEST, _RECORD, _LINE, _BORDER, _OFF_ROW, _OFF_STOP, _FIRST, _HOLDS, _ENDED, _RECENT = range(11)
"""What is known of a thread between its chunks: at last how many waits it has ended, and of the RECENT_WAITS latest the
ticks of the begin and the time of the end."""

_BACKWARDS, _UNKNOWN, _ABANDONED, _WAITS, _FRESH = range(5)
_N_SPARSE, _N_SPANNING = 5, 6
_COUNTS = 7

Y_HEAD, Y_TIME, Y_WORD = range(3)
"""Columns of records of some kinds: thread, kind and aux as one number, the time in ns, and w1."""

WAKER, _KNOWN = 2, 1
"""Of a thread's uid: it ended a wait; it occurs as the peer of a new thread."""

_FROM, _TO = range(2)
"""Columns of the asked times."""

_PEER_TABLE = 1 << 16
"""Thread uids below this are looked up; greater ones, which no real trace has, are listed one by one."""


@dataclass(frozen=True, kw_only=True)
class Scan:
    """`records`: those of intervals, tasks, threads and losses. `chunks` (columns C_*) are sorted by thread, `spanning`
    (X_*) too. `lives` go from each thread's first to its last moment. `seen` are site numbers with calls, `wakers`
    marks the threads that ended a wait. `backwards` counts times smaller than their predecessor's.
    `calls_entered[epoch]`: calls that began in each of the asked times."""

    records: Records
    chunks: Int64
    spanning: Int64
    borders: Int64
    lives: Lives
    seen: Int64
    wakers: Bool
    calls_entered: Int64
    waits: int
    abandoned: int
    backwards: int
    unknown: int

    @property
    def threads(self) -> dict[int, int]:
        return {uid: index for index, uid in enumerate(self.records.uids)}


class Asked(NamedTuple):
    """Of a scan: borders of windows; times (from, to), and how many calls began in each."""

    borders: Int64
    times: Int64
    entered: Int64


class _Tables(NamedTuple):
    """What is found: by thread _LAST ..., the counts, by site and by uid what was seen; and tables that grow: of rows
    Y_*, of rows X_*, and of the uids that are too great for `peers`."""

    state: Int64
    counts: Int64
    seen: NDArray[np.uint8]
    peers: NDArray[np.uint8]
    sparse: Int64
    spanning: Int64
    fresh: Int64


class DamagedError(Exception):
    """A chunk of records is damaged, in a file of which that had not been checked."""


@dataclass(frozen=True, kw_only=True)
class OfThreads:
    """What one pass over the chunks of some `threads` found: by thread its `first` and `last` time (NEVER: it has
    none) and whether it is a `holder` of locks that it released; `chunks` with all columns; how many waits, calls left,
    times mended and records unknown; site numbers, peers by uid, those too great for that; rows Y_* and X_*; calls
    entered in the asked times."""

    threads: Int64
    first: Int64
    last: Int64
    holder: Bool
    chunks: Int64
    waits: int
    abandoned: int
    backwards: int
    unknown: int
    seen: Int64
    peers: NDArray[np.uint8]
    fresh: Int64
    sparse: Int64
    spanning: Int64
    entered: Int64


def scan_threads(
    file: TraceFile,
    clock: Clock,
    asked: Asked,
    chunks: Int64,
    crc: Int64 | None = None,
    progress: Progress = lambda done: None,
) -> OfThreads:
    """`chunks`: all those of some threads, in file order. With `crc`, their checksums, raises DamagedError."""
    threads = values_of(chunks[:, C_THREAD])
    chunks, asked = i64(chunks), Asked(i64(asked.borders), i64(asked.times), np.zeros(len(asked.times), np.int64))
    tables = _Tables(
        _fresh_state(int(threads.max(initial=NONE)) + 1),
        np.zeros(_COUNTS, np.int64),
        np.zeros(1 << SITE_BITS, np.uint8),
        np.zeros(_PEER_TABLE, np.uint8),
        sparse=np.zeros((1024, 3), np.int64),
        spanning=np.zeros((64, 8), np.int64),
        fresh=np.zeros(64, np.int64),
    )
    portions = _portions(chunks)
    for done, (a, b) in enumerate(portions, 1):
        file.need(chunks[a:b, C_AT], 2 * chunks[a:b, C_COUNT])
        if crc is not None:
            _check(file, chunks[a:b], crc[a:b])
        tables = _scan(Source(file.words, clock.lines()), chunks[a:b], asked, tables)
        file.release()
        progress(done / len(portions))
    state, count = tables.state[threads], tables.counts
    return OfThreads(
        threads=threads,
        first=state[:, _FIRST],
        last=state[:, _LAST],
        holder=state[:, _HOLDS] > 0,
        chunks=chunks,
        waits=int(count[_WAITS]),
        abandoned=int(count[_ABANDONED]),
        backwards=int(count[_BACKWARDS]),
        unknown=int(count[_UNKNOWN]),
        seen=np.flatnonzero(tables.seen.view(np.bool_)),  # twenty times as fast as bytes
        peers=tables.peers,
        fresh=values_of(tables.fresh[: count[_FRESH]]),
        sparse=tables.sparse[: count[_N_SPARSE]],
        spanning=tables.spanning[: count[_N_SPANNING]],
        entered=asked.entered,
    )


def _portions(chunks: Int64) -> list[tuple[int, int]]:
    """[first, last) of the chunks, in parts of which each is small in memory."""
    part = np.cumsum(16 * chunks[:, C_COUNT]) // RELEASE_BYTES
    return list(pairwise([0, *(np.flatnonzero(np.diff(part)) + 1).tolist(), len(chunks)])) if len(chunks) else []


def _check(file: TraceFile, chunks: Int64, crc: Int64) -> None:
    for at, count, sum_ in zip(chunks[:, C_AT].tolist(), chunks[:, C_COUNT].tolist(), crc.tolist(), strict=True):
        if file.is_damaged(at, count, sum_):
            raise DamagedError


def _fresh_state(threads: int) -> Int64:
    state = np.zeros((threads, _RECENT + 2 * RECENT_WAITS), np.int64)
    state[:, [_LAST, _HIGHEST, _RECORD, _OFF_STOP]] = NEVER
    state[:, _FIRST] = FOREVER
    return state


@kernel
def _scan(source: Source, chunks: Int64, asked: Asked, found: _Tables) -> _Tables:
    """Fills the C_BEFORE, C_RECORD and C_LAST of the chunks."""
    count = found.counts
    for c in range(len(chunks)):
        n = chunks[c, C_COUNT]
        found = _Tables(
            found.state,
            count,
            found.seen,
            found.peers,
            roomy(found.sparse, count[_N_SPARSE], n),
            roomy(found.spanning, count[_N_SPANNING], n),
            roomy(found.fresh, count[_FRESH], n),
        )
        _scan_chunk(source, chunks[c], asked, found)
    return found


@loop
def _scan_chunk(source: Source, chunk: Int64, asked: Asked, found: _Tables) -> None:
    words, lines, count = source.words, source.lines, found.counts
    begin, n, thread, base = chunk[C_AT], chunk[C_COUNT], chunk[C_THREAD], chunk[C_BASE]
    own = found.state[thread]
    last, highest, recorded, line, first = own[_LAST], own[_HIGHEST], own[_RECORD], own[_LINE], own[_FIRST]
    off_stop = own[_OFF_STOP]
    chunk[C_BEFORE], chunk[C_RECORD] = last, recorded
    passed, ahead = _borders(asked.borders, own, last)
    previous = 0
    for i in range(n):
        at = begin + 2 * i
        head, word = words[at], words[at + 1]
        kind, aux = kind_of(head), aux_of(head)
        ticks = unwrapped(head, base)
        line = line_at(lines, ticks, line)
        t = ns_on(lines, ticks, line)
        held = is_hold(words, at, n - i)
        if has_time(kind) or held:
            count[_BACKWARDS] += t < highest
            highest = max(highest, t)
            t = max(t, last + 1) if last != NEVER else t
            last = t
            first = min(first, t)
            if t >= ahead:
                passed, ahead = _borders(asked.borders, own, t)
        if is_call(kind):
            start = min(start_of_call(source, at, previous, ticks, line), t)
            first = min(first, start)
            _count_call(asked, found, kind, word, start)
            if start < passed:
                _span(found, thread, INVOCATION, start, t, aux, word, 0)
            if start < off_stop:
                floor = found.spanning[own[_OFF_ROW]]
                floor[X_PEER] = max(floor[X_PEER], start)
        elif kind == BLOCKED:
            if is_wait(words, at, n - i):
                start = min(start_of_wait(source, at, line), t)
                first = min(first, start)
                _count_wait(found, peer_at(words, at))
                recent = _RECENT + 2 * (own[_ENDED] % RECENT_WAITS)
                own[recent], own[recent + 1] = word, t
                own[_ENDED] += 1
                if start < passed:
                    row = found.spanning[count[_N_SPANNING]]
                    fill_wait(row, source, at, base, line)
                    row[X_THREAD], row[X_KIND], row[X_START], row[X_END] = thread, BLOCKED, start, t
                    count[_N_SPANNING] += 1
        elif kind == OFF_CPU:
            start = max(t - off_ns(word), recorded)
            if start < passed:
                own[_OFF_ROW], off_stop = count[_N_SPANNING], t
                _span(found, thread, OFF_CPU, start, t, aux, word, recorded)
        elif held:
            own[_HOLDS] += 1
            start = start_of_hold(source, at, line, t)
            if start < passed:
                acquired = _acquired(own, word, start)
                _span(found, thread, EXTENDED, start, t, class_of_hold(head), lock_at(words, at), acquired)
        elif is_named(head):
            start = start_of_name(source, at, base, line)
            if start < passed:
                _span(found, thread, X_NAMED, start, last, 0, name_of(word), 0)
        elif kind == EXTENDED:
            count[_UNKNOWN] += not (is_stack(head) or is_lock(head))
        elif is_sparse(kind, previous):
            _keep(found, thread, head, t, word)
        if has_time(kind) and kind != LOST:
            recorded = t
        previous = kind
    own[_LAST], own[_HIGHEST], own[_RECORD], own[_LINE], own[_FIRST] = last, highest, recorded, line, first
    own[_OFF_STOP] = off_stop
    chunk[C_LAST] = last


@helper
def _borders(borders: Int64, own: Int64, t: int) -> tuple[int, int]:
    """The last border that the thread has passed at t, and the next one."""
    b = own[_BORDER]
    while b < len(borders) and borders[b] <= t:
        b += 1
    own[_BORDER] = b
    return borders[b - 1] if b else NEVER, borders[b] if b < len(borders) else FOREVER


@helper
def _acquired(own: Int64, since: int, start: int) -> int:
    """When a hold since these ticks, or that time, began: after the wait that it is recorded since, if it is that."""
    for k in range(min(own[_ENDED], RECENT_WAITS)):
        if own[_RECENT + 2 * k] == since:
            return int(own[_RECENT + 2 * k + 1])
    return start


@helper
def _count_call(asked: Asked, found: _Tables, kind: int, word: int, start: int) -> None:
    found.seen[site_of(word)] = 1
    found.counts[_ABANDONED] += kind == ABANDONED
    for k in range(len(asked.times)):
        if asked.times[k, _FROM] <= start <= asked.times[k, _TO]:
            asked.entered[k] += 1


@helper
def _count_wait(found: _Tables, peer: int) -> None:
    found.counts[_WAITS] += 1
    if peer >= 0:
        _meet(found, peer, WAKER)


@helper
def _span(found: _Tables, thread: int, kind: int, start: int, end: int, aux: int, word: int, peer: int) -> None:
    """Adds a row to `spanning`."""
    row = found.spanning[found.counts[_N_SPANNING]]
    row[X_THREAD], row[X_KIND], row[X_START], row[X_END] = thread, kind, start, end
    row[X_AUX], row[X_WORD], row[X_PEER], row[X_WAKE] = aux, word, peer, 0
    found.counts[_N_SPANNING] += 1


@helper
def _keep(found: _Tables, thread: int, head: int, t: int, word: int) -> None:
    """Adds a row to `sparse`."""
    kind, aux = kind_of(head), aux_of(head)
    row = found.sparse[found.counts[_N_SPARSE]]
    row[Y_HEAD], row[Y_TIME], row[Y_WORD] = (thread << 32) | (kind << 16) | aux, t, word
    found.counts[_N_SPARSE] += 1
    if kind == PEER and not aux & PEER_UNKNOWN:
        _meet(found, word & 0xFFFFFFFF, _KNOWN)


@helper
def _meet(found: _Tables, uid: int, bit: int) -> None:
    if uid < len(found.peers):
        found.peers[uid] |= bit
    else:
        found.fresh[found.counts[_FRESH]] = uid
        found.counts[_FRESH] += 1
