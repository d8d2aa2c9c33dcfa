"""Time off the CPU inside calls: OFF_CPU records -> pieces of each thread's time (runtime/TRACE_FORMAT.md section 2.3).

A record says how long, and what for, but not when exactly since the thread's record before: the piece is put directly
before the record that noticed it, and cut at the one before.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vprof.tables.columns import groups
from vprof.tables.kinds import BLOCKED, DISK, FAULT, MEMORY, OFF_CPU, PREEMPTED, SLEEP
from vprof.tables.model import Int8, Int32, Int64
from vprof.trace.invocations import Calls
from vprof.trace.window import Window

_PREEMPTED, _BLOCKED, _FAULT, _READ, _STORAGE, _FOR_WOKEN, _SLEEP, _MEMORY = 1, 2, 4, 8, 16, 32, 64, 128
"""Bits of aux."""
_LONG_AGO = np.iinfo(np.int64).min


@dataclass(frozen=True)
class OffCpu:
    """Pieces by (thread, start), without overlaps; `state` as in `model.Segments`.

    `unplaced_ns`: time that is longer than what lies between the records around it; `placed_ns`: the other time.
    """

    thread: Int32
    start: Int64
    stop: Int64
    state: Int8
    unplaced_ns: int
    placed_ns: int


def read_off_cpu(rows: Int64, calls: Calls, window: Window) -> OffCpu:
    """`rows`: of `window.Content`. What is counted is the window's own."""
    thread, before, stop, aux, off_ns = (np.ascontiguousarray(column) for column in rows.T)
    thread = thread.astype(np.int32)
    floor = np.maximum(before, _entry_before(calls, thread, stop))
    start = np.maximum(stop - off_ns, floor)
    some = start < stop
    own = window.owns(stop)
    placed = np.maximum(stop - start, 0)[own]
    return OffCpu(
        thread[some],
        start[some],
        stop[some],
        _state(aux)[some],
        int((off_ns[own] - placed).astype(np.float64).sum()),
        int(placed.sum()),
    )


def _state(aux: np.ndarray) -> Int8:
    """Both blocked and preempted: how much of each, nobody can tell. Blocked until others that can run have had a CPU
    is a wait for a CPU, too."""
    blocked, preempted = (aux & _BLOCKED) != 0, (aux & _PREEMPTED) != 0
    for_woken = blocked & ((aux & _FOR_WOKEN) != 0)
    return np.select(
        [
            (blocked & preempted) | for_woken,
            preempted,
            (aux & _SLEEP) != 0,
            (aux & _FAULT) != 0,
            (aux & (_READ | _STORAGE)) != 0,
            (aux & _MEMORY) != 0,
        ],
        [np.int8(state) for state in (OFF_CPU, PREEMPTED, SLEEP, FAULT, DISK, MEMORY)],
        np.int8(BLOCKED),
    ).astype(np.int8)


def _entry_before(calls: Calls, thread: Int32, t: Int64) -> Int64:
    """Start of the latest call that the thread entered before t."""
    out = np.full(len(t), _LONG_AGO)
    for mine in groups(thread):
        a, b = np.searchsorted(calls.thread, [thread[mine.start], thread[mine.start] + 1])
        out[mine] = np.r_[_LONG_AGO, calls.start[a:b]][np.searchsorted(calls.start[a:b], t[mine])]
    return out
