"""The first reading of a trace: what must be known of the whole before any window of it can be read alone.

    chunks -> times, made strictly increasing per thread -> records of intervals, tasks, threads and losses; and of
    calls, waits and time off the CPU only what spans a border between two windows

Windows are cut at `borders`. What ends in a window is in its records; what began before its end and ends later is a row
of `Scan.spanning`. So memory does not grow with the number of calls and waits, and the analysis of a window
(window.py) sees the same calls, waits and pieces as that of the whole trace.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vprof.chunks import RELEASE_BYTES, TraceFile
from vprof.clock import Clock, line_at, ns_on
from vprof.columns import i64
from vprof.kernels import helper, kernel, roomy
from vprof.lives import Lives
from vprof.model import Bool, Int64
from vprof.records import (
    ABANDONED,
    BLOCKED,
    COUNT,
    CREATED,
    INTERVAL_BEGIN,
    INVOCATION,
    LONG_DURATION,
    LONG_START,
    LOST,
    OBJECT,
    OFF_CPU,
    PEER,
    PEER_UNKNOWN,
    SITE_BITS,
    Records,
)

NEVER, FOREVER = np.iinfo(np.int64).min, np.iinfo(np.int64).max

C_AT, C_COUNT, C_THREAD, C_BASE, C_BEFORE, C_EVENT, C_LAST = range(7)
"""Columns of a chunk: where its words are, records, thread, base ticks; the thread's latest time before it, its latest
event before it (LOST is told at any later one), and its latest time in it or before."""

X_THREAD, X_KIND, X_START, X_END, X_AUX, X_WORD, X_PEER, X_WAKE = range(8)
"""Columns of what spans a border: of a call its record's aux and w1; of a wait its object's class, waker and wake-up;
of time off the CPU its bits and duration, and as X_PEER the last event before it."""

_LAST, _HIGHEST, _EVENT, _LINE, _BORDER, _OFF_ROW, _OFF_STOP, _FIRST = range(8)
"""What is known of a thread between its chunks."""

_BACKWARDS, _UNKNOWN, _ABANDONED, _WAITS, _FRESH = range(5)
_N_SPARSE, _N_SPANNING = 5, 6
_COUNTS = 7

_PEER_TABLE = 1 << 16
"""Thread uids below this are looked up; greater ones, which no real trace has, are listed one by one."""


@dataclass(frozen=True)
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


Progress = Callable[[float], None]
"""Is told which part of the work is done, 0 to 1."""


class _Tables(NamedTuple):
    state: Int64
    counts: Int64
    seen: NDArray[np.uint8]
    peers: NDArray[np.uint8]


def scan(
    file: TraceFile, uids: list[int], clock: Clock, borders: Int64, times: Int64, progress: Progress = lambda part: None
) -> Scan:
    """Threads are numbered in the order of `uids`, then as they turn up. `borders` in ns, sorted; `times`: rows (from,
    to) for `calls_entered`."""
    numbers = {uid: index for index, uid in enumerate(uids)}
    for chunk in file.chunks:
        numbers.setdefault(chunk.uid, len(numbers))
    chunks = np.zeros((len(file.chunks), 7), np.int64)
    for row, chunk in zip(chunks, file.chunks, strict=True):
        row[:4] = chunk.at, len(chunk.words), numbers[chunk.uid], chunk.base_ticks
    tables = _Tables(
        _fresh_state(len(numbers)),
        np.zeros(_COUNTS, np.int64),
        np.zeros(1 << SITE_BITS, np.uint8),
        np.zeros(_PEER_TABLE, np.uint8),
    )
    sparse, spanning, fresh = np.zeros((1024, 3), np.int64), np.zeros((64, 8), np.int64), np.zeros((64, 1), np.int64)
    entered = np.zeros(len(times), np.int64)
    portions = _portions(chunks)
    for done, part in enumerate(portions, 1):
        sparse, spanning, fresh = _scan(
            file.words, part, clock.lines(), borders, i64(times), entered, tables, sparse, spanning, fresh
        )
        file.release()
        progress(done / len(portions))
    count = tables.counts
    wakers = _number_peers(numbers, tables.peers, fresh[: count[_FRESH], 0])
    spanning = spanning[: count[_N_SPANNING]]
    return Scan(
        records=_grouped(list(numbers), sparse[: count[_N_SPARSE]]),
        chunks=chunks[np.argsort(chunks[:, C_THREAD], kind="stable")],
        spanning=spanning[np.argsort(spanning[:, X_THREAD], kind="stable")],
        borders=borders,
        lives=_lives(tables.state, len(numbers)),
        seen=np.flatnonzero(tables.seen),
        wakers=wakers,
        calls_entered=entered,
        waits=int(count[_WAITS]),
        abandoned=int(count[_ABANDONED]),
        backwards=int(count[_BACKWARDS]),
        unknown=int(count[_UNKNOWN]),
    )


def _portions(chunks: Int64) -> list[Int64]:
    """The chunks in file order, in parts of which each is small in memory."""
    part = np.cumsum(16 * chunks[:, C_COUNT]) // RELEASE_BYTES
    return np.split(chunks, np.flatnonzero(np.diff(part)) + 1) if len(chunks) else []


def _fresh_state(threads: int) -> Int64:
    state = np.zeros((threads, 8), np.int64)
    state[:, [_LAST, _HIGHEST, _EVENT, _OFF_STOP]] = NEVER
    state[:, _FIRST] = FOREVER
    return state


def _lives(state: Int64, threads: int) -> Lives:
    lives = Lives.none(threads)
    known = np.flatnonzero(state[:, _LAST] != NEVER)
    lives.first[known], lives.last[known] = state[known, _FIRST], state[known, _LAST]
    return lives


def _number_peers(numbers: dict[int, int], peers: NDArray[np.uint8], fresh: Int64) -> Bool:
    """Gives threads that only occur as peers their numbers; marks those that ended a wait."""
    for uid in np.flatnonzero(peers).tolist() + np.unique(fresh).tolist():
        numbers.setdefault(uid, len(numbers))
    wakers = np.zeros(len(numbers), np.bool_)
    for uid in np.flatnonzero(peers & 2).tolist() + np.unique(fresh).tolist():
        wakers[numbers[uid]] = True
    return wakers


def _grouped(uids: list[int], sparse: Int64) -> Records:
    packed = sparse[:, 0]
    thread = (packed >> 32).astype(np.int32)
    order = np.argsort(thread, kind="stable")
    packed = packed[order]
    return Records(
        uids,
        thread[order],
        ((packed >> 16) & 0xFF).astype(np.uint8),
        (packed & 0xFFFF).astype(np.uint16),
        sparse[order, 1],
        sparse[order, 2].view(np.uint64),
    )


@kernel
def _scan(words, chunks, lines, borders, times, entered, tables, sparse, spanning, fresh):  # type: ignore[no-untyped-def]
    """Returns the growing tables; fills the C_BEFORE, C_EVENT and C_LAST of the chunks."""
    count = tables.counts
    for c in range(len(chunks)):
        n = chunks[c, C_COUNT]
        sparse, spanning = roomy(sparse, count[_N_SPARSE], n), roomy(spanning, count[_N_SPANNING], n)
        fresh = roomy(fresh, count[_FRESH], n)
        _scan_chunk(words, chunks[c], lines, borders, times, entered, tables, sparse, spanning, fresh)
    return sparse, spanning, fresh


@helper
def _scan_chunk(words, chunk, lines, borders, times, entered, tables, sparse, spanning, fresh):  # type: ignore[no-untyped-def]
    count = tables.counts
    at, n, thread, base = chunk[C_AT], chunk[C_COUNT], chunk[C_THREAD], chunk[C_BASE]
    own = tables.state[thread]
    last, highest, event, line, first = own[_LAST], own[_HIGHEST], own[_EVENT], own[_LINE], own[_FIRST]
    off_stop = own[_OFF_STOP]
    chunk[C_BEFORE], chunk[C_EVENT] = last, event
    passed, ahead = _borders(borders, own, last)
    previous = 0
    for i in range(n):
        head, word = words[at + 2 * i], words[at + 2 * i + 1]
        kind, aux = (head >> 60) & 15, (head >> 48) & 0xFFF
        ticks = unwrapped(head, base)
        line = line_at(lines, ticks, line)
        t = ns_on(lines, ticks, line)
        if has_time(kind):
            count[_BACKWARDS] += t < highest
            highest = max(highest, t)
            t = max(t, last + 1) if last != NEVER else t
            last = t
            first = min(first, t)
            if t >= ahead:
                passed, ahead = _borders(borders, own, t)
        if is_call(kind):
            started = start_ticks(words, at + 2 * i, previous, ticks, word)
            start = min(ns_on(lines, started, line_at(lines, started, line)), t)
            first = min(first, start)
            tables.seen[(word >> 32) & ((1 << SITE_BITS) - 1)] = 1
            count[_ABANDONED] += kind == ABANDONED
            if len(entered):
                _enter(times, entered, start)
            if start < passed:
                _span(spanning, count, thread, INVOCATION, start, t, aux, word, 0, 0)
            if start < off_stop:
                floor = spanning[own[_OFF_ROW]]
                floor[X_PEER] = max(floor[X_PEER], start)
        elif kind == BLOCKED:
            if is_group(words, at + 2 * i, n - i):
                begin = min(ns_on(lines, word, line_at(lines, word, line)), t)
                first = min(first, begin)
                count[_WAITS] += 1
                peer = words[at + 2 * i + 5]
                if (words[at + 2 * i + 4] >> 48) & PEER_UNKNOWN:
                    peer = -1
                else:
                    peer &= 0xFFFFFFFF
                    _meet(tables.peers, fresh, count, peer, 2)
                if begin < passed:
                    woke = unwrapped(words[at + 2 * i + 4], base)
                    wake = ns_on(lines, woke, line_at(lines, woke, line))
                    _span(spanning, count, thread, BLOCKED, begin, t, aux, 0, peer, wake)
        elif kind == OFF_CPU:
            start = max(t - off_ns(word), event)
            if start < passed:
                own[_OFF_ROW], off_stop = count[_N_SPANNING], t
                _span(spanning, count, thread, OFF_CPU, start, t, aux, word, event, 0)
        elif kind == 0:
            count[_UNKNOWN] += 1
        elif is_sparse(kind, previous):
            row = sparse[count[_N_SPARSE]]
            row[0], row[1], row[2] = (thread << 32) | (kind << 16) | aux, t, word
            count[_N_SPARSE] += 1
            if kind == PEER and not aux & PEER_UNKNOWN:
                _meet(tables.peers, fresh, count, word & 0xFFFFFFFF, 1)
        if has_time(kind) and kind != LOST:
            event = t
        previous = kind
    own[_LAST], own[_HIGHEST], own[_EVENT], own[_LINE], own[_FIRST] = last, highest, event, line, first
    own[_OFF_STOP] = off_stop
    chunk[C_LAST] = last


@helper
def unwrapped(head, base):  # type: ignore[no-untyped-def]
    """Full ticks: the value nearest to the chunk's base that has the head's low 48 bits."""
    # Shifted up, the difference of the low 48 bits wraps as a signed number does.
    return base + (((head - base) << 16) >> 16)


@helper
def has_time(kind):  # type: ignore[no-untyped-def]
    """Whether the time of the record is a moment of the thread that wrote it."""
    return (0b1101111001111010 >> kind) & 1 != 0


@helper
def is_call(kind):  # type: ignore[no-untyped-def]
    return (0b0100000000000010 >> kind) & 1 != 0


@helper
def is_sparse(kind, previous):  # type: ignore[no-untyped-def]
    """Records of intervals, tasks, threads and losses."""
    if kind == PEER:
        return previous == CREATED
    if kind == COUNT:
        return previous == LOST
    if kind == OBJECT:
        return previous == INTERVAL_BEGIN
    return (0b0001111000111000 >> kind) & 1 != 0


@helper
def is_group(words, at, rest):  # type: ignore[no-untyped-def]
    """A BLOCKED record with the two that follow it."""
    return rest > 2 and (words[at + 2] >> 60) & 15 == OBJECT and (words[at + 4] >> 60) & 15 == PEER


@helper
def start_ticks(words, at, previous, ticks, word):  # type: ignore[no-untyped-def]
    """Ticks of a call's entry: exit minus duration, or what the LONG_START record before says."""
    duration = word & 0xFFFFFFFF
    if duration == LONG_DURATION and previous == LONG_START:
        return words[at - 1]
    return ticks - duration


@helper
def off_ns(word):  # type: ignore[no-untyped-def]
    return word if 0 <= word < 1 << 62 else 1 << 62


@helper
def _borders(borders, own, t):  # type: ignore[no-untyped-def]
    """The last border that the thread has passed at t, and the next one."""
    b = own[_BORDER]
    while b < len(borders) and borders[b] <= t:
        b += 1
    own[_BORDER] = b
    return borders[b - 1] if b else NEVER, borders[b] if b < len(borders) else FOREVER


@helper
def _span(spanning, count, thread, kind, start, end, aux, word, peer, wake):  # type: ignore[no-untyped-def]
    row = spanning[count[_N_SPANNING]]
    row[X_THREAD], row[X_KIND], row[X_START], row[X_END] = thread, kind, start, end
    row[X_AUX], row[X_WORD], row[X_PEER], row[X_WAKE] = aux, word, peer, wake
    count[_N_SPANNING] += 1


@helper
def _meet(peers, fresh, count, uid, bits):  # type: ignore[no-untyped-def]
    if uid < len(peers):
        peers[uid] |= bits
    else:
        fresh[count[_FRESH], 0] = uid
        count[_FRESH] += 1


@helper
def _enter(times, entered, start):  # type: ignore[no-untyped-def]
    for k in range(len(times)):
        if times[k, 0] <= start <= times[k, 1]:
            entered[k] += 1
