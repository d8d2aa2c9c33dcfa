"""What ended in each piece and how long it took, also where it began in an earlier one.

    records of a piece + those of what was unfinished or may be repeated  ->  Ended; what is unfinished now

Only records of intervals are kept between pieces. With a root, intervals are its outermost calls, whose records say
when they began.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from vprof.tables.model import NONE, Bool, Int64
from vprof.trace.intervals import Instances, pair
from vprof.trace.marks import GIVEN_UP, Retry
from vprof.trace.records import (
    INTERVAL_BEGIN,
    INTERVAL_END,
    INVOCATION,
    LONG_DURATION,
    LONG_START,
    OBJECT,
    SITE_BITS,
    Records,
)
from vprof.trace.retries import join, retry_of
from vprof.trace.scanning import scan
from vprof.watch.pieces import Piece, full_ticks

_DRAIN_NS = 10**9
"""Draining all threads once takes less."""
_OF_THREADS = ("thread", "thread_end", "stray", "open", "loss")


@dataclass(frozen=True)
class Ended:
    """Intervals that ended in a piece: columns by interval, times in ns. `attempts`: (number of the interval, id,
    begin) of all its begin records, where clients repeat what was aborted; else None."""

    id: NDArray[np.uint64]
    type: NDArray[np.str_]
    begin: Int64
    end: Int64
    attempts: list[tuple[int, int, int]] | None = None

    @property
    def latency(self) -> Int64:
        return self.end - self.begin


def _nothing() -> Records:
    empty = np.zeros(0, np.int64)
    return Records(
        [], empty.astype(np.int32), empty.astype(np.uint8), empty.astype(np.uint16), empty, empty.astype(np.uint64)
    )


@dataclass
class Latencies:
    """Takes the pieces in order. `roots`: numbers of the sites whose outermost calls are the intervals, if any.
    `forgotten`: intervals whose begin was given up because they went on for too long."""

    roots: Sequence[int] = ()
    forgotten: int = 0
    _carried: Records = field(default_factory=_nothing)
    _labels: dict[int, str] = field(default_factory=dict)
    _retry: Retry | None = None

    def of(self, piece: Piece) -> Ended:
        if self.roots:
            return _calls(piece, np.array(self.roots))
        self._labels |= {int(event["number"]): str(event["text"]) for event in piece.file.of("label")}
        self._retry = self._retry or retry_of(piece.file.of("mark"))
        records = _joined(self._carried, _read(piece))
        given_up = next((number for number, text in self._labels.items() if text == GIVEN_UP), None)
        single = pair(records, given_up)
        joined = join(single, self._retry)
        whole = joined.instances
        waits = whole.aborted & ~whole.given_up & self._may_go_on(whole, piece.end)
        going_on = ((whole.end_thread == NONE) | waits)[joined.number]
        self._carried = _of_instances(records, single, going_on, piece.end - _DRAIN_NS)
        rows = np.flatnonzero(whole.finished)
        attempts = None
        if self._retry:
            place = np.full(len(whole.id), NONE, np.int64)
            place[rows] = np.arange(len(rows))
            mine = np.flatnonzero(place[joined.number] != NONE)
            columns = place[joined.number[mine]], single.id[mine], single.begin[mine]
            attempts = list(zip(*(column.tolist() for column in columns), strict=True))
        names = np.array([self._labels.get(number, "") for number in whole.type[rows].tolist()], np.str_)
        return Ended(whole.id[rows], names, whole.created[rows], whole.end[rows], attempts)

    def oldest(self) -> int | None:
        """When the oldest interval that is not over began."""
        return int(self._carried.t.min()) if len(self._carried.t) else None

    def forget(self, before: int) -> None:
        """Gives up what began earlier: its records are gone."""
        old = (self._carried.kind == INTERVAL_BEGIN) & (self._carried.t < before)
        self.forgotten += int(np.count_nonzero(old))
        # An OBJECT goes with the begin before it.
        old[1:] |= old[:-1] & (self._carried.kind[1:] == OBJECT)
        old |= (self._carried.kind == INTERVAL_END) & (self._carried.t < before)
        self._carried = _rows(self._carried, ~old)

    def _may_go_on(self, whole: Instances, now: int) -> Bool:
        within = self._retry.within_ns if self._retry else 0
        soon: Bool = now - whole.end <= within
        return soon


def _read(piece: Piece) -> Records:
    """The records of intervals, threads named by their uids."""
    file = piece.file
    uids = list(dict.fromkeys(event["uid"] for event in file.events if event["event"] in _OF_THREADS))
    nothing = np.zeros(0, np.int64)
    records = scan(file, uids, piece.clock, nothing, nothing.reshape(-1, 2)).records
    wanted = np.isin(records.kind, (INTERVAL_BEGIN, INTERVAL_END))
    told = records.rows(INTERVAL_BEGIN, OBJECT) + 1
    wanted[told] = True
    found = _rows(records, wanted)
    return Records(found.uids, np.array(found.uids, np.uint32).view(np.int32)[found.thread], *_rest(found))


def _rest(records: Records) -> tuple[NDArray[np.uint8], NDArray[np.uint16], Int64, NDArray[np.uint64]]:
    return records.kind, records.aux, records.t, records.word


def _rows(records: Records, wanted: Bool) -> Records:
    kind, aux, t, word = _rest(records)
    return Records(records.uids, records.thread[wanted], kind[wanted], aux[wanted], t[wanted], word[wanted])


def _joined(first: Records, then: Records) -> Records:
    """Grouped by thread, the earlier ones first."""
    order = np.argsort(np.r_[first.thread, then.thread], kind="stable")
    kind, aux, t, word = (np.r_[a, b][order] for a, b in zip(_rest(first), _rest(then), strict=True))
    return Records([], np.r_[first.thread, then.thread][order], kind, aux, t, word)


def _of_instances(records: Records, instances: Instances, wanted: Bool, since: int) -> Records:
    """The records of some instances: their begins, and their ends if there are any. And ends without a begin since
    then: where another thread was drained later, the begin may be in the next piece."""
    begins = records.rows(INTERVAL_BEGIN)
    begins = begins[np.lexsort((records.t[begins], records.word[begins]))]  # in the order of `pair`
    keep = np.zeros(len(records.t), np.bool_)
    mine = begins[wanted]
    keep[mine] = True
    told = records.rows(INTERVAL_BEGIN, OBJECT)
    keep[told[keep[told]] + 1] = True
    ended = instances.end_thread != NONE
    at = zip(instances.end_thread[ended].tolist(), instances.end[ended].tolist(), strict=True)
    known = dict(zip(at, wanted[ended].tolist(), strict=True))
    for row in records.rows(INTERVAL_END).tolist():
        keep[row] = known.get((int(records.thread[row]), int(records.t[row])), records.t[row] >= since)
    return _rows(records, keep)


def _calls(piece: Piece, roots: Int64) -> Ended:
    """The outermost calls of the sites that ended in the piece."""
    found: list[tuple[int, int]] = []
    latest: dict[int, list[tuple[int, int]]] = {}
    for chunk in piece.file.chunks:
        words = chunk.words.view(np.int64)
        heads, word = words[:, 0], words[:, 1]
        site = (word >> 32) & ((1 << SITE_BITS) - 1)
        rows = np.flatnonzero((((heads >> 60) & 15) == INVOCATION) & np.isin(site, roots))
        if not len(rows):
            continue
        end = full_ticks(words, chunk.base_ticks)[rows]
        duration = word[rows] & LONG_DURATION
        begin = end - duration
        long = (duration == LONG_DURATION) & (rows > 0) & (((heads[rows - 1] >> 60) & 15) == LONG_START)
        begin[long] = word[rows[long] - 1]
        latest.setdefault(chunk.uid, []).extend(zip(begin.tolist(), end.tolist(), strict=True))
    for calls in latest.values():
        outer: list[tuple[int, int]] = []
        for begin_, end_ in calls:  # inner calls end first
            while outer and outer[-1][0] >= begin_:
                outer.pop()
            outer.append((begin_, end_))
        found += outer
    columns = np.array(found, np.int64).reshape(-1, 2)
    begins, ends = piece.clock.to_ns(columns[:, 0]), piece.clock.to_ns(columns[:, 1])
    return Ended(np.zeros(len(found), np.uint64), np.full(len(found), ""), begins, ends)
