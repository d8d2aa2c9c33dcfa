"""Records as columns (runtime/TRACE_FORMAT.md section 2): bits taken apart, times unwrapped, threads grouped.

chunks of one thread each -> one table of all records, grouped by thread, in each thread's own order
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vprof.chunks import RecordChunk
from vprof.clock import Clock, settle
from vprof.lives import Lives
from vprof.model import Bool, Int32, Int64

INVOCATION, LONG_START, INTERVAL_BEGIN, INTERVAL_END, ON_BEHALF, BLOCKED, OBJECT = 1, 2, 3, 4, 5, 6, 7
PEER, ENQUEUE, DEQUEUE, CREATED, LOST, COUNT, ABANDONED, OFF_CPU = 8, 9, 10, 11, 12, 13, 14, 15
_TIMELESS = (LONG_START, OBJECT, PEER, COUNT)
"""Kinds whose time field is not a moment of the thread that wrote them."""
LONG_DURATION = 0xFFFFFFFF
PEER_UNKNOWN, PEER_TIME_UNKNOWN = 1, 2
SITE_BITS = 22
ABORTED = 1
"""aux of INTERVAL_END: this bit, and the label number of the type above it."""

Words = NDArray[np.uint64]
UInt16 = NDArray[np.uint16]


@dataclass(frozen=True)
class Records:
    """One row per record. `ticks` as written, unwrapped; `t` in ns, strictly increasing per thread; `word` is w1.

    `uids[thread]` names a thread; threads that only occur as peers have numbers too. `lives` go from each thread's
    first record to its last. `backwards` counts times that were smaller than their predecessor's, `unknown` records of
    kinds this version lacks.
    """

    uids: list[int]
    thread: Int32
    kind: NDArray[np.uint8]
    aux: NDArray[np.uint16]
    ticks: Int64
    t: Int64
    word: Words
    lives: Lives
    backwards: int
    unknown: int

    def rows(self, kind: int, *followers: int) -> Int64:
        """Rows of a kind that are followed by the kinds they are specified with, on the same thread."""
        rows = np.flatnonzero(self.kind == kind)
        for step, follower in enumerate(followers, 1):
            rows = rows[rows + step < len(self.kind)]
            rows = rows[(self.kind[rows + step] == follower) & (self.thread[rows + step] == self.thread[rows])]
        return rows

    def low(self, rows: Int64) -> Int64:
        """Low half of w1."""
        return (self.word[rows] & np.uint64(0xFFFFFFFF)).astype(np.int64)

    def site(self, rows: Int64) -> Int64:
        """Site numbers of invocations."""
        return (self.word[rows] >> np.uint64(32)).astype(np.int64) & ((1 << SITE_BITS) - 1)

    def call(self, rows: Int64) -> UInt16:
        """Call numbers of invocations; zeros in a trace of version 1."""
        return (self.word[rows] >> np.uint64(32 + SITE_BITS)).astype(np.uint16)


def read_records(chunks: list[RecordChunk], uids: list[int], clock: Clock) -> Records:
    """All records of a file. Threads are numbered in the order of `uids`, then as they turn up."""
    numbers = {uid: index for index, uid in enumerate(uids)}
    for chunk in chunks:
        numbers.setdefault(chunk.uid, len(numbers))
    ordered = sorted(chunks, key=lambda chunk: numbers[chunk.uid])
    lengths = np.array([len(chunk.words) for chunk in ordered], np.int64)
    words = np.concatenate([chunk.words for chunk in ordered]) if ordered else np.zeros((0, 2), np.uint64)
    base = np.array([chunk.base_ticks for chunk in ordered], np.uint64)
    kind, aux, ticks = _decode(words, lengths, base)
    thread = np.repeat(np.array([numbers[chunk.uid] for chunk in ordered], np.int32), lengths)
    peers = words[(kind == PEER) & (aux & PEER_UNKNOWN == 0), 1] & np.uint64(0xFFFFFFFF)
    for uid in np.unique(peers):
        numbers.setdefault(int(uid), len(numbers))
    t = clock.to_ns(ticks)
    moments = _carries_time(kind)
    backwards = settle(thread, moments, t)
    lives = Lives.none(len(numbers))
    lives.extend(thread[moments], t[moments], t[moments])
    unknown = int(np.count_nonzero(kind == 0))
    return Records(list(numbers), thread, kind, aux, ticks, t, words[:, 1], lives, backwards, unknown)


def _carries_time(kind: NDArray[np.uint8]) -> Bool:
    carries = np.ones(16, np.bool_)
    carries[[0, *_TIMELESS]] = False
    return carries[kind]


def _decode(words: Words, lengths: Int64, base: Words) -> tuple[NDArray[np.uint8], NDArray[np.uint16], Int64]:
    """Kind, aux and full ticks of each record: the value nearest to its chunk's base that has its low 48 bits."""
    head = words[:, 0]
    kind = (head >> np.uint64(60)).astype(np.uint8)
    aux = (head >> np.uint64(48)).astype(np.uint16) & np.uint16(0xFFF)
    origin = np.repeat(base, lengths)
    # Shifted up, the difference of the low 48 bits wraps as a signed number does.
    ahead = ((head - origin) << np.uint64(16)).view(np.int64) >> 16
    return kind, aux, origin.view(np.int64) + ahead
