"""What a simulation keeps account of: each thread's next event, the CPUs and who wants one.

    threads  ->  Machine;  push and pop: events by time;  execute, want, leave: a CPU

A thread has one event at most. Of several events of one time that comes first which was known first. CPUs go to
threads in the order in which they ask; who has had one for `SLICE_NS` while others want one asks again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vprof.tables.kernels import helper
from vprof.tables.model import NONE, Bool, Float, Int64

SLICE_NS = 3e6
"""How long a thread keeps a CPU that others want: what Linux gives by default on a few CPUs."""

GOES_ON, COMES, IS_READY, HAS_RUN = range(4)
"""What an event is: the thread does what is next; its next moment comes; it wants a CPU; it has executed."""

_EVENTS, _HEAD, _WANT, _FREE, _PUSHED = range(5)
"""Columns of `Machine.counts`: how many events; where the ring of those that want a CPU begins, and how many they are;
CPUs that are free; how many events there were."""


class Machine(NamedTuple):
    """By thread: its `event`, and the `turn` of that; `left`, ns that it executes until its next moment; `slice`, of
    these until its event; `on_cpu`, whether it has one, and how long it has executed on it, `used`, since others could
    have it. `at` and `heap`: times and threads of events, as a heap. `ring`: who wants a CPU."""

    event: Int64
    turn: Int64
    left: Float
    slice: Float
    on_cpu: Bool
    used: Float
    at: Float
    heap: Int64
    ring: Int64
    counts: Int64


@helper
def push(m: Machine, at: float, thread: int, event: int) -> None:
    m.event[thread], m.turn[thread] = event, m.counts[_PUSHED]
    m.counts[_PUSHED] += 1
    k = m.counts[_EVENTS]
    m.counts[_EVENTS] = k + 1
    while k > 0 and at < m.at[(k - 1) // 2]:
        m.at[k], m.heap[k] = m.at[(k - 1) // 2], m.heap[(k - 1) // 2]
        k = (k - 1) // 2
    m.at[k], m.heap[k] = at, thread


@helper
def is_over(m: Machine) -> bool:
    """Whether there is no event."""
    return bool(m.counts[_EVENTS] == 0)


@helper
def pop(m: Machine) -> int:
    """The thread of the earliest event. REQUIRES: there is one."""
    thread = m.heap[0]
    last = m.counts[_EVENTS] - 1
    m.counts[_EVENTS] = last
    at, moved = m.at[last], m.heap[last]
    k = 0
    while 2 * k + 1 < last:
        child = 2 * k + 1
        if child + 1 < last and _is_before(m, m.at[child + 1], m.heap[child + 1], child):
            child += 1
        if _is_before(m, at, moved, child):
            break
        m.at[k], m.heap[k] = m.at[child], m.heap[child]
        k = child
    m.at[k], m.heap[k] = at, moved
    return int(thread)


@helper
def _is_before(m: Machine, at: float, thread: int, k: int) -> bool:
    """Whether the thread's event, at that time, comes before the one in place k of the heap."""
    return bool(at < m.at[k] or (at == m.at[k] and m.turn[thread] < m.turn[m.heap[k]]))


@helper
def execute(m: Machine, now: float, thread: int, ns: float) -> None:
    """The thread executes for so long, once it has a CPU."""
    m.left[thread] = ns
    if m.on_cpu[thread]:
        run_on(m, now, thread)
    else:
        want(m, thread)


@helper
def run_on(m: Machine, now: float, thread: int) -> None:
    """It executes on, unless it has done that for a slice, and others want its CPU. REQUIRES: it has one."""
    if m.used[thread] < SLICE_NS:
        _run(m, now, thread)
    elif m.counts[_WANT] > 0:
        leave(m, thread)
        want(m, thread)
    else:
        m.used[thread] = 0.0
        _run(m, now, thread)


@helper
def _run(m: Machine, now: float, thread: int) -> None:
    m.slice[thread] = min(m.left[thread], SLICE_NS - m.used[thread])
    push(m, now + m.slice[thread], thread, HAS_RUN)


@helper
def want(m: Machine, thread: int) -> None:
    m.ring[(m.counts[_HEAD] + m.counts[_WANT]) % len(m.ring)] = thread
    m.counts[_WANT] += 1


@helper
def leave(m: Machine, thread: int) -> None:
    """It leaves its CPU, if it has one."""
    if m.on_cpu[thread]:
        m.on_cpu[thread] = False
        m.counts[_FREE] += 1


@helper
def has_run(m: Machine, now: float, thread: int) -> bool:
    """Its slice is over. Returns whether it has executed all that it had to."""
    m.left[thread] -= m.slice[thread]
    m.used[thread] += m.slice[thread]
    if m.left[thread] <= 0:
        return True
    run_on(m, now, thread)
    return False


@helper
def give_cpus(m: Machine, now: float) -> None:
    """CPUs that are free go to those who want one."""
    while m.counts[_FREE] > 0 and m.counts[_WANT] > 0:
        head = m.counts[_HEAD]
        thread = m.ring[head]
        m.counts[_HEAD] = (head + 1) % len(m.ring)
        m.counts[_WANT] -= 1
        m.counts[_FREE] -= 1
        m.on_cpu[thread] = True
        m.used[thread] = 0.0
        _run(m, now, thread)


NOBODY = np.int64(NONE)
"""At the end of a list of threads, or instead of one."""
