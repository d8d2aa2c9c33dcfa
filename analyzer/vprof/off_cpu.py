"""Time off the CPU inside calls: OFF_CPU records -> pieces of each thread's time (runtime/TRACE_FORMAT.md section 2.3).

A record says how long, and what for, but not when exactly since the thread's event before: the piece is put directly
before the event that noticed it, and cut at the event before.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vprof.columns import groups
from vprof.invocations import Calls
from vprof.model import BLOCKED, DISK, FAULT, OFF_CPU, PREEMPTED, Int8, Int32, Int64
from vprof.records import COUNT, LOST, OBJECT, PEER, Records
from vprof.records import OFF_CPU as OFF_CPU_RECORD

_PREEMPTED, _BLOCKED, _FAULT, _READ, _STORAGE = 1, 2, 4, 8, 16
"""Bits of aux."""
_LONG_AGO = np.iinfo(np.int64).min


@dataclass(frozen=True)
class OffCpu:
    """Pieces by (thread, start), without overlaps; `state` as in `model.Segments`.

    `unplaced_ns`: time that is longer than what lies between the events around it.
    """

    thread: Int32
    start: Int64
    stop: Int64
    state: Int8
    unplaced_ns: int

    @classmethod
    def none(cls) -> OffCpu:
        empty = np.zeros(0, np.int64)
        return cls(empty.astype(np.int32), empty, empty, empty.astype(np.int8), 0)


def read_off_cpu(records: Records, calls: Calls) -> OffCpu:
    rows = records.rows(OFF_CPU_RECORD)
    thread, stop = records.thread[rows], records.t[rows]
    off_ns = np.minimum(records.word[rows], np.uint64(1 << 62)).astype(np.int64)
    floor = np.maximum(_record_before(records, rows), _entry_before(calls, thread, stop))
    start = np.maximum(stop - off_ns, floor)
    some = start < stop
    state = _state(records.aux[rows])[some]
    unplaced = int((off_ns - (stop - start)).astype(np.float64).sum())
    return OffCpu(thread[some], start[some], stop[some], state, unplaced)


def _state(aux: np.ndarray) -> Int8:
    """Both blocked and preempted: how much of each, nobody can tell."""
    blocked, preempted = (aux & _BLOCKED) != 0, (aux & _PREEMPTED) != 0
    return np.select(
        [blocked & preempted, preempted, (aux & _FAULT) != 0, (aux & (_READ | _STORAGE)) != 0],
        [np.int8(OFF_CPU), np.int8(PREEMPTED), np.int8(FAULT), np.int8(DISK)],
        np.int8(BLOCKED),
    ).astype(np.int8)


def _record_before(records: Records, rows: Int64) -> Int64:
    """Time of the record before each on its thread; far in the past where there is none."""
    before = rows - 1
    for _ in range(4):  # these follow the record that has the time; LOST is told at any later one
        follows = (before >= 0) & np.isin(records.kind[before], (OBJECT, PEER, COUNT, LOST))
        before = np.where(follows, before - 1, before)
    known = (before >= 0) & (records.thread[before] == records.thread[rows])
    return np.where(known, records.t[before], _LONG_AGO)


def _entry_before(calls: Calls, thread: Int32, t: Int64) -> Int64:
    """Start of the latest call that the thread entered before t."""
    out = np.full(len(t), _LONG_AGO)
    for mine in groups(thread):
        a, b = np.searchsorted(calls.thread, [thread[mine.start], thread[mine.start] + 1])
        out[mine] = np.r_[_LONG_AGO, calls.start[a:b]][np.searchsorted(calls.start[a:b], t[mine])]
    return out
